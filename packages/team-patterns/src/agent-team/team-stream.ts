// Maps the events of a task, in their order, to the stream of events of a team run (D-50). The last event is
// the only terminal one: `team_run_completed` or `team_run_failed`, even if the task ends without its team.
// Every event has the ids of its task, team run and run, or null. A member that started ends once, before the
// terminal event, which also says why others never started. The `member_delta`s of an answer, each at its
// offset, give its text, even if nothing was streamed.
import type { DomainEvent, LiveDelta, NodeOutput } from '@beaver/core'
import type { AgentNode } from '@beaver/core/graph'
import type { Failure } from '@beaver/core/supervision'
import { teamSettings } from './member-nodes.ts'
import {
  failuresIn,
  newTeamJournal,
  resultOf,
  takeEvent,
  type TeamFollowOptions,
  type TeamJournal,
} from './team-journal.ts'

interface Ids {
  readonly task_id: string | null
  readonly team_run_id: string | null
  /**
   * For a member's event, its run. For a team's event, the run that called the team; null if the task is a
   * workflow.
   */
  readonly run_id: string | null
}

interface MemberIds extends Ids {
  readonly member_name: string
  readonly node_id: string
}

/** An event of a team run's stream. */
export type TeamStreamEvent =
  | (Ids & {
      readonly type: 'team_run_started'
      readonly workflow: string
      readonly task: string
      readonly members: readonly string[]
    })
  | (MemberIds & { readonly type: 'member_started' })
  | (MemberIds & { readonly type: 'member_delta' } & Piece)
  | (MemberIds & { readonly type: 'member_completed'; readonly output: string })
  | (MemberIds & { readonly type: 'member_failed'; readonly failure: Failure })
  | (Ids & {
      readonly type: 'team_run_completed'
      readonly final_output: string
      readonly outputs: readonly NodeOutput[]
    })
  | (Ids & {
      readonly type: 'team_run_failed'
      readonly outcome: 'incomplete' | 'cancelled'
      readonly message: string
      /** The output that exists in spite of the failure. */
      readonly final_output: string
      readonly outputs: readonly NodeOutput[]
      /** The failures of members that failed or could not work. */
      readonly failures: readonly { readonly node_id: string; readonly failure: Failure }[]
    })

/** The stream of one team run. It takes the events of the task and returns the events of the team. */
export interface TeamStream {
  /** Returns what follows from the task's next event. Nothing follows the terminal event. */
  next(event: DomainEvent): readonly TeamStreamEvent[]
  /** Returns what follows from a live piece of an answer. */
  live(delta: LiveDelta): readonly TeamStreamEvent[]
  readonly ended: boolean
}

/**
 * Follows one team run from the first event of its task.
 *
 * @example
 * const stream = teamStream()
 * const told = events.flatMap((event) => stream.next(event))
 * told.map(({ type }) => type).slice(0, 2) // => ['team_run_started', 'member_started']
 * stream.ended // => true
 */
export function teamStream(options: TeamFollowOptions = {}): TeamStream {
  const journal = newTeamJournal()
  const open = new Map<string, MemberIds>()
  const texts = saidText()
  let ended = false
  return {
    get ended() {
      return ended
    },
    live(delta) {
      const member = ended ? undefined : memberOfRun(open, delta.run_id)
      const piece = member === undefined ? null : texts.piece(delta)
      return member === undefined || piece === null ? [] : [{ type: 'member_delta', ...member, ...piece }]
    },
    next(event) {
      if (ended) return []
      const known = journal.team
      takeEvent(journal, event, '', options)
      const { team } = journal
      if (team !== null && known === null) {
        const { workflow, task } = team.graph
        return [{ type: 'team_run_started', ...idsOf(journal), workflow, task, members: membersOf(journal) }]
      }
      const members =
        event.type === 'assistant_message_added'
          ? answerEvents(open, texts, event)
          : memberEvents(journal, open, event)
      const terminal = terminalEvent(journal, event, options)
      if (terminal === null) return members
      ended = true
      const unended = [...open.values()].map((of): TeamStreamEvent => ({
        type: 'member_failed',
        ...of,
        failure: { class: 'cancelled', message: 'The team ended.' },
      }))
      return [...members, ...unended, terminal]
    },
  }
}

/**
 * The whole stream of a team run.
 *
 * @param events the events of one task, from its first
 */
export function* teamStreamOf(
  events: Iterable<DomainEvent>,
  options: TeamFollowOptions = {},
): Generator<TeamStreamEvent> {
  const stream = teamStream(options)
  for (const event of events) yield* stream.next(event)
}

const memberOfRun = (
  open: ReadonlyMap<string, MemberIds>,
  runId: string | undefined,
): MemberIds | undefined => [...open.values()].find((each) => each.run_id === runId)

