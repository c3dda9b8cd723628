// Decides in an open GroupChat whether it continues after a turn (`floor`), and who has the next turn (`choice`).
// G1. A name from the moderator is checked. After a second answer without a speaker, the order of the agents decides, with a diagnostic.
// G2. The highest bid speaks. Of equal bids, the first in declared order wins.
// G3. The result is the last completed turn, and it is set from the first turn on, so that a chat that is stopped keeps it.
import { type AgentNode, compilePattern, type Diagnostic, type ExecutionNode, type Growth, type NodeEntry, type TeamProgram, type TeamView } from '@beaver/core'
import { z } from 'zod'
import {
  chatSettings,
  type Chat,
  choiceNode,
  closingNodes,
  failedTurnsMax,
  isTurn,
  moderatorNode,
  speakerInTurn,
  stageNodes,
  turnStage,
} from './group-chat-turns.ts'
import type { WorkflowAgentSpec } from '../agent-spec.ts'
import { readJsonAnswer } from '../growing/json-answer.ts'
import { didYouMean, quote, quoteAll } from '../arguments/wording.ts'

export const groupChatProgram: TeamProgram = {
  enter(team, node) {
    if (node.kind !== 'code') return { kind: 'run', input: null }
    const said = saidIn(team)
    if (node.operation === 'last_turn') return { kind: 'output', output: team.outputOf(said.at(-1) ?? '') ?? '' }
    const chat = chatSettings.parse(team.graph.settings)
    const turn = Number(node.settings?.['of'])
    return node.operation === 'floor' ? floor(team, chat, turn) : choice(team, chat, { node, turn })
  },
}

/** The turns that completed. */
const saidIn = (team: TeamView): string[] => turnsIn(team, (status) => status === 'completed')

function turnsIn(team: TeamView, wanted: (status: ReturnType<TeamView['statusOf']>) => boolean): string[] {
  return team.graph.nodes.filter((node) => isTurn(node) && wanted(team.statusOf(node.node_id))).map((node) => node.node_id)
}

function floor(team: TeamView, chat: Chat, turn: number): NodeEntry {
  const said = saidIn(team)
  const lost = turnsIn(team, (status) => status === 'failed' || status === 'cancelled')
  const last = said.at(-1)
  if (lost.length > failedTurnsMax || turn > chat.turns_max) {
    if (last === undefined) return { kind: 'fail', failure: { class: 'empty_output', message: `None of ${lost.length} turns completed: ${quoteAll(lost)}.` } }
    const cut: Diagnostic[] =
      turn > chat.turns_max ? [] : [{ code: 'chat_cut_short', message: `${lost.length} turns failed (${quoteAll(lost)}): the chat ends with what was said.` }]
    return { kind: 'output', output: `The chat ends after ${turn - 1} turns.`, growth: closing(chat, said), diagnostics: cut }
  }
  const newest = team.graph.nodes.findLast(isTurn) as AgentNode
  const stop = stopOf(chat, team.outputOf(newest.node_id) ?? '')
  if (stop !== null) return { kind: 'output', output: `The chat ends after ${turn - 1} turns: ${stop}`, growth: closing(chat, said) }
  const nodes = stageNodes(chat, turn, said)
  return {
    kind: 'output',
    output: `Turn ${turn} of at most ${chat.turns_max}.`,
    growth: last === undefined ? { nodes } : { nodes, outputs: [last], output: last },
  }
}

