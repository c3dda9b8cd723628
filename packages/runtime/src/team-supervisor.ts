// TeamSupervisor: interprets one ExecutionGraph. Each team run has one supervisor. Its states are in
// team-machine.ts. Core's `stepTeam` decides. The first append of a loop carries the events that start the
// loop, in the same message: until then the loop only assembles its context. Runs that end in one turn of the
// event loop, or while a step is being written, belong to one step. A team ends once, with its result. A node
// that exceeds its deadline fails, even if its loop reports that it was cancelled. A team that exceeds its
// deadline is stopped.
import {
  type Clock,
  type Draft,
  drafted,
  evolveTeam,
  type ExecutionNode,
  type Failure,
  type GivenFact,
  type JsonObject,
  materialOf,
  type NodeEnd,
  stepTeam,
  type TeamProgram,
  type TeamState,
  teamOutput,
} from '@beaver/core'
import type { TeamResult } from '@beaver/agent'
import { type ActorRefFrom, createActor } from 'xstate'
import { Deadlines } from './deadlines.ts'
import { isTeamEnd, teamMachine } from './team-machine.ts'

/** A node that starts, or goes on. */
export interface NodeRun {
  readonly node: Exclude<ExecutionNode, { kind: 'code' }>
  readonly runId: string
  /** What the program gave it. */
  readonly input: JsonObject | null
  readonly dependencies: readonly { readonly node_id: string; readonly output: string }[]
  /** The run stands in the journal already. */
  readonly taken: boolean
}

export interface TeamHost {
  append(drafts: readonly Draft[]): Promise<number>
  /** Keeps events back until the next append: they go first in it. */
  hold(drafts: readonly Draft[]): number
  newRunId(): string
  /** Runs the node's loop to its end. */
  runNode(run: NodeRun): { readonly end: Promise<NodeEnd>; cancel(reason: string): void }
  /** The task's own clock. */
  readonly clock: Clock
  /** For how long a run or a team has waited for a person: its deadline stops meanwhile (D-63). */
  personWaitedMs(id: string): number
  readonly program: TeamProgram | null
  readonly graphMax: { readonly agents: number; readonly edges: number }
  /** Where the graph says nothing; `null`: no bound. */
  readonly deadlines: { readonly teamMs: number | null; readonly nodeMs: number | null }
}

export interface RunningTeam {
  readonly result: Promise<TeamResult>
  /** What the authors of its final output were given. */
  material(): GivenFact
  cancel(reason: string): void
  /** The node's `node_cancel_requested` is durable and folded. */
  nodeCancelled(nodeId: string): void
}

/**
 * Drives a team whose `task_team_run_started` is durable, or goes with its first events. `outputs` are those
 * of nodes that completed before (a resumed team).
 */
export function superviseTeam(team: TeamState, outputs: Map<string, string>, host: TeamHost): RunningTeam {
  return new TeamSupervisor(team, outputs, host)
}

class TeamSupervisor implements RunningTeam {
  readonly result: Promise<TeamResult>
  readonly #team: TeamState
  readonly #outputs: Map<string, string>
  readonly #host: TeamHost
  readonly #actor: ActorRefFrom<typeof teamMachine>
  readonly #deadlines: Deadlines
  /** How to stop the nodes that run. */
  readonly #running = new Map<string, (reason: string) => void>()
  /** Nodes whose runs have not ended. */
  readonly #open = new Set<string>()
  /** Runs that ended in this turn of the event loop. */
  readonly #arrivals: NodeEnd[] = []
  readonly #fail: (error: unknown) => void

