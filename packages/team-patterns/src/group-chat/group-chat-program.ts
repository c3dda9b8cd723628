// Decides in an open GroupChat whether it continues after a turn (`floor`), and who has the next turn
// (`choice`). After a second answer of the moderator without a speaker, the order of the agents decides, with
// a diagnostic. The highest bid speaks; of equal bids, the first in declared order. An agent whose answer is
// no bid is asked once more. The result is the last completed turn, set from the first turn on, so that a
// stopped chat keeps it.
import { compilePattern } from '@beaver/core/evidence'
import type {
  AgentNode,
  Diagnostic,
  ExecutionNode,
  Growth,
  NodeEntry,
  TeamProgram,
  TeamView,
} from '@beaver/core/graph'
import { didYouMean, quote, quoteAll, type WorkflowAgentSpec } from '@beaver/workflows'
import { z } from 'zod'
import { readJsonAnswer } from '../growing/json-answer.ts'
import {
  bidId,
  bidNode,
  type Chat,
  chatSettings,
  choiceNode,
  closingNodes,
  failedTurnsMax,
  isTurn,
  moderatorNode,
  speakerInTurn,
  stageNodes,
  turnStage,
} from './group-chat-turns.ts'

export const groupChatProgram: TeamProgram = {
  enter(team, node) {
    if (node.kind !== 'code') return { kind: 'run', input: null }
    const completedTurns = completedTurnsIn(team)
    if (node.operation === 'last_turn')
      return { kind: 'output', output: team.outputOf(completedTurns.at(-1) ?? '') ?? '' }
    const chat = chatSettings.parse(team.graph.settings)
    const turn = Number(node.settings?.['of'])
    return node.operation === 'floor' ? floor(team, chat, turn) : choice(team, chat, { node, turn })
  },
}

/** The turns that completed. */
const completedTurnsIn = (team: TeamView): string[] => turnsIn(team, (status) => status === 'completed')

function turnsIn(team: TeamView, wanted: (status: ReturnType<TeamView['statusOf']>) => boolean): string[] {
  return team.graph.nodes
    .filter((node) => isTurn(node) && wanted(team.statusOf(node.node_id)))
    .map((node) => node.node_id)
}

function floor(team: TeamView, chat: Chat, turn: number): NodeEntry {
  const completedTurns = completedTurnsIn(team)
  const lost = turnsIn(team, (status) => status === 'failed' || status === 'cancelled')
  const last = completedTurns.at(-1)
  if (lost.length > failedTurnsMax || turn > chat.turns_max) {
    if (last === undefined)
      return {
        kind: 'fail',
        failure: {
          class: 'empty_output',
          message: `None of ${lost.length} turns completed: ${quoteAll(lost)}.`,
        },
      }
    const cut: Diagnostic[] =
      turn > chat.turns_max
        ? []
        : [
            {
              code: 'chat_cut_short',
              message: `${lost.length} turns failed (${quoteAll(lost)}): the chat ends with what was said.`,
            },
          ]
    return {
      kind: 'output',
      output: `The chat ends after ${turn - 1} turns.`,
      growth: closing(chat, completedTurns),
      diagnostics: cut,
    }
  }
  const newest = team.graph.nodes.findLast(isTurn) as AgentNode
  const stop = stopOf(chat, team.outputOf(newest.node_id) ?? '')
  if (stop !== null)
    return {
      kind: 'output',
      output: `The chat ends after ${turn - 1} turns: ${stop}`,
      growth: closing(chat, completedTurns),
    }
  const nodes = stageNodes(chat, turn, completedTurns)
  return {
    kind: 'output',
    diagnostics: mentionOf(chat, newest, team.outputOf(newest.node_id) ?? ''),
    output: `Turn ${turn} of at most ${chat.turns_max}.`,
    growth: last === undefined ? { nodes } : { nodes, outputs: [last], output: last },
  }
}