function choice(team: TeamView, chat: Chat, { node, turn }: { node: ExecutionNode; turn: number }): NodeEntry {
  const said = saidIn(team)
  if (chat.speaker === 'bids') return spoken(chat, turn, said, highestBid(team, chat, node, turn))
  const asked = node.depends_on[0] ?? ''
  const answer = team.outputOf(asked)
  if (answer === null) return spoken(chat, turn, said, inOrder(chat, turn, `${quote(asked)} ended without an answer`))
  const stop = said.length === 0 ? null : stopOf(chat, answer)
  if (stop !== null) return { kind: 'output', output: `The moderator ends the chat: ${stop}`, growth: closing(chat, said) }
  const named = namedIn(answer, chat.agents)
  if ('speaker' in named) return spoken(chat, turn, said, { speaker: named.speaker, diagnostics: [] })
  if (node.settings?.['again'] === true) return spoken(chat, turn, said, inOrder(chat, turn, named.fault))
  const again = moderatorNode(chat, turn, said, named.fault)
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

function spoken(chat: Chat, turn: number, said: readonly string[], { speaker, diagnostics }: Choice): NodeEntry {
  const nodes = turnStage(chat, speaker, turn, said)
  const first = nodes[0]?.node_id ?? ''
  const growth: Growth = said.length === 0 ? { nodes, outputs: [first], output: first } : { nodes }
  return { kind: 'output', output: speaker.name, growth, diagnostics }
}

const inOrder = (chat: Chat, turn: number, why: string): Choice => {
  const speaker = speakerInTurn(chat, turn)
  const message = `Turn ${turn} goes to ${quote(speaker.name)}, whose turn it is in declared order: ${why.replace(/\.$/, '')}.`
  return { speaker, diagnostics: [{ code: 'speaker_in_order', message }] }
}

function closing(chat: Chat, said: readonly string[]): Growth {
  const nodes = closingNodes(chat, said)
  const output = nodes.at(-1)?.node_id ?? said.at(-1) ?? ''
  return { nodes, outputs: [output], output }
}

/** Why the chat ends after a text. `null` if it continues. */
function stopOf({ stop_phrase, stop_pattern }: Chat, text: string): string | null {
  if (stop_phrase !== undefined && folded(text).includes(folded(stop_phrase))) return `the phrase ${quote(stop_phrase)} was said.`
  const compiled = stop_pattern === undefined ? null : compilePattern(stop_pattern)
  return compiled !== null && 'test' in compiled && compiled.test(text) ? `a turn matched /${stop_pattern}/.` : null
}

const folded = (text: string): string => text.normalize('NFKC').toLowerCase()

const named = z.union([z.object({ next: z.string() }).transform(({ next }) => next), z.object({ speaker: z.string() }).transform(({ speaker }) => speaker)])

/** The agent that a moderator means: by JSON, by an answer that is a name, or as the only agent that the answer mentions. */
function namedIn(answer: string, agents: readonly WorkflowAgentSpec[]): { speaker: WorkflowAgentSpec } | { fault: string } {
  const json = readJsonAnswer(answer, named)
  const written = (json.ok ? json.value : answer).trim().replace(/^[\s"'`*@]+|[\s"'`*.!]+$/gu, '')
  const speaker = agents.find((agent) => agent.name === written) ?? only(agents.filter((agent) => folded(agent.name) === folded(written)))
  const mentioned = speaker ?? (json.ok ? undefined : only(agents.filter((agent) => mentions(answer, agent.name))))
  if (mentioned !== undefined) return { speaker: mentioned }
  const known = agents.map((agent) => agent.name)
  return { fault: `${quote(written)} does not name one of the speakers.${didYouMean(written, known)} They are ${quoteAll(known)}.` }
}

const only = <Value>(values: readonly Value[]): Value | undefined => (values.length === 1 ? values[0] : undefined)

/** The only character of a name with a meaning in a pattern is the dot. */
function mentions(text: string, name: string): boolean {
  const letter = String.raw`[\p{L}\p{N}\p{M}_]`
  return new RegExp(`(?<!${letter})${name.replaceAll('.', String.raw`\.`)}(?!${letter})`, 'u').test(text)
}

function highestBid(team: TeamView, chat: Chat, node: ExecutionNode, turn: number): Choice {
  let best: { speaker: WorkflowAgentSpec; bid: number } | null = null
  const diagnostics: Diagnostic[] = []
  for (const [index, speaker] of chat.agents.entries()) {
    const answer = team.outputOf(node.depends_on[index] ?? '')
    const bid = answer === null ? null : bidIn(answer)
    if (answer !== null && bid === null)
      diagnostics.push({ code: 'invalid_bid', message: `${quote(speaker.name)} bid ${quote(answer)}, which is no number from 0 to 100.` })
    if (bid !== null && bid > (best?.bid ?? -1)) best = { speaker, bid }
  }
  if (best !== null) return { speaker: best.speaker, diagnostics }
  const fallback = inOrder(chat, turn, 'nobody made a valid bid')
  return { speaker: fallback.speaker, diagnostics: [...diagnostics, ...fallback.diagnostics] }
}

function bidIn(answer: string): number | null {
  const written = /-?\d+(?:\.\d+)?/.exec(answer.slice(0, 2000))
  const bid = written === null ? NaN : Number(written[0])
  return bid >= 0 && bid <= 100 ? bid : null
}
