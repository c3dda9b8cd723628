// TeamSupervisor: runs one ExecutionGraph for one team run, by the decisions of core's `stepTeam`. The first
// append of a loop carries the events that start the loop; until then the loop only assembles its context.
// Runs that end in one turn of the event loop, or while a step is being written, belong to one step. A node
// that exceeds its deadline fails, even if its loop reports that it was cancelled.
import type { TeamRunResult } from '@beaver/agent'
import type { Clock, DomainEvent, JsonObject } from '@beaver/core'
import type { GivenFact } from '@beaver/core/evidence'
import { evolveTeam, type TeamState } from '@beaver/core/fold'
import {
  type ExecutionNode,
  materialOf,
  type NodeEnd,
  stepTeam,
  teamOutput,
  type TeamProgram,
} from '@beaver/core/graph'
import { type Draft, drafted } from '@beaver/core/journal'
import type { Failure } from '@beaver/core/supervision'
import { evaluateNode } from '@beaver/evidence'
import { type ActorRefFrom, assign, createActor, setup } from 'xstate'

/** A node that starts or resumes. */
export interface NodeRun {
  readonly node: Exclude<ExecutionNode, { kind: 'code' }>
  readonly runId: string
  /** The input that the graph's program gave it. */
  readonly input: JsonObject | null
  readonly dependencies: readonly { readonly node_id: string; readonly output: string }[]
  /** The run is in the journal already. */
  readonly taken: boolean
}

export interface TeamHost {
  append(drafts: readonly Draft[]): Promise<number>
  /** Keeps events back until the next append, where they go first. */
  hold(drafts: readonly Draft[]): number
  newRunId(): string
  /** Runs the node's loop to its end. */
  runNode(run: NodeRun): { readonly end: Promise<NodeEnd>; cancel(reason: string): void }
  /** The task's own clock. */
  readonly clock: Clock
  /** How long a run or a team has waited for a person: its deadline stops meanwhile (D-63). */
  personWaitedMs(id: string): number
  readonly program: TeamProgram | null
  readonly graphMax: { readonly agents: number; readonly edges: number }
  /** For a graph that sets none; `null`: no bound. */
  readonly deadlines: { readonly teamMs: number | null; readonly nodeMs: number | null }
}

/**
 * Drives a team whose `task_team_run_started` is durable, or goes with its first events. `outputs`: of the
 * nodes that completed before, if the team is resumed.
 */
export class TeamSupervisor {
  readonly result: Promise<TeamRunResult>
  readonly #team: TeamState
  readonly #outputs: Map<string, string>
  readonly #host: TeamHost
  readonly #actor: ActorRefFrom<typeof teamMachine>
  readonly #deadlines: Deadlines
  /** Stops each running node. */
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
    const { promise, resolve, reject } = Promise.withResolvers<TeamRunResult>()
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

  /** The state of its machine. A team that had ended before has no machine. */
  get state(): 'stepping' | 'watching' | 'ended' {
    return this.#team.outcome === null ? this.#actor.getSnapshot().value : 'ended'
  }

  /** What the authors of its final output were given. */
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

