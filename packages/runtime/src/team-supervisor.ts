// TeamSupervisor: interprets one ExecutionGraph. One a team run.
//
//   stepping ─stepped─▶ watching ─node.ended | cancel─▶ stepping … ─stepped, all ended─▶ ended
//
// T1. What it decides is core's `stepTeam`; a loop's first append carries the events that start it, in the same message: until
//     then it only assembles. T2. Runs that end in one turn of the event loop, or while a step is being written, are one step.
// T3. It ends once, with the team's result.
// T4. A node that overran its deadline failed, whatever its loop says of being cancelled; an overrun team stops.
import {
  type Clock,
  type DomainEvent,
  draft,
  evolveTeam,
  type ExecutionNode,
  type Failure,
  type JsonObject,
  type NodeEnd,
  stepTeam,
  type TeamProgram,
  type TeamState,
  teamOutput,
} from '@beaver/core'
import type { TeamResult } from '@beaver/agent'
import { assign, createActor, setup } from 'xstate'

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
  append(drafts: readonly ReturnType<typeof draft>[]): Promise<number>
  /** Keeps events back until the next append: they go first in it. */
  hold(drafts: readonly ReturnType<typeof draft>[]): number
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

type TeamEvent =
  | { readonly type: 'node.ended'; readonly ends: readonly NodeEnd[] }
  | { readonly type: 'cancel'; readonly reason: string }
  /** A node that waits is to be cancelled. */
  | { readonly type: 'node.cancelled' }
  | { readonly type: 'stepped'; readonly events: readonly DomainEvent[] }

interface TeamContext {
  readonly arrived: readonly NodeEnd[]
  readonly cancelReason: string | null
  readonly dirty: boolean
  /** What entering `stepping` begins. */
  readonly step: (arrived: readonly NodeEnd[], cancelReason: string | null) => void
}

const isTeamEnd = (type: DomainEvent['type']): boolean => type === 'task_team_run_completed' || type === 'task_team_run_failed'