function choice(
  team: TeamView,
  chat: Chat,
  { node, turn }: { node: ExecutionNode; turn: number },
): NodeEntry {
  const completedTurns = completedTurnsIn(team)
  if (chat.speaker === 'bids') return bidding(team, chat, { node, turn, completedTurns })
  const asked = node.depends_on[0] ?? ''
  const answer = team.outputOf(asked)
  if (answer === null)
    return spoken(chat, turn, completedTurns, inOrder(chat, turn, `${quote(asked)} ended without an answer`))
  const stop = completedTurns.length === 0 ? null : stopOf(chat, answer)
  if (stop !== null)
    return {
      kind: 'output',
      output: `The moderator ends the chat: ${stop}`,
      growth: closing(chat, completedTurns),
    }
  const named = namedIn(answer, chat.agents)
  if ('speaker' in named)
    return spoken(chat, turn, completedTurns, { speaker: named.speaker, diagnostics: [] })
  if (node.settings?.['again'] === true)
    return spoken(chat, turn, completedTurns, inOrder(chat, turn, named.fault))
  const again = moderatorNode(chat, turn, completedTurns, named.fault)
  return {
    kind: 'output',
    output: `No speaker: ${named.fault}`,
    growth: { nodes: [again, choiceNode(turn, [again], true)] },
    diagnostics: [{ code: 'unknown_speaker', message: named.fault }],
  }
}

interface Choice {
  readonly speaker: WorkflowAgentSpec
  readonly diagnostics: readonly Diagnostic[]
}

function spoken(
  chat: Chat,
  turn: number,
  completedTurns: readonly string[],
  { speaker, diagnostics }: Choice,
): NodeEntry {
  const nodes = turnStage(chat, speaker, turn, completedTurns)
  const first = nodes[0]?.node_id ?? ''
  const growth: Growth = completedTurns.length === 0 ? { nodes, outputs: [first], output: first } : { nodes }
  return { kind: 'output', output: speaker.name, growth, diagnostics }
}

const inOrder = (chat: Chat, turn: number, why: string): Choice => {
  const speaker = speakerInTurn(chat, turn)
  const message = `Turn ${turn} goes to ${quote(speaker.name)}, whose turn it is in declared order: ${why.replace(/\.$/, '')}.`
  return { speaker, diagnostics: [{ code: 'speaker_in_order', message }] }
}

function closing(chat: Chat, completedTurns: readonly string[]): Growth {
  const nodes = closingNodes(chat, completedTurns)
  const output = nodes.at(-1)?.node_id ?? completedTurns.at(-1) ?? ''
  return { nodes, outputs: [output], output }
}

/** Why the chat ends after a text. `null` if it continues. */
function stopOf({ stop_phrase, stop_pattern }: Chat, text: string): string | null {
  if (stop_phrase !== undefined && endsWithLine(text, stop_phrase))
    return `the phrase ${quote(stop_phrase)} was said.`
  const compiled = stop_pattern === undefined ? null : compilePattern(stop_pattern)
  return compiled !== null && 'test' in compiled && compiled.test(text)
    ? `a turn matched /${stop_pattern}/.`
    : null
}

/** For the record: a turn has the stop phrase within a sentence, so the chat continues. */
function mentionOf({ stop_phrase }: Chat, turn: AgentNode, text: string): Diagnostic[] {
  if (stop_phrase === undefined || !folded(text).includes(folded(stop_phrase))) return []
  const message = `${quote(turn.node_id)} wrote ${quote(stop_phrase)} within a text. Only a last line with nothing else ends the chat.`
  return [{ code: 'stop_phrase_mentioned', message }]
}

const named = z.union([
  z.object({ next: z.string() }).transform(({ next }) => next),
  z.object({ speaker: z.string() }).transform(({ speaker }) => speaker),
])