  /** Call it after the node's `node_cancel_requested` is durable and folded. */
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
      gate: evaluateNode,
      graphMax,
      outputs: this.#outputs,
      runsOpen: this.#open.size > 0,
    }).map(drafted)
    const events = written.map(({ event }) => event)
    const drafts = written.map(({ draft }) => draft)
    // Hold these events: the first events of a node's run, or the reaction to the team's end, follow at once
    // and take them along.
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

  /** @param taken the run is in the journal already */
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
): TeamRunResult {
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

// Deadlines of nodes and teams, measured by the task's own clock. A deadline stops while the run waits for a
// person (D-63). It is checked when it is due, and set again if time is left.

interface Deadline {
  cancel(): void
}

interface DeadlineOf {
  /** The run or team run whose waits for a person stop the deadline. */
  readonly id: string
  /** By the task's clock; `null`: now. */
  readonly sinceMs: number | null
}

class Deadlines {
  readonly #clock: Clock
  readonly #personWaitedMs: (id: string) => number
  readonly #open = new Set<Deadline>()

  constructor({ clock, personWaitedMs }: { clock: Clock; personWaitedMs: (id: string) => number }) {
    this.#clock = clock
    this.#personWaitedMs = personWaitedMs
  }

  /** @param ms `null`: no deadline @param act gets the deadline in seconds */
  set(ms: number | null, { id, sinceMs }: DeadlineOf, act: (seconds: number) => void): Deadline | null {
    if (ms === null) return null
    const from = sinceMs ?? this.#clock.now()
    const leftMs = (): number => from + ms + this.#personWaitedMs(id) - this.#clock.now()
    let timer: { cancel(): void } | null = null
    const arm = (): void => {
      timer = this.#clock.after(Math.max(0, leftMs()), () => (leftMs() > 0 ? arm() : act(ms / 1000)))
    }
    const deadline = {
      cancel: (): void => {
        this.#open.delete(deadline)
        timer?.cancel()
      },
    }
    this.#open.add(deadline)
    arm()
    return deadline
  }

  cancelAll(): void {
    for (const deadline of [...this.#open]) deadline.cancel()
  }
}

// The states of a team run.
//
//   stepping ─stepped─▶ watching ─node.ended | cancel | node.cancelled─▶ stepping … ─stepped, all ended─▶ ended
//
// Runs that end while a step is being written are kept in the context, for the next step. The first reason to
// stop counts.

type TeamEvent =
  | { readonly type: 'node.ended'; readonly ends: readonly NodeEnd[] }
  /** `failure`: what stops the team; absent: somebody asked for it. */
  | { readonly type: 'cancel'; readonly reason: string; readonly failure?: Failure }
  /** A node that waits is to be cancelled. */
  | { readonly type: 'node.cancelled' }
  | { readonly type: 'stepped'; readonly events: readonly DomainEvent[] }

interface TeamContext {
  /** Runs that ended since the last step. */
  readonly arrived: readonly NodeEnd[]
  /** Why it was first asked to stop. */
  readonly cancelReason: string | null
  /** What stopped it; `null`: nothing, or a request. */
  readonly stopped: Failure | null
  /** Something happened since the last step. */
  readonly dirty: boolean
  /** What entering `stepping` begins. */
  readonly step: (arrived: readonly NodeEnd[], cancelReason: string | null) => void
}

const isTeamEnd = (type: DomainEvent['type']): boolean =>
  type === 'task_team_run_completed' || type === 'task_team_run_failed'

const teamMachine = setup({
  types: {} as { context: TeamContext; events: TeamEvent; input: Pick<TeamContext, 'step'> },
  actions: {
    // Entered before `takeArrived` clears it: this step's share.
    step: ({ context }) => context.step(context.arrived, context.cancelReason),
    keep: assign(({ context, event }) =>
      event.type === 'node.ended' ? { arrived: [...context.arrived, ...event.ends], dirty: true } : {},
    ),
    noteCancel: assign(({ context, event }) =>
      event.type === 'cancel'
        ? {
            cancelReason: context.cancelReason ?? event.reason,
            stopped: context.stopped ?? event.failure ?? null,
            dirty: true,
          }
        : {},
    ),
    noteChange: assign({ dirty: true }),
    /** The step that begins now has taken these ends. */
    takeArrived: assign({ arrived: [], dirty: false }),
  },
  guards: {
    teamEnded: ({ event }) => event.type === 'stepped' && event.events.some(({ type }) => isTeamEnd(type)),
    moreArrived: ({ context }) => context.dirty,
  },
}).createMachine({
  id: 'TeamSupervisor',
  context: ({ input }) => ({ arrived: [], cancelReason: null, stopped: null, dirty: false, ...input }),
  initial: 'stepping',
  states: {
    stepping: {
      entry: ['step', 'takeArrived'],
      on: {
        'node.ended': { actions: 'keep' },
        cancel: { actions: 'noteCancel' },
        'node.cancelled': { actions: 'noteChange' },
        stepped: [
          { guard: 'teamEnded', target: 'ended' },
          { guard: 'moreArrived', target: 'stepping', reenter: true },
          { target: 'watching' },
        ],
      },
    },
    watching: {
      on: {
        'node.ended': { target: 'stepping', actions: 'keep' },
        cancel: { target: 'stepping', actions: 'noteCancel' },
        'node.cancelled': { target: 'stepping' },
      },
    },
    ended: { type: 'final' },
  },
})
