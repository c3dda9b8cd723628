// The teams of one task: each started once, driven to its end, its nodes run as loops, its shared state kept.
// G1. A workflow call that is asked for again finds the team it started. G2. At most `teamRunsMax` teams a task (D-06);
//     a `workflow:` tool is a tool, bounded by the iterations of its run. G3. Changes of a shared state follow one another.
import {
  BeaverError,
  changeSharedState,
  type Clock,
  type DataOf,
  type DomainEvent,
  type Draft,
  draft,
  event,
  evolveTeam,
  type ExecutionGraph,
  type Ids,
  type LogId,
  type NodeEnd,
  readSharedState,
  runEnded,
  type RunId,
  type SharedStateResult,
  startTeam,
  type TaskRequest,
  type TaskState,
  type TeamRunId,
  type TeamState,
} from '@beaver/core'
import { type LoopEnd, loopEndOf, type LoopSpec, type SharedStateAccess, type TeamRefusal, type TeamResult } from '@beaver/agent'
import { isWorkflowTool, programOf } from '@beaver/workflows'
import type { Admissions } from './admissions.ts'
import { eventsOfRun, type LoadedTask } from './load-task.ts'
import type { OwnHost } from './loop-services.ts'
import { nodeSpec } from './loop-specs.ts'
import type { SupervisedLoop } from './loop-supervisor.ts'
import { type NodeRun, type RunningTeam, superviseTeam } from './team-supervisor.ts'

export interface TeamLimits {
  readonly nodeToolIterationsMax: number
  readonly concurrentNodesMax: number
  /** Teams a root agent may start in one task (D-06). */
  readonly teamRunsMax: number
  /** How far a graph may grow (D-39). */
  readonly graphMax: { readonly agents: number; readonly edges: number }
  /** Where a graph says nothing; `null`: no bound. */
  readonly teamDeadlineMs: number | null
  readonly nodeDeadlineMs: number | null
}

export interface TaskTeamsPorts {
  /** The task's own clock. */
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: TeamLimits
  readonly admissions: Pick<Admissions, 'take'>
  append(drafts: readonly Draft[]): Promise<number>
  hold(drafts: readonly Draft[]): number
  startLoop(spec: LoopSpec, host: OwnHost): SupervisedLoop
  personWaitedMs(id: string): number
}

/** Who asks for a team: a call of the root run, or nobody: the task is a workflow. */
export interface TeamCall {
  readonly runId: string
  readonly callId: string
}

export interface TaskTeams {
  run(call: TeamCall | null, graph: ExecutionGraph): Promise<TeamResult | TeamRefusal>
  cancel(reason: string): void
  /** @throws {BeaverError} `not_found`, `conflict` */
  cancelNode(nodeId: string, reason: string): Promise<void>
  /** The newest team that has ended. */
  last(): TeamResult | null
}

interface LiveTeam {
  readonly state: TeamState
  readonly running: RunningTeam
}

