// TeamSupervisor: interprets one ExecutionGraph. One a team run.
//
//   stepping ─stepped─▶ watching ─node.ended | cancel─▶ stepping … ─stepped, all ended─▶ ended
//
// T1. What it decides is core's `stepTeam`; it appends those events and only then starts loops. T2. Runs that end while a step
//     is being written are taken up by the next one. T3. It ends once, with the team's result.
import { type ExecutionNode, type DomainEvent, draft, evolveTeam, type NodeEnd, stepTeam, type TeamState, teamOutput } from '@beaver/core'
import type { TeamResult } from '@beaver/agent'
import { assign, createActor, setup } from 'xstate'

export interface TeamHost {
  append(drafts: readonly ReturnType<typeof draft>[]): Promise<number>
  newRunId(): string
  /** Runs the node's loop to its end; `taken` when the run stands in the journal already. */
  runNode(node: ExecutionNode, runId: string, dependencies: readonly { node_id: string; output: string }[], taken: boolean): Promise<NodeEnd>
}

type TeamEvent =
  | { readonly type: 'node.ended'; readonly end: NodeEnd }
  | { readonly type: 'cancel'; readonly reason: string }
  | { readonly type: 'stepped'; readonly events: readonly DomainEvent[] }

interface TeamContext {
  readonly arrived: readonly NodeEnd[]
  readonly cancelReason: string | null
  readonly dirty: boolean
  /** What entering `stepping` begins. */
  readonly step: (arrived: readonly NodeEnd[], cancelReason: string | null) => void
}

const teamMachine = setup({
  types: {} as { context: TeamContext; events: TeamEvent; input: Pick<TeamContext, 'step'> },
  actions: {
    // Entered before `takeArrived` clears it: this step's share.
    step: ({ context }) => context.step(context.arrived, context.cancelReason),
    keep: assign(({ context, event }) => (event.type === 'node.ended' ? { arrived: [...context.arrived, event.end], dirty: true } : {})),
    noteCancel: assign(({ event }) => (event.type === 'cancel' ? { cancelReason: event.reason, dirty: true } : {})),
    /** What had arrived is with the step that begins now. */
    takeArrived: assign({ arrived: [], dirty: false }),
  },
  guards: {
    teamEnded: ({ event }) =>
      event.type === 'stepped' && event.events.some((each) => each.type === 'task_team_run_completed' || each.type === 'task_team_run_failed'),
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
        stepped: [{ guard: 'teamEnded', target: 'ended' }, { guard: 'moreArrived', target: 'stepping', reenter: true }, { target: 'watching' }],
      },
    },
    watching: {
      on: {
        'node.ended': { target: 'stepping', actions: 'keep' },
        cancel: { target: 'stepping', actions: 'noteCancel' },
      },
    },
    ended: { type: 'final' },
  },
})

export interface RunningTeam {
  readonly result: Promise<TeamResult>
  cancel(reason: string): void
}

/** Drives a team whose `task_team_run_started` is durable. `outputs` are those of nodes that completed before (a resumed team). */
export function superviseTeam(team: TeamState, outputs: Map<string, string>, host: TeamHost): RunningTeam {
  if (team.outcome !== null) return { result: Promise.resolve(teamResult(team, outputs)), cancel: () => {} }
  const { promise: result, resolve, reject } = Promise.withResolvers<TeamResult>()
  const actor = createActor(teamMachine, { input: { step: (arrived, cancelReason) => void step(arrived, cancelReason).catch(fail) } })

  async function step(arrived: readonly NodeEnd[], cancelReason: string | null): Promise<void> {
    for (const end of arrived) if (end.status === 'completed') outputs.set(end.nodeId, end.facts.outputText)
    const events = stepTeam(team, arrived, { newRunId: host.newRunId, cancelReason })
    if (events.length > 0) await host.append(events.map(draft))
    else await Promise.resolve()
    for (const event of events) evolveTeam(team, event)
    actor.send({ type: 'stepped', events })
    for (const event of events) if (event.type === 'node_started') runNode(event.data.node_id, event.data.run_id, false)
  }

  function runNode(nodeId: string, runId: string, taken: boolean): void {
    const node = team.start.graph.nodes.find((each) => each.node_id === nodeId) as ExecutionNode
    const dependencies = node.depends_on.map((id) => ({ node_id: id, output: outputs.get(id) ?? '' }))
    host.runNode(node, runId, dependencies, taken).then((end) => actor.send({ type: 'node.ended', end }), fail)
  }

  function fail(error: unknown): void {
    actor.stop()
    reject(error as Error)
  }

  actor.subscribe({
    next: ({ status }) => {
      if (status !== 'done') return
      resolve(teamResult(team, outputs))
    },
    error: fail,
  })
  const running = [...team.nodes].filter(([, node]) => node.status === 'running')
  actor.start()
  for (const [nodeId, node] of running) runNode(nodeId, node.runId as string, true)
  return { result, cancel: (reason) => actor.send({ type: 'cancel', reason }) }
}

function teamResult(team: TeamState, outputs: ReadonlyMap<string, string>): TeamResult {
  const failures = team.start.graph.nodes.flatMap(({ node_id }) => {
    const failure = team.nodes.get(node_id)?.failure ?? null
    return failure === null ? [] : [{ node_id, failure }]
  })
  return { team_run_id: team.start.team_run_id, outcome: team.outcome ?? 'incomplete', message: team.message, failures, ...teamOutput(team, outputs) }
}