function answerEvents(
  open: ReadonlyMap<string, MemberIds>,
  texts: SaidText,
  event: Extract<DomainEvent, { type: 'assistant_message_added' }>,
): TeamStreamEvent[] {
  const member = memberOfRun(open, event.runId)
  const piece = member === undefined ? null : texts.answer(event.runId ?? '', event.data.content ?? '')
  return member === undefined || piece === null ? [] : [{ type: 'member_delta', ...member, ...piece }]
}

function memberEvents(
  journal: TeamJournal,
  open: Map<string, MemberIds>,
  event: DomainEvent,
): TeamStreamEvent[] {
  if (
    journal.team === null ||
    !('node_id' in event.data) ||
    !('team_run_id' in event.data) ||
    event.data.team_run_id !== journal.team.start.team_run_id
  )
    return []
  const nodeId = String(event.data.node_id)
  const node = journal.team.graph.nodes.find(
    (each): each is AgentNode => each.node_id === nodeId && each.kind === 'agent',
  )
  if (node === undefined) return []
  if (event.type === 'node_started') {
    const member = {
      ...idsOf(journal),
      run_id: event.data.run_id,
      member_name: node.agent.name,
      node_id: nodeId,
    }
    open.set(nodeId, member)
    return [{ type: 'member_started', ...member }]
  }
  const member = open.get(nodeId)
  if (member === undefined) return []
  switch (event.type) {
    case 'node_completed':
      open.delete(nodeId)
      return [{ type: 'member_completed', ...member, output: journal.outputs.get(nodeId) ?? '' }]
    case 'node_failed':
      open.delete(nodeId)
      return [{ type: 'member_failed', ...member, failure: event.data.failure }]
    case 'node_cancelled':
      open.delete(nodeId)
      return [
        { type: 'member_failed', ...member, failure: { class: 'cancelled', message: event.data.reason } },
      ]
    default:
      return []
  }
}

function terminalEvent(
  journal: TeamJournal,
  event: DomainEvent,
  options: TeamFollowOptions,
): TeamStreamEvent | null {
  const { team, end } = journal
  const ids = idsOf(journal)
  if (team?.outcome === 'complete')
    return { type: 'team_run_completed', ...ids, ...resultOf(journal, options) }
  if (team !== null && team.outcome !== null) {
    return {
      type: 'team_run_failed',
      ...ids,
      outcome: team.outcome,
      message: team.message ?? '',
      ...resultOf(journal, options),
      failures: failuresIn(journal).map(({ node_id, failure }) => ({ node_id, failure })),
    }
  }
  if (end === null) return null
  const outcome = event.type === 'task_cancelled' ? 'cancelled' : 'incomplete'
  const message =
    end.failure?.message ??
    (team === null ? 'The task ended without a team.' : 'The task ended before its team.')
  return {
    type: 'team_run_failed',
    ...ids,
    outcome,
    message,
    ...resultOf(journal, options),
    failures: failuresIn(journal).map(({ node_id, failure }) => ({ node_id, failure })),
  }
}

const idsOf = ({ taskId, team }: TeamJournal): Ids => ({
  task_id: taskId,
  team_run_id: team?.start.team_run_id ?? null,
  run_id: team?.start.run_id ?? null,
})

/**
 * The configured members, including those without work so far. For another workflow, the agents of its graph.
 */
function membersOf({ team }: TeamJournal): string[] {
  const settings = teamSettings.safeParse(team?.graph.settings)
  if (settings.success) return settings.data.members.map((member) => member.name)
  return [
    ...new Set((team?.graph.nodes ?? []).flatMap((node) => (node.kind === 'agent' ? [node.agent.name] : []))),
  ]
}

// Tracks what was passed on of each member's open answer: live pieces as they come, then the missing rest
// from the journaled answer. A piece that does not follow the earlier pieces is not passed on: the journaled
// answer contains its text.

export interface Piece {
  readonly text: string
  /** The offset in the answer, in UTF-16 units. 0 starts the answer again. */
  readonly offset: number
}

interface SaidText {
  /** What to pass on of a live piece. `null`: nothing. */
  piece(delta: LiveDelta): Piece | null
  /** What to pass on of the journaled answer. `null`: all of it was passed on. */
  answer(runId: string, text: string): Piece | null
}

export function saidText(): SaidText {
  const texts = new Map<string, { readonly call: number; text: string }>()
  return {
    piece({ run_id, call, offset, text }) {
      if (offset === 0) texts.set(run_id, { call, text: '' })
      const known = texts.get(run_id)
      if (known === undefined || known.call !== call || known.text.length !== offset) return null
      known.text += text
      return { text, offset }
    },
    answer(runId, text) {
      const known = texts.get(runId)?.text ?? ''
      texts.delete(runId)
      if (!text.startsWith(known)) return { text, offset: 0 }
      return text.length === known.length ? null : { text: text.slice(known.length), offset: known.length }
    },
  }
}