export async function taskTeams(log: LogId, request: TaskRequest, { state, events }: LoadedTask, ports: TaskTeamsPorts): Promise<TaskTeams> {
  const { limits } = ports
  const live = new Map<string, LiveTeam>()
  const calls = new Map<string, Promise<TeamResult | TeamRefusal>>()
  let started = [...state.teams.values()].filter(({ start }) => isWorkflowTool(start.graph.workflow)).length
  let cancelReason: string | null = null
  let last: TeamResult | null = null
  let changes: Promise<unknown> = Promise.resolve()
  for (const team of state.teams.values()) if (team.outcome !== null) last = await drive(team).result

  async function run(call: TeamCall | null, graph: ExecutionGraph): Promise<TeamResult | TeamRefusal> {
    const known = [...state.teams.values()].find(({ start }) => start.run_id === (call?.runId ?? null) && start.call_id === (call?.callId ?? null))
    if (known === undefined && isWorkflowTool(graph.workflow)) {
      if (started >= limits.teamRunsMax) return { refused: { code: 'team_limit_reached', message: limitMessage(limits.teamRunsMax) } }
      started++
    }
    const team = known ?? start(call, graph)
    const running = drive(team)
    live.set(team.start.team_run_id, { state: team, running })
    if (cancelReason !== null) running.cancel(cancelReason)
    last = await running.result
    live.delete(team.start.team_run_id)
    return last
  }

  function start(call: TeamCall | null, graph: ExecutionGraph): TeamState {
    const data: DataOf<'task_team_run_started'> = {
      team_run_id: ports.ids.next('team') as TeamRunId,
      run_id: (call?.runId ?? null) as RunId | null,
      call_id: call?.callId ?? null,
      graph,
      concurrent_nodes_max: limits.concurrentNodesMax,
    }
    ports.hold([draft(event('task_team_run_started', data))]) // its first nodes follow
    return startTeam(data, ports.clock.now())
  }

  function drive(team: TeamState): RunningTeam {
    return superviseTeam(team, outputsOf(state, team.start.team_run_id), {
      append: ports.append,
      hold: ports.hold,
      newRunId: () => ports.ids.next('run'),
      runNode: (node) => runNode(team, node),
      clock: ports.clock,
      personWaitedMs: ports.personWaitedMs,
      program: programOf(team.graph.workflow),
      graphMax: limits.graphMax,
      deadlines: { teamMs: limits.teamDeadlineMs, nodeMs: limits.nodeDeadlineMs },
    })
  }

  function runNode(team: TeamState, { node, runId, input, dependencies, taken }: NodeRun): { end: Promise<NodeEnd>; cancel(reason: string): void } {
    const known = taken ? state.runs.get(runId) : undefined
    const nodeEnd = (end: LoopEnd): NodeEnd => ({ nodeId: node.node_id, runId, status: end.status, facts: end.facts, failure: end.failure })
    if (known !== undefined && runEnded(known)) return { end: Promise.resolve(nodeEnd(loopEndOf(known))), cancel: () => {} }
    const spec = nodeSpec(log, request, {
      node,
      runId,
      input,
      dependencies,
      rootRunId: team.start.run_id,
      teamRunId: team.start.team_run_id,
      task: team.graph.task,
      sharedState: team.graph.shared_state !== undefined,
      toolIterationsMax: limits.nodeToolIterationsMax,
      resume: known === undefined ? null : eventsOfRun(events, runId),
      admitted: ports.admissions.take(runId),
    })
    const loop = ports.startLoop(spec, {
      // A node's end authorises nothing by itself: it goes with what its team makes of it.
      append: async (drafts, end) => (end === null ? ports.append(drafts) : ports.hold(drafts)),
      runTeam: () => Promise.reject(new Error('A worker has no workflow tools.')),
      sharedState: (access) => sharedState(team, runId, access),
    })
    return { end: loop.end.then(nodeEnd), cancel: (reason) => loop.cancel(reason) }
  }

  function sharedState(team: TeamState, runId: string, access: SharedStateAccess): Promise<SharedStateResult> {
    const next = changes.then(async (): Promise<SharedStateResult> => {
      if (access.action === 'get') return { ok: true, state: team.sharedState, value: readSharedState(team.sharedState, access.path) ?? null }
      const result = changeSharedState(team.sharedState, access)
      if (!result.ok) return result
      const changed = event('shared_state_changed', { team_run_id: team.start.team_run_id, run_id: runId as RunId, change: access })
      await ports.append([draft(changed)])
      evolveTeam(team, changed, { clockMs: ports.clock.now() })
      return { ...result, state: {} } // the caller wants the value; the whole state need not cross the thread
    })
    changes = next.catch(() => {})
    return next
  }

  return {
    last: () => last,
    // A root that was started again in another thread asks again for a team that runs, or has ended, already.
    run(call, graph) {
      const key = call === null ? '' : `${call.runId} ${call.callId}`
      const team = calls.get(key) ?? run(call, graph)
      calls.set(key, team)
      return team
    },
    cancel(reason) {
      cancelReason ??= reason
      for (const { running } of live.values()) running.cancel(reason)
    },
    async cancelNode(nodeId, reason) {
      const team = [...live.values()].find((each) => each.state.nodes.has(nodeId))
      if (team === undefined) throw new BeaverError('not_found', `No running team of the task ${log.task} has a node ${JSON.stringify(nodeId)}.`)
      const status = team.state.nodes.get(nodeId)?.status
      if (status !== 'waiting' && status !== 'running') throw new BeaverError('conflict', `The node ${JSON.stringify(nodeId)} has ended already: ${status}.`)
      const requested: DomainEvent = event('node_cancel_requested', { team_run_id: team.state.start.team_run_id, node_id: nodeId, reason })
      await ports.append([draft(requested)])
      evolveTeam(team.state, requested, { clockMs: ports.clock.now() })
      team.running.nodeCancelled(nodeId)
    },
  }
}

const limitMessage = (max: number): string =>
  `This task has had ${max} teams, the most it may have. Work with the results you have, use ordinary tools, or answer.`

function outputsOf(state: TaskState, teamRunId: string): Map<string, string> {
  const outputs = new Map<string, string>()
  for (const [nodeId, node] of state.teams.get(teamRunId)?.nodes ?? []) {
    if (node.status !== 'completed') continue
    const run = node.runId === null ? undefined : state.runs.get(node.runId)
    outputs.set(nodeId, node.output ?? run?.outputText ?? '')
  }
  return outputs
}