const teamMachine = setup({
  types: {} as { context: TeamContext; events: TeamEvent; input: Pick<TeamContext, 'step'> },
  actions: {
    // Entered before `takeArrived` clears it: this step's share.
    step: ({ context }) => context.step(context.arrived, context.cancelReason),
    keep: assign(({ context, event }) => (event.type === 'node.ended' ? { arrived: [...context.arrived, ...event.ends], dirty: true } : {})),
    noteCancel: assign(({ event }) => (event.type === 'cancel' ? { cancelReason: event.reason, dirty: true } : {})),
    noteChange: assign({ dirty: true }),
    /** What had arrived is with the step that begins now. */
    takeArrived: assign({ arrived: [], dirty: false }),
  },
  guards: {
    teamEnded: ({ event }) => event.type === 'stepped' && event.events.some(({ type }) => isTeamEnd(type)),
    moreArrived: ({ context }) => context.dirty,
  },
}).createMachine({
  id: 'TeamSupervisor',
  context: ({ input }) => ({ arrived: [], cancelReason: null, dirty: false, ...input }),
  initial: 'stepping',
  states: {
    stepping: {
      entry: ['step', 'takeArrived'],
      on: {
        'node.ended': { actions: 'keep' },
        cancel: { actions: 'noteCancel' },
        'node.cancelled': { actions: 'noteChange' },
        stepped: [{ guard: 'teamEnded', target: 'ended' }, { guard: 'moreArrived', target: 'stepping', reenter: true }, { target: 'watching' }],
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

export interface RunningTeam {
  readonly result: Promise<TeamResult>
  cancel(reason: string): void
  /** The node's `node_cancel_requested` is durable and folded. */
  nodeCancelled(nodeId: string): void
}

/** Drives a team whose `task_team_run_started` is durable, or goes with its first events. `outputs` are those of nodes that completed before (a resumed team). */
export function superviseTeam(team: TeamState, outputs: Map<string, string>, host: TeamHost): RunningTeam {
  const none = { cancel: () => {}, nodeCancelled: () => {} }
  if (team.outcome !== null) return { result: Promise.resolve(teamResult(team, outputs, host.program, null)), ...none }
  const { promise: result, resolve, reject } = Promise.withResolvers<TeamResult>()
  const actor = createActor(teamMachine, { input: { step: (arrived, reason) => void step(arrived, reason).catch(fail) } })
  const running = new Map<string, (reason: string) => void>()
  const arrivals: NodeEnd[] = []
  const timers = new Set<{ cancel(): void }>()
  let stopped: Failure | null = null
  let cancelReason: string | null = null

  async function step(arrived: readonly NodeEnd[], reason: string | null): Promise<void> {
    const events = stepTeam(team, arrived, { newRunId: host.newRunId, cancelReason: reason, program: host.program, graphMax: host.graphMax, outputs })
    // The first events of a node's run, or what the team's end means for who asked for it, come next and bring these along.
    if (events.some(({ type }) => type === 'node_started' || isTeamEnd(type))) host.hold(events.map(draft))
    else if (events.length > 0) await host.append(events.map(draft))
    await Promise.resolve()
    for (const event of events) {
      evolveTeam(team, event, { clockMs: host.clock.now() })
      if (event.type === 'node_computed') outputs.set(event.data.node_id, event.data.output)
      // A run that completed and failed its evidence has no output (D-34).
      if (event.type === 'node_completed') outputs.set(event.data.node_id, arrived.find((end) => end.nodeId === event.data.node_id)?.facts.outputText ?? '')
    }
    actor.send({ type: 'stepped', events })
    const begun = events.flatMap((event) => (event.type === 'node_started' ? [event.data] : []))
    if (begun.length === 0) return
    const nodes = new Map(team.graph.nodes.map((node) => [node.node_id, node]))
    for (const { node_id } of begun) runNode(nodes.get(node_id) as ExecutionNode, false)
  }

  function runNode(node: ExecutionNode, taken: boolean): void {
    const state = team.nodes.get(node.node_id)
    if (node.kind === 'code' || state === undefined || state.runId === null) return
    const { runId, input } = state
    const shown = input?.['dependency_outputs']
    const dependencies = node.depends_on
      .filter((id) => team.nodes.get(id)?.status === 'completed' && (!Array.isArray(shown) || shown.includes(id)))
      .map((id) => ({ node_id: id, output: outputs.get(id) ?? '' }))
    const { end, cancel } = host.runNode({ node, runId, input, dependencies, taken })
    running.set(node.node_id, cancel)
    let overdue: Failure | null = null
    const deadline = after(node.deadline_ms ?? host.deadlines.nodeMs, { id: runId, sinceMs: state.startedAtMs }, (seconds) => {
      overdue = { class: 'deadline_exceeded', message: `${node.node_id} did not end within its deadline of ${seconds} s and was stopped.` }
      cancel(overdue.message)
    })
    const stopReason = state.cancelReason ?? cancelReason
    if (stopReason !== null) cancel(stopReason)
    end
      .then((ended) => {
        running.delete(node.node_id)
        deadline?.cancel()
        arrive(overdue !== null && ended.status === 'cancelled' ? { ...ended, status: 'failed', failure: overdue } : ended)
      })
      .catch(fail)
  }

  function arrive(ended: NodeEnd): void {
    arrivals.push(ended)
    if (arrivals.length === 1) setImmediate(() => actor.send({ type: 'node.ended', ends: arrivals.splice(0) }))
  }

  /** From `sinceMs` on, less the time in which it waited for a person. */
  function after(ms: number | null, of: { id: string; sinceMs: number | null }, act: (seconds: number) => void): { cancel(): void } | null {
    if (ms === null) return null
    const sinceMs = of.sinceMs ?? host.clock.now()
    const leftMs = (): number => sinceMs + ms + host.personWaitedMs(of.id) - host.clock.now()
    let timer: { cancel(): void } | null = null
    const arm = (): void => {
      timer = host.clock.after(Math.max(0, leftMs()), () => (leftMs() > 0 ? arm() : act(ms / 1000)))
    }
    const deadline = {
      cancel(): void {
        timers.delete(deadline)
        timer?.cancel()
      },
    }
    timers.add(deadline)
    arm()
    return deadline
  }

  function end(): void {
    for (const timer of [...timers]) timer.cancel()
  }

  function fail(error: unknown): void {
    end()
    actor.stop()
    reject(error as Error)
  }

  actor.subscribe({
    next: ({ status }) => {
      if (status !== 'done') return
      end()
      resolve(teamResult(team, outputs, host.program, stopped))
    },
    error: fail,
  })
  const going = team.graph.nodes.filter((node) => team.nodes.get(node.node_id)?.status === 'running')
  const deadlineMs = team.graph.deadline_ms ?? host.deadlines.teamMs
  actor.start()
  for (const node of going) runNode(node, true)

  function cancel(reason: string): void {
    cancelReason ??= reason
    actor.send({ type: 'cancel', reason })
    for (const stop of running.values()) stop(reason)
  }
  after(deadlineMs, { id: team.start.team_run_id, sinceMs: team.startedAtMs }, (seconds) => {
    stopped = { class: 'deadline_exceeded', message: `The team did not end within its deadline of ${seconds} s and was stopped.` }
    cancel(stopped.message)
  })

  return {
    result,
    cancel,
    nodeCancelled(nodeId) {
      const reason = team.nodes.get(nodeId)?.cancelReason ?? 'cancelled'
      const stop = running.get(nodeId)
      if (stop === undefined) actor.send({ type: 'node.cancelled' })
      else stop(reason)
    },
  }
}

function teamResult(team: TeamState, outputs: ReadonlyMap<string, string>, program: TeamProgram | null, stopped: Failure | null): TeamResult {
  const failures = team.graph.nodes.flatMap(({ node_id }) => {
    const failure = team.nodes.get(node_id)?.failure ?? null
    return failure === null ? [] : [{ node_id, failure }]
  })
  const { team_run_id } = team.start
  return { team_run_id, outcome: team.outcome ?? 'incomplete', message: team.message, stopped, failures, ...teamOutput(team, outputs, program) }
}
