// Reports a team run from the journal: the answer of `run` and of the API (API-02). Pure.
import type { DomainEvent } from '@beaver/core'
import { type Interaction, interactionsOf, isWork } from './member-nodes.ts'
import {
  failuresIn,
  type MemberFailure,
  type TeamFollowOptions,
  newTeamJournal,
  resultOf,
  takeEvent,
} from './team-journal.ts'
import { TeamLog, type TeamLogLine } from './team-log.ts'

/** The report of one team run. */
export interface TeamReport {
  readonly success: boolean
  readonly final_output: string
  /** By member. If a member worked several times, its outputs are joined in order. */
  readonly member_outputs: Readonly<Record<string, string>>
  /** In the order of the graph. `timestamp`: when the answer was accepted. */
  readonly interactions: readonly (Interaction & { readonly timestamp: string })[]
  /** The members that failed, were cancelled or could not work, in the order of the graph, and why. */
  readonly failures: readonly MemberFailure[]
  /** What happened, one line for each event. Empty if the team has `enable_logging: false`. */
  readonly logs: readonly TeamLogLine[]
  /** How many times a member or the coordinator worked. */
  readonly steps: number
  readonly diagnostics: readonly { readonly code: string; readonly message: string }[]
  /** Why the run is no success. `null` if it is one, and while it runs. */
  readonly message: string | null
}

/**
 * What a team run came to, or how far it is.
 *
 * @param events the events of one task from its first, with the times at which they were written
 * @example
 * const { success, steps, member_outputs } = teamReport(events)
 * success // => true
 * steps // => 2
 * Object.keys(member_outputs) // => ['researcher', 'writer']
 */
export function teamReport(
  events: Iterable<DomainEvent & { readonly time: string }>,
  options: TeamFollowOptions = {},
): TeamReport {
  const journal = newTeamJournal()
  const log = new TeamLog()
  for (const event of events) {
    takeEvent(journal, event, event.time, options)
    log.take(journal, event, event.time)
  }
  const { team, outputs, completedAt, diagnostics, end } = journal
  const view = team === null ? null : { graph: team.graph, outputOf: (id: string) => outputs.get(id) ?? null }
  const interactions = view === null ? [] : interactionsOf(view)
  const memberOutputs = new Map<string, string>()
  for (const { member_name, output } of interactions) {
    const before = memberOutputs.get(member_name)
    memberOutputs.set(member_name, before === undefined ? output : `${before}\n\n${output}`)
  }
  const works = team?.graph.nodes.filter(isWork) ?? []
  return {
    success: team?.outcome === 'complete' && resultOf(journal, options).final_output.trim() !== '',
    final_output: resultOf(journal, options).final_output,
    member_outputs: Object.fromEntries(memberOutputs),
    interactions: interactions.map(({ metadata, ...interaction }) => ({
      ...interaction,
      timestamp: completedAt.get(metadata.node_id) ?? '',
      metadata,
    })),
    failures: failuresIn(journal),
    logs: log.lines(journal),
    steps: works.filter((node) => (team?.nodes.get(node.node_id)?.runId ?? null) !== null).length,
    diagnostics,
    message: team?.message ?? (team?.outcome === 'complete' ? null : (end?.failure?.message ?? null)),
  }
}
