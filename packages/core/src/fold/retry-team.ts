// What a retry keeps of a team that continues. Pure. The team is decided again from its start, by its graph
// and its program, in the order of the old log. A decision of the old log is kept if the team, with nothing
// but what was kept before, decides the same. So a node keeps its result only if everything that it was given
// is the same. A node that failed, was blocked or was cancelled is decided anew. So is everything that rested
// on it. If something else would follow from a kept result now, the node keeps its run, which has ended, and
// the team draws the conclusion anew. A run is not kept if it may have read in the shared state what a run
// wrote that is not kept.
import type { DomainEvent } from '../events/catalog.ts'
import { factsOf } from '../evidence/run-facts.ts'
import type { TeamProgram } from '../graph/team-program.ts'
import { enteredNode, settledNode } from '../graph/team-step.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { canonicalJson } from '../json.ts'
import type { RunState } from './run-state.ts'
import { evolveTeam, startTeam, type TeamState } from './team-state.ts'

export interface RetriedTeam {
  /** As it ended. */
  readonly team: TeamState
  /**
   * The events of the team, in the order of the log: those that name it and are of no run, and what its runs
   * wrote into the shared state.
   */
  readonly events: readonly RecordedEvent[]
  readonly runs: ReadonlyMap<string, RunState>
  readonly program: TeamProgram | null
  /** Whether a run that did not complete goes on in the retry. */
  readonly goesOn: (runId: string) => boolean
}

/** What is kept of a team. */
export interface KeptTeam {
  readonly events: readonly RecordedEvent[]
  /** The runs that are kept, by their ids. */
  readonly runs: ReadonlySet<string>
}

/** What a retry keeps of a team that is not complete. */
export function keptTeam(of: RetriedTeam): KeptTeam {
  const refused = new Set<string>()
  for (;;) {
    const kept = new Again(of, refused).decide()
    const misled = misledRuns(kept, of)
    if (misled.length === 0) return kept
    for (const runId of misled) refused.add(runId)
  }
}

/** The runs that ended, or go on, after something was written into the shared state that is not there now. */
function misledRuns({ events: left, runs }: KeptTeam, { events }: RetriedTeam): string[] {
  const kept = new Set(left)
  const firstLost =
    events.find((event) => event.type === 'shared_state_changed' && !kept.has(event))?.taskseq ?? Infinity
  const before = events.flatMap((event) =>
    event.type === 'node_completed' && event.taskseq < firstLost ? [event.data.run_id] : [],
  )
  return firstLost === Infinity ? [] : [...new Set(runs).difference(new Set(before))]
}

/** The team, decided again. */
class Again {
  readonly #of: RetriedTeam
  readonly #refused: ReadonlySet<string>
  readonly #team: TeamState
  readonly #outputs = new Map<string, string>()
  readonly #events: RecordedEvent[] = []
  readonly #runs = new Set<string>()

  constructor(of: RetriedTeam, refused: ReadonlySet<string>) {
    this.#of = of
    this.#refused = refused
    this.#team = startTeam(of.team.start, 0)
  }

  decide(): KeptTeam {
    const { events } = this.#of
    for (let i = 0; i < events.length;) {
      const kept = this.#keptAt(i)
      for (const event of events.slice(i, i + kept)) this.#keep(event)
      i += Math.max(1, kept)
    }
    return { events: this.#events, runs: this.#runs }
  }

  /** How many of the events from this one on are kept. They are one decision. */
  #keptAt(i: number): number {
    const event = this.#of.events[i] as RecordedEvent
    if (event.type === 'task_team_run_started') return 1
    if (event.type === 'shared_state_changed')
      return event.data.run_id !== null && this.#runs.has(event.data.run_id) ? 1 : 0
    const nodeId =
      'node_id' in event.data && typeof event.data.node_id === 'string' ? event.data.node_id : null
    if (nodeId === null || (event.type === 'node_started' && !this.#isKept(nodeId, event.data.run_id)))
      return 0
    const decided = this.#decided(nodeId)
    return decided.every((each, place) => isSame(each, this.#of.events[i + place])) ? decided.length : 0
  }

  /** Whether the run is the last one of its node and has a result, or goes on. */
  #isKept(nodeId: string, runId: string): boolean {
    const node = this.#of.team.nodes.get(nodeId)
    return (
      node?.runId === runId &&
      !this.#refused.has(runId) &&
      (node.status === 'completed' || this.#of.goesOn(runId))
    )
  }

  /** What the team decides about a node now. */
  #decided(nodeId: string): readonly DomainEvent[] {
    const options = { program: this.#of.program, outputs: this.#outputs }
    const node = this.#team.nodes.get(nodeId)
    if (node?.status !== 'running')
      return node?.status === 'waiting' ? enteredNode(this.#team, nodeId, options) : []
    const run = this.#of.runs.get(node.runId ?? '')
    if (run?.status !== 'completed' || this.#of.team.nodes.get(nodeId)?.status !== 'completed') return []
    return settledNode(
      this.#team,
      { nodeId, runId: run.start.run_id, status: 'completed', facts: factsOf(run), failure: null },
      options,
    )
  }

  #keep(event: RecordedEvent): void {
    this.#events.push(event)
    if (event.type === 'task_team_run_started') return
    evolveTeam(this.#team, event, { clockMs: 0 })
    if (event.type === 'node_started') this.#runs.add(event.data.run_id)
    if (event.type === 'node_computed') this.#outputs.set(event.data.node_id, event.data.output)
    if (event.type === 'node_completed')
      this.#outputs.set(event.data.node_id, this.#of.runs.get(event.data.run_id)?.outputText ?? '')
  }
}

/** A run has another id each time. */
function isSame(decided: DomainEvent, old: RecordedEvent | undefined): boolean {
  if (old === undefined || decided.type !== old.type) return false
  const data =
    decided.type === 'node_started' && old.type === 'node_started'
      ? { ...decided.data, run_id: old.data.run_id }
      : decided.data
  return canonicalJson(data) === canonicalJson(old.data)
}
