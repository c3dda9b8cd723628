// GroupChat: agents speak one after the other, at most `turns_max` turns, and each hears what was said
// before. A failed turn is left out; after more than `failedTurnsMax`, the chat ends with what was said. With
// a fixed order and no stop rule the graph is complete from the start; otherwise it grows turn by turn
// (group-chat-program.ts).
import { compilePattern } from '@beaver/core/evidence'
import type { ExecutionNode } from '@beaver/core/graph'
import {
  agentsFault,
  agentsField,
  placed,
  type PlacedAgent,
  quote,
  type Refusal,
  refuse,
  taskField,
  workflowAgentSpec,
  workflowOf,
} from '@beaver/workflows'
import { z } from 'zod'
import { asSettings, builtGraph, codeStep, countField, sizeFault } from '../growing/growing-team.ts'
import { groupChatProgram } from './group-chat-program.ts'
import {
  type Chat,
  chatSettings,
  closingNodes,
  failedTurnsMax,
  isOpenEnded,
  speakerInTurn,
  stageNodes,
  turnNode,
} from './group-chat-turns.ts'

const turnsMax = 100

const input = z.strictObject({
  task: taskField,
  agents: agentsField('The speakers, in the order of the round robin.'),
  speaker: z
    .enum(['round_robin', 'model', 'bids'])
    .optional()
    .describe(
      'Who speaks next: round_robin (default), model (the moderator names one) or bids (all bid, the highest speaks).',
    ),
  moderator: workflowAgentSpec
    .optional()
    .describe('With speaker "model": the agent that names the next speaker. It must not be in agents.'),
  turns_max: countField(
    1,
    turnsMax,
    `How many turns at most, 1 to ${turnsMax}. Left out: two for each agent.`,
  ).optional(),
  stop_phrase: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The chat ends when the last line of a turn is this text, in capitals or not.'),
  stop_pattern: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The chat ends when a turn matches this regular expression (RE2).'),
  summarizer: workflowAgentSpec
    .optional()
    .describe('An agent that hears all turns and writes the result. Default: the last turn is the result.'),
})
type Args = z.output<typeof input>

/** The workflow `GroupChat`: agents that speak in turns. */
export const groupChat = workflowOf({
  name: 'GroupChat',
  description:
    'Lets agents discuss: they speak one after the other, each hearing all earlier turns, for several rounds. The result is the text of the last turn, ' +
    "or the summarizer's. Choose it when positions must answer each other: a debate, a review with objections, a negotiation. " +
    'Not for independent views on one question (MixtureOfAgents), and not for steps in a known order (SequentialWorkflow).',
  input,
  build(args, limits) {
    const chat = chatOf(args)
    const fault =
      agentsFault(everyone(args), limits) ??
      choiceFault(args) ??
      sizeFault(chatSize(chat), 'turns_max', 'Lower turns_max.', limits)
    if (fault !== null) return fault
    const nodes = isOpenEnded(chat) ? stageNodes(chat, 1, []) : wholeChat(chat)
    const last = nodes.at(-1)?.node_id ?? ''
    const output = isOpenEnded(chat)
      ? (nodes.find((node) => node.settings?.['turn'] === 1)?.node_id ?? last)
      : last
    return builtGraph({
      workflow: 'GroupChat',
      task: args.task,
      nodes,
      outputs: [output],
      output,
      settings: asSettings(chat),
    })
  },
  program: groupChatProgram,
  growthOf({ settings }) {
    const chat = chatSettings.safeParse(settings).data
    return chat === undefined ? null : chatSize(chat).runs
  },
})

function chatOf(all: Args): Chat {
  const { task: _, speaker = 'round_robin', turns_max, ...args } = all
  return { ...args, speaker, turns_max: turns_max ?? Math.min(turnsMax, args.agents.length * 2) }
}

function everyone({ agents, moderator, summarizer }: Args): PlacedAgent[] {
  return [
    ...placed(agents),
    ...(moderator === undefined ? [] : [{ agent: moderator, path: 'moderator' }]),
    ...(summarizer === undefined ? [] : [{ agent: summarizer, path: 'summarizer' }]),
  ]
}

function choiceFault({ speaker = 'round_robin', moderator, stop_pattern }: Args): Refusal | null {
  if (speaker === 'model' && moderator === undefined) {
    return refuse(
      'invalid_arguments',
      'moderator',
      '"moderator" is missing: with "speaker": "model" it names the next speaker. Add "moderator": {"name": "…", "instruction": "…"}, or use another way.',
    )
  }
  if (speaker !== 'model' && moderator !== undefined) {
    return refuse(
      'invalid_arguments',
      'moderator',
      `"moderator" has nothing to do with "speaker": "${speaker}". Remove it, or set "speaker" to "model".`,
    )
  }
  const compiled = stop_pattern === undefined ? null : compilePattern(stop_pattern)
  if (compiled === null || 'test' in compiled) return null
  return refuse(
    'invalid_arguments',
    'stop_pattern',
    `"stop_pattern" is ${quote(stop_pattern)}, which is not a regular expression of RE2: ${compiled.fault}. Correct it, or use "stop_phrase".`,
  )
}

interface ChatSize {
  readonly agents: readonly unknown[]
  readonly speaker: string
  readonly turns_max: number
  readonly summarizer?: unknown
}

/** The most that a chat may need: every turn is taken, and every moderator and bidder is asked twice. */
function chatSize({ agents, speaker, turns_max: turns, summarizer }: ChatSize): {
  runs: number
  edges: number
} {
  const asked = speaker === 'bids' ? agents.length * 2 : speaker === 'model' ? 2 : 0
  const heard = (turns * (turns - 1)) / 2
  return {
    runs: turns * (1 + asked) + (summarizer === undefined ? 0 : 1),
    edges: heard * (1 + asked) + turns * (asked + 3),
  }
}

/** A chat whose speakers are known from the start. */
function wholeChat(chat: Chat): ExecutionNode[] {
  const turns: ExecutionNode[] = []
  for (let turn = 1; turn <= chat.turns_max; turn++) {
    const heard = turns.map((node) => node.node_id)
    const node = turnNode(chat, speakerInTurn(chat, turn), turn, heard)
    turns.push(turn === 1 ? node : { ...node, quorum: Math.max(0, heard.length - failedTurnsMax) })
  }
  const ids = turns.map((node) => node.node_id)
  const closing = closingNodes(chat, ids)
  return [
    ...turns,
    ...(closing.length > 0 ? closing : [codeStep('#result', 'last_turn', ids, { quorum: 1 })]),
  ]
}