/** The agent that a moderator names: by JSON, or by an answer that is a name. */
function namedIn(
  answer: string,
  agents: readonly WorkflowAgentSpec[],
): { speaker: WorkflowAgentSpec } | { fault: string } {
  const json = readJsonAnswer(answer, named)
  const written = (json.ok ? json.value : answer).trim().replace(/^[\s"'`*@]+|[\s"'`*.!]+$/gu, '')
  const speaker =
    agents.find((agent) => agent.name === written) ??
    only(agents.filter((agent) => folded(agent.name) === folded(written)))
  if (speaker !== undefined) return { speaker }
  const known = agents.map((agent) => agent.name)
  return {
    fault: `${quote(written)} does not name one of the speakers.${didYouMean(written, known)} They are ${quoteAll(known)}.`,
  }
}

const only = <Value>(values: readonly Value[]): Value | undefined =>
  values.length === 1 ? values[0] : undefined

interface Bid {
  readonly speaker: WorkflowAgentSpec
  /** `null`: the agent gave no answer. */
  readonly answer: string | null
  /** `null`: the answer is no bid. */
  readonly bid: number | null
}

/** The answer of an agent: the second one if it was asked again. */
function bidOf(team: TeamView, speaker: WorkflowAgentSpec, turn: number): Bid {
  const answer = team.outputOf(bidId(speaker, turn, true)) ?? team.outputOf(bidId(speaker, turn, false))
  return { speaker, answer, bid: answer === null ? null : bidIn(answer) }
}

function bidding(
  team: TeamView,
  chat: Chat,
  { node, turn, completedTurns }: { node: ExecutionNode; turn: number; completedTurns: readonly string[] },
): NodeEntry {
  const bids = chat.agents.map((agent) => bidOf(team, agent, turn))
  const invalid = bids.filter(({ answer, bid }) => answer !== null && bid === null)
  const diagnostics = invalid.map(({ speaker, answer }): Diagnostic => ({
    code: 'invalid_bid',
    message: `${quote(speaker.name)} bid ${quote(answer)}, which is no number from 0 to 100.`,
  }))
  if (invalid.length > 0 && node.settings?.['again'] !== true) {
    const again = invalid.map(({ speaker }) => bidNode(chat, speaker, turn, completedTurns, true))
    return {
      kind: 'output',
      output: `Asked again: ${again.map(({ agent }) => agent.name).join(', ')}.`,
      growth: { nodes: [...again, choiceNode(turn, again, true)] },
      diagnostics,
    }
  }
  const highest = highestBid(bids) ?? inOrder(chat, turn, 'nobody made a valid bid')
  return spoken(chat, turn, completedTurns, {
    ...highest,
    diagnostics: [...diagnostics, ...highest.diagnostics],
  })
}

function highestBid(bids: readonly Bid[]): Choice | null {
  let best: { speaker: WorkflowAgentSpec; bid: number } | null = null
  for (const { speaker, bid } of bids) if (bid !== null && bid > (best?.bid ?? -1)) best = { speaker, bid }
  return best === null ? null : { speaker: best.speaker, diagnostics: [] }
}

// Reads what the agents of a GroupChat say to code: a bid, and the line that ends the chat. A text is read
// only in the form that was asked for, or in one with no other meaning: a number or a phrase within a
// sentence may mean anything.

const folded = (text: string): string => text.normalize('NFKC').toLowerCase()

/**
 * Whether the last line of a text is the phrase and nothing else, apart from emphasis, quotation marks and a
 * full stop.
 */
function endsWithLine(text: string, phrase: string): boolean {
  const last = text.trimEnd().split('\n').at(-1) ?? ''
  return bare(last) === bare(phrase)
}

const bare = (line: string): string =>
  folded(line)
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\s*_"'`“”「」]+/u, '')
    .replace(/[\s*_"'`“”「」.!。！]+$/u, '')

const bidField = z.object({
  bid: z.union([
    z.number(),
    z
      .string()
      .regex(/^\s*\d{1,3}(?:\.\d{1,3})?\s*$/)
      .transform(Number),
  ]),
})
const figure = String.raw`(\d{1,3}(?:\.\d{1,3})?)(?:\s*(?:%|/\s*100))?`
const alone = new RegExp(String.raw`^[\s*_"'\x60]*${figure}[\s*_"'\x60.!]*$`, 'u')
const marked = new RegExp(
  String.raw`^[\s*_#>"'\x60-]*(?:my\s+)?bid[\s*_"'\x60]*[:=：][\s*_"'\x60]*${figure}[\s*_"'\x60.!]*$`,
  'iu',
)

/**
 * The bid in an answer: `{"bid": 75}`, the number alone, or a last line `BID: 75`. `null` if there is none
 * from 0 to 100.
 */
export function bidIn(answer: string): number | null {
  const json = readJsonAnswer(answer, bidField)
  const last = answer.trimEnd().split('\n').at(-1) ?? ''
  const [, written] =
    answer.length <= charsMax
      ? (alone.exec(answer) ?? marked.exec(last) ?? [])
      : (marked.exec(last.slice(-charsMax)) ?? [])
  const bid = json.ok ? json.value.bid : written === undefined ? NaN : Number(written)
  return bid >= 0 && bid <= 100 ? bid : null
}

const charsMax = 2_000
