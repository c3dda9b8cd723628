// Builds the nodes of a GroupChat. A turn is `<speaker> #<turn>`. In `#<turn> floor` and `#<turn> choice`,
// code decides about it. A turn depends on every earlier turn that it hears, the oldest first.
import type { AgentNode, ExecutionNode } from '@beaver/core/graph'
import { quoteAll, type WorkflowAgentSpec, workflowAgentSpec } from '@beaver/workflows'
import { z } from 'zod'
import { bare, codeStep, stepId, stepNode } from '../growing/growing-team.ts'

/** A chat ends after more failed turns than these. */
export const failedTurnsMax = 2

/** What the program needs to know of a chat: the graph's `settings`. */
export const chatSettings = z.object({
  agents: z.array(workflowAgentSpec),
  speaker: z.enum(['round_robin', 'model', 'bids']),
  turns_max: z.number(),
  moderator: workflowAgentSpec.optional(),
  stop_phrase: z.string().optional(),
  stop_pattern: z.string().optional(),
  summarizer: workflowAgentSpec.optional(),
})
export type Chat = z.output<typeof chatSettings>

/** Whether what is said decides who speaks, or whether the chat continues. */
export const isOpenEnded = (chat: Chat): boolean =>
  chat.speaker !== 'round_robin' || chat.stop_phrase !== undefined || chat.stop_pattern !== undefined

export const speakerInTurn = (chat: Chat, turn: number): WorkflowAgentSpec =>
  chat.agents[(turn - 1) % chat.agents.length] as WorkflowAgentSpec

/** Only a turn has `settings.turn`. */
export const isTurn = (node: ExecutionNode): node is AgentNode =>
  node.kind === 'agent' && node.settings?.['turn'] !== undefined

/** A turn and, in an open chat, the nodes that decide about the next one. */
export function turnStage(
  chat: Chat,
  speaker: WorkflowAgentSpec,
  turn: number,
  heard: readonly string[],
): ExecutionNode[] {
  const node = turnNode(chat, speaker, turn, heard)
  return [
    node,
    codeStep(`#${turn + 1} floor`, 'floor', [node.node_id], { quorum: 0, settings: { of: turn + 1 } }),
  ]
}

/** The nodes that find the speaker of a turn, or the turn itself if the speaker is fixed. */
export function stageNodes(chat: Chat, turn: number, heard: readonly string[]): ExecutionNode[] {
  if (chat.speaker === 'round_robin') return turnStage(chat, speakerInTurn(chat, turn), turn, heard)
  const asked =
    chat.speaker === 'model'
      ? [moderatorNode(chat, turn, heard)]
      : chat.agents.map((agent) => bidNode(chat, agent, turn, heard, false))
  return [...asked, choiceNode(turn, asked, false)]
}

export function choiceNode(turn: number, asked: readonly ExecutionNode[], again: boolean): ExecutionNode {
  const ids = asked.map((node) => node.node_id)
  return codeStep(`#${turn} choice${again ? ' again' : ''}`, 'choice', ids, {
    quorum: 0,
    settings: { of: turn, again },
  })
}

export function turnNode(
  chat: Chat,
  speaker: WorkflowAgentSpec,
  turn: number,
  heard: readonly string[],
): AgentNode {
  const stop =
    chat.stop_phrase === undefined
      ? ''
      : ` When the discussion has reached its goal, and only then, let your last line be ${JSON.stringify(chat.stop_phrase)} and nothing else: it ends the discussion.`
  return stepNode(speaker, {
    workflow: 'GroupChat',
    id: stepId(speaker.name, turn),
    instruction: `${speaker.instruction}\n\n${scene(chat, speaker, turn, heard)} Say your turn only, as yourself; do not repeat what was said.${stop}`,
    dependsOn: heard,
    settings: { turn },
  })
}

/** @param fault what was wrong with the first answer; absent at the first request */
export function moderatorNode(chat: Chat, turn: number, heard: readonly string[], fault?: string): AgentNode {
  const moderator = chat.moderator as WorkflowAgentSpec
  const again = fault === undefined ? '' : `\n\nYour first answer cannot be used: ${fault}`
  return stepNode(bare(moderator), {
    workflow: 'GroupChat',
    id: stepId(moderator.name, fault === undefined ? turn : `${turn} again`),
    instruction: `${moderator.instruction}\n\n${scene(chat, moderator, turn, heard)} Do not take part. Name who speaks next: answer with {"next": "<name>"}, one of ${quoteAll(names(chat))}.${again}`,
    dependsOn: heard,
    settings: { of: turn },
  })
}

export const bidId = (agent: WorkflowAgentSpec, turn: number, again: boolean): string =>
  stepId(agent.name, `${turn} bid${again ? ' again' : ''}`)

/** @param again the first answer was no bid */
export function bidNode(
  chat: Chat,
  agent: WorkflowAgentSpec,
  turn: number,
  heard: readonly string[],
  again: boolean,
): AgentNode {
  const fault = again
    ? '\n\nYour first answer was no bid. Answer with {"bid": <number>} and nothing else.'
    : ''
  return stepNode(bare(agent), {
    workflow: 'GroupChat',
    id: bidId(agent, turn, again),
    instruction: `${agent.instruction}\n\n${scene(chat, agent, turn, heard)} Do not speak yet. Bid for this turn with a number from 0 (nothing to add) to 100 (must speak now): answer with {"bid": <number>} and nothing else.${fault}`,
    dependsOn: heard,
    settings: { of: turn },
  })
}

/** The nodes that make the result from what was said. None if the last turn is the result. */
export function closingNodes({ summarizer }: Chat, heard: readonly string[]): ExecutionNode[] {
  if (summarizer === undefined) return []
  const instruction = `${summarizer.instruction}\n\nThe discussion is over. Its turns are in <dependency_output>, the oldest first, each named "<speaker> #<turn>".`
  return [
    stepNode(summarizer, {
      workflow: 'GroupChat',
      id: summarizer.name,
      instruction,
      dependsOn: heard,
      quorum: 1,
    }),
  ]
}

function scene(chat: Chat, agent: WorkflowAgentSpec, turn: number, heard: readonly string[]): string {
  const earlierTurns =
    heard.length === 0
      ? 'Nobody has spoken yet.'
      : 'The earlier turns are in <dependency_output>, the oldest first, each named "<speaker> #<turn>".'
  return `You are ${agent.name}, in a discussion between ${names(chat).join(', ')}. This is turn ${turn} of at most ${chat.turns_max}. ${earlierTurns}`
}

const names = (chat: Chat): string[] => chat.agents.map((agent) => agent.name)