  constructor(team: TeamState, outputs: Map<string, string>, host: TeamHost) {
    this.#team = team
    this.#outputs = outputs
    this.#host = host
    this.#deadlines = new Deadlines(host)
    this.#actor = createActor(teamMachine, {
      input: { step: (arrived, reason) => void this.#step(arrived, reason).catch(this.#fail) },
    })
    const { promise, resolve, reject } = Promise.withResolvers<TeamResult>()
    this.result = promise
    this.#fail = (error) => {
      this.#deadlines.cancelAll()
      this.#actor.stop()
      reject(error as Error)
    }
    if (team.outcome !== null) {
      resolve(teamResult(team, outputs, host.program, null))
      return
    }
    this.#actor.subscribe({
      next: ({ status, context }) => {
        if (status !== 'done') return
        this.#deadlines.cancelAll()
        resolve(teamResult(team, outputs, host.program, context.stopped))
      },
      error: this.#fail,
    })
    this.#start()
  }

  material(): GivenFact {
    const { graph, nodes } = this.#team
    return materialOf({
      graph,
      inputOf: (id) => nodes.get(id)?.input ?? null,
      outputOf: (id) => this.#outputs.get(id) ?? null,
    })
  }

  cancel(reason: string): void {
    this.#cancel(reason)
  }

  nodeCancelled(nodeId: string): void {
    const stop = this.#running.get(nodeId)
    if (stop === undefined) this.#actor.send({ type: 'node.cancelled' })
    else stop(this.#team.nodes.get(nodeId)?.cancelReason ?? 'cancelled')
  }

  #start(): void {
    const going = this.#team.graph.nodes.filter(({ node_id }) => {
      const node = this.#team.nodes.get(node_id)
      // The run of a node that was dismissed may not have ended.
      return node?.status === 'running' || (node?.status === 'skipped' && node.runId !== null)
    })
    for (const { node_id } of going) this.#open.add(node_id)
    this.#actor.start()
    for (const node of going) this.#runNode(node, true)
    const { start, startedAtMs, graph } = this.#team
    this.#deadlines.set(
      graph.deadline_ms ?? this.#host.deadlines.teamMs,
      { id: start.team_run_id, sinceMs: startedAtMs },
      (seconds) => {
        const message = `The team did not end within its deadline of ${seconds} s and was stopped.`
        this.#cancel(message, { class: 'deadline_exceeded', message })
      },
    )
  }

  #cancel(reason: string, failure?: Failure): void {
    this.#actor.send({ type: 'cancel', reason, ...(failure === undefined ? {} : { failure }) })
    for (const stop of this.#running.values()) stop(reason)
  }

  async #step(arrived: readonly NodeEnd[], cancelReason: string | null): Promise<void> {
    const { newRunId, program, graphMax } = this.#host
    const written = stepTeam(this.#team, arrived, {
      newRunId,
      cancelReason,
      program,
      graphMax,
      outputs: this.#outputs,
      runsOpen: this.#open.size > 0,
    }).map(drafted)
    const events = written.map(({ event }) => event)
    const drafts = written.map(({ draft }) => draft)
    // The first events of a node's run, or what the team's end means for who asked for it, come next and
    // bring these along.
    if (events.some(({ type }) => type === 'node_started' || isTeamEnd(type))) this.#host.hold(drafts)
    else if (events.length > 0) await this.#host.append(drafts)
    await Promise.resolve()
    for (const event of events) {
      evolveTeam(this.#team, event, { clockMs: this.#host.clock.now() })
      if (event.type === 'node_computed') this.#outputs.set(event.data.node_id, event.data.output)
      if (event.type === 'node_skipped') this.#running.get(event.data.node_id)?.(event.data.reason)
      // A run that completed and failed its evidence has no output (D-34).
      if (event.type === 'node_completed')
        this.#outputs.set(
          event.data.node_id,
          arrived.find((end) => end.nodeId === event.data.node_id)?.facts.outputText ?? '',
        )
    }
    this.#actor.send({ type: 'stepped', events })
    const begun = events.flatMap((event) => (event.type === 'node_started' ? [event.data] : []))
    if (begun.length === 0) return
    const nodes = new Map(this.#team.graph.nodes.map((node) => [node.node_id, node]))
    for (const { node_id } of begun) this.#runNode(nodes.get(node_id) as ExecutionNode, false)
  }

  /** @param taken the run stands in the journal already */
  #runNode(node: ExecutionNode, taken: boolean): void {
    const state = this.#team.nodes.get(node.node_id)
    if (node.kind === 'code' || state === undefined || state.runId === null) return
    const { runId, input } = state
    const { end, cancel } = this.#host.runNode({
      node,
      runId,
      input,
      dependencies: this.#dependenciesOf(node, input),
      taken,
    })
    this.#running.set(node.node_id, cancel)
    this.#open.add(node.node_id)
    let overdue: Failure | null = null
    const deadline = this.#deadlines.set(
      node.deadline_ms ?? this.#host.deadlines.nodeMs,
      { id: runId, sinceMs: state.startedAtMs },
      (seconds) => {
        overdue = {
          class: 'deadline_exceeded',
          message: `${node.node_id} did not end within its deadline of ${seconds} s and was stopped.`,
        }
        cancel(overdue.message)
      },
    )
    const stopReason = state.cancelReason ?? this.#actor.getSnapshot().context.cancelReason
    if (stopReason !== null) cancel(stopReason)
    end
      .then((ended) => {
        this.#running.delete(node.node_id)
        this.#open.delete(node.node_id)
        deadline?.cancel()
        this.#arrive(
          overdue !== null && ended.status === 'cancelled'
            ? { ...ended, status: 'failed', failure: overdue }
            : ended,
        )
      })
      .catch(this.#fail)
  }

  #dependenciesOf(node: ExecutionNode, input: JsonObject | null): NodeRun['dependencies'] {
    const shown = input?.['dependency_outputs']
    return node.depends_on
      .filter(
        (id) =>
          this.#team.nodes.get(id)?.status === 'completed' && (!Array.isArray(shown) || shown.includes(id)),
      )
      .map((id) => ({ node_id: id, output: this.#outputs.get(id) ?? '' }))
  }

  #arrive(ended: NodeEnd): void {
    this.#arrivals.push(ended)
    if (this.#arrivals.length === 1)
      setImmediate(() => this.#actor.send({ type: 'node.ended', ends: this.#arrivals.splice(0) }))
  }
}

function teamResult(
  team: TeamState,
  outputs: ReadonlyMap<string, string>,
  program: TeamProgram | null,
  stopped: Failure | null,
): TeamResult {
  const failures = team.graph.nodes.flatMap(({ node_id }) => {
    const failure = team.nodes.get(node_id)?.failure ?? null
    return failure === null ? [] : [{ node_id, failure }]
  })
  const { team_run_id } = team.start
  const { outcome, message, diagnostics } = team
  const remarks = diagnostics.length === 0 ? {} : { diagnostics: [...diagnostics] }
  return {
    team_run_id,
    outcome: outcome ?? 'incomplete',
    message,
    stopped,
    failures,
    ...remarks,
    ...teamOutput(team, outputs, program),
  }
}
