// The teams of one task: each is started once and driven to its end, and its nodes run as loops. A workflow
// call that comes again finds the team that it started. A task has at most `teamRunsMax` teams of workflow
// tools (D-06); the iterations of a run bound its `workflow:` tools.
import {
  type LoopEnd,
  loopEndOf,
  type LoopSpec,
  type SharedStateAccess,
  type TeamRefusal,
  type TeamRunResult,
} from '@beaver/agent'
import {
  type Asker,
  BeaverError,
  type Clock,
  type DataOf,
  event,
  type Ids,
  type LogId,
  type RunId,
  type TaskRequest,
  type TeamRunId,
} from '@beaver/core'
import type { GivenFact } from '@beaver/core/evidence'
import {
  type CalledTeam,
  evolveTeam,
  runEnded,
  startTeam,
  type TaskState,
  type TeamState,
} from '@beaver/core/fold'
import {
  changeSharedState,
  type ExecutionGraph,
  type NodeEnd,
  readSharedState,
  type SharedStateResult,
} from '@beaver/core/graph'
import { type Draft, draft, drafted } from '@beaver/core/journal'
import { maskedData } from '@beaver/core/secrets'
import { cleanTaint, isUnlabelled, joinTaints, type Taint } from '@beaver/core/taint'
import { isWorkflowTool, programOf, teamContextOf } from '@beaver/workflows'
import type { Admissions } from './admissions.ts'
import { eventsOfRun, type LoadedTask } from './load-task.ts'
import type { OwnHost } from './loop-services.ts'
import { nodeSpec } from './loop-specs.ts'
import type { SupervisedLoop } from './loop-supervisor.ts'
import { type NodeRun, TeamSupervisor } from './team-supervisor.ts'

export interface TeamLimits {
  readonly nodeToolIterationsMax: number
  /** How many turns of a run in a row may be the same; `null`: no bound. */
  readonly repeatsMax: number | null
  readonly concurrentNodesMax: number
  /** Teams a root agent may start in one task (D-06). */
  readonly teamRunsMax: number
  /** The size to which a graph may grow (D-39). */
  readonly graphMax: { readonly agents: number; readonly edges: number }
  /** For a graph that sets none; `null`: no bound. */
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

/** A call of the root run that asks for a team; `null` for the team of a workflow task. */
export interface TeamCall {
  readonly runId: string
  readonly callId: string
  /** The labels of the run. */
  readonly taint: Taint
}

/** A team that has ended, and the call that started it. */
export interface EndedTeam extends CalledTeam {
  readonly result: TeamRunResult
  /** What the authors of its final output were given. */
  readonly material: () => GivenFact
}

export interface LiveTeam {
  readonly state: TeamState
  readonly running: TeamSupervisor
}

export class TaskTeams {
  readonly #log: LogId
  readonly #request: TaskRequest
  readonly #loaded: LoadedTask
  readonly #ports: TaskTeamsPorts
  readonly #live = new Map<string, LiveTeam>()
  /** The team that each call of the root run asked for. */
  readonly #asked = new Map<string, Promise<TeamRunResult | TeamRefusal>>()
  readonly #sharedState: SharedStateChanges
  /** How many teams of workflow tools have started. */
  #started: number
  /** The labels of the runs that ended in this claim. */
  readonly #taints = new Map<string, Taint>()
  #cancelReason: string | null = null
  readonly #ended = new Map<string, EndedTeam>()

  constructor(log: LogId, request: TaskRequest, loaded: LoadedTask, ports: TaskTeamsPorts) {
    this.#log = log
    this.#request = request
    this.#loaded = loaded
    this.#ports = ports
    this.#sharedState = new SharedStateChanges(ports)
    this.#started = this.#known.filter(({ start }) => isWorkflowTool(start.graph.workflow)).length
  }

  /** Works out the results of the teams that have ended in the journal. */
  async tellEnded(): Promise<void> {
    for (const team of this.#known) if (team.outcome !== null) await this.#end(team, this.#drive(team))
  }

  /** The teams that have ended, in the journal or in this claim. */
  ended(): readonly EndedTeam[] {
    return [...this.#ended.values()]
  }

  /** The teams that run now, each with its supervisor. */
  liveTeams(): readonly LiveTeam[] {
    return [...this.#live.values()]
  }

  /** For how long the node of a run has worked. The time in which it waited for people does not count. */
  workedMs({ run_id: runId, team_run_id: team, node_id: node }: LoopSpec['start']): number {
    const { clock, personWaitedMs } = this.#ports
    const began = this.#live.get(team ?? '')?.state.nodes.get(node ?? '')?.startedAtMs ?? null
    return began === null ? 0 : Math.max(0, clock.now() - began - personWaitedMs(runId))
  }

  /**
   * @param graph `null`: the call cannot be planned any more, so it is refused unless it has started a team
   */
  run(call: TeamCall | null, graph: ExecutionGraph | null): Promise<TeamRunResult | TeamRefusal> {
    // A root that started again in another thread asks again for a team that runs or has ended.
    const key = call === null ? '' : `${call.runId} ${call.callId}`
    const team = this.#asked.get(key) ?? this.#run(call, graph)
    this.#asked.set(key, team)
    return team
  }

  cancel(reason: string): void {
    this.#cancelReason ??= reason
    for (const { running } of this.#live.values()) running.cancel(reason)
  }

  /** @throws {BeaverError} `not_found`, `conflict` */
  async cancelNode(nodeId: string, reason: string, asker: Asker): Promise<void> {
    const team = [...this.#live.values()].find((each) => each.state.nodes.has(nodeId))
    if (team === undefined)
      throw new BeaverError(
        'not_found',
        `No running team of the task ${this.#log.task} has a node ${JSON.stringify(nodeId)}.`,
      )
    const status = team.state.nodes.get(nodeId)?.status
    if (status !== 'waiting' && status !== 'running')
      throw new BeaverError('conflict', `The node ${JSON.stringify(nodeId)} has ended already: ${status}.`)
    const requested = drafted(
      event('node_cancel_requested', {
        team_run_id: team.state.start.team_run_id,
        node_id: nodeId,
        reason,
        ...asker,
      }),
    )
    await this.#ports.append([requested.draft])
    evolveTeam(team.state, requested.event, { clockMs: this.#ports.clock.now() })
    team.running.nodeCancelled(nodeId)
  }

  get #known(): TeamState[] {
    return [...this.#loaded.state.teams.values()]
  }

  async #run(call: TeamCall | null, graph: ExecutionGraph | null): Promise<TeamRunResult | TeamRefusal> {
    const { teamRunsMax } = this.#ports.limits
    const known = this.#known.find(
      ({ start }) => start.run_id === (call?.runId ?? null) && start.call_id === (call?.callId ?? null),
    )
    if (known !== undefined) return this.#drivenToEnd(known)
    if (graph === null) return { refused: { code: 'unknown_team', message: 'The call has started no team.' } }
    if (isWorkflowTool(graph.workflow)) {
      if (this.#started >= teamRunsMax)
        return { refused: { code: 'team_limit_reached', message: limitMessage(teamRunsMax) } }
      this.#started++
    }
    return this.#drivenToEnd(this.#start(call, graph))
  }

  async #drivenToEnd(team: TeamState): Promise<TeamRunResult> {
    const running = this.#drive(team)
    this.#live.set(team.start.team_run_id, { state: team, running })
    if (this.#cancelReason !== null) running.cancel(this.#cancelReason)
    const result = await this.#end(team, running)
    this.#live.delete(team.start.team_run_id)
    return result
  }

  async #end(team: TeamState, running: TeamSupervisor): Promise<TeamRunResult> {
    const { team_run_id, call_id, graph } = team.start
    const result = this.#labelled(team, await running.result)
    this.#ended.set(team_run_id, {
      call_id,
      workflow: graph.workflow,
      result,
      material: () => running.material(),
    })
    return result
  }

  #start(call: TeamCall | null, graph: ExecutionGraph): TeamState {
    const { ids, limits, hold, clock } = this.#ports
    const data: DataOf<'task_team_run_started'> = {
      team_run_id: ids.next('team') as TeamRunId,
      run_id: (call?.runId ?? null) as RunId | null,
      call_id: call?.callId ?? null,
      graph,
      concurrent_nodes_max: limits.concurrentNodesMax,
      ...(call === null || isUnlabelled(call.taint) ? {} : { taint: call.taint }),
    }
    const started = drafted(event('task_team_run_started', data))
    hold([started.draft]) // its first nodes follow
    return startTeam(started.event.data as DataOf<'task_team_run_started'>, clock.now())
  }

  #drive(team: TeamState): TeamSupervisor {
    const { append, hold, ids, clock, personWaitedMs, limits } = this.#ports
    return new TeamSupervisor(team, outputsOf(this.#loaded.state, team.start.team_run_id), {
      append,
      hold,
      newRunId: () => ids.next('run'),
      runNode: (node) => this.#runNode(team, node),
      clock,
      personWaitedMs,
      program: programOf(team.graph.workflow),
      graphMax: limits.graphMax,
      deadlines: { teamMs: limits.teamDeadlineMs, nodeMs: limits.nodeDeadlineMs },
    })
  }

  #runNode(
    team: TeamState,
    { node, runId, input, dependencies, taken }: NodeRun,
  ): { end: Promise<NodeEnd>; cancel(reason: string): void } {
    const { append, hold, startLoop, limits, admissions } = this.#ports
    const { state, events } = this.#loaded
    const known = taken ? state.runs.get(runId) : undefined
    const nodeEnd = (end: LoopEnd): NodeEnd => ({
      nodeId: node.node_id,
      runId,
      status: end.status,
      facts: end.facts,
      failure: end.failure,
    })
    if (known !== undefined && runEnded(known))
      return { end: Promise.resolve(nodeEnd(loopEndOf(known))), cancel: () => {} }
    const asked = team.start.taint ?? cleanTaint
    const spec = nodeSpec(this.#log, this.#request, {
      node,
      teamContext: teamContextOf(team.start.team_run_id, team.graph, node),
      asked,
      given: writtenBefore(node, input)
        ? asked
        : joinTaints([asked, ...this.#taintsBefore(team, node.node_id)]),
      runId,
      input,
      dependencies,
      rootRunId: team.start.run_id,
      teamRunId: team.start.team_run_id,
      task: team.graph.task,
      sharedState: team.graph.shared_state !== undefined,
      toolIterationsMax: limits.nodeToolIterationsMax,
      repeatsMax: limits.repeatsMax,
      resume: known === undefined ? null : eventsOfRun(events, runId),
      admitted: admissions.take(runId),
    })
    const loop = startLoop(spec, {
      // A node's end authorises nothing by itself, so it goes with its team's next events.
      append: async (drafts, end) => (end === null ? append(drafts) : hold(drafts)),
      runTeam: () => Promise.reject(new Error('A worker has no workflow tools.')),
      teamOf: () => Promise.resolve(null),
      sharedState: (access, taint) => this.#sharedState.access(team, { runId, taint }, access),
    })
    const end = loop.end.then((ended) => {
      if (ended.taint !== undefined) this.#taints.set(runId, ended.taint)
      return nodeEnd(ended)
    })
    return { end, cancel: (reason) => loop.cancel(reason) }
  }

  /**
   * The labels of the nodes whose text the node may get: those that it depends on or, in a graph with a
   * program, which may pass any text on, all that ended. A member's text is never public.
   */
  #taintsBefore(team: TeamState, nodeId: string): Taint[] {
    if (programOf(team.graph.workflow) !== null)
      return [...team.nodes.keys()].flatMap((id) => this.#taintOf(team, id) ?? [])
    const before = new Set<string>()
    const visit = (id: string): void =>
      team.graph.nodes
        .find((each) => each.node_id === id)
        ?.depends_on.forEach((each) => {
          if (before.has(each)) return
          before.add(each)
          visit(each)
        })
    visit(nodeId)
    return [...before].flatMap((id) => this.#taintOf(team, id) ?? [])
  }

  #taintOf(team: TeamState, nodeId: string): Taint | null {
    const runId = team.nodes.get(nodeId)?.runId ?? null
    return runId === null
      ? null
      : (this.#taints.get(runId) ?? this.#loaded.state.runs.get(runId)?.taint ?? null)
  }

  #labelled(team: TeamState, result: TeamRunResult): TeamRunResult {
    const taint = joinTaints([
      team.sharedTaint,
      ...[...team.nodes.keys()].flatMap((id) => this.#taintOf(team, id) ?? []),
    ])
    return isUnlabelled(taint) ? result : { ...result, taint }
  }
}

/**
 * Whether the call of a tool node was in the graph before anything was read: then it contains no text of
 * other nodes.
 */
const writtenBefore = (node: NodeRun['node'], input: NodeRun['input']): boolean =>
  node.kind === 'tool' && input?.['arguments'] === undefined

const limitMessage = (max: number): string =>
  `This task has had ${max} teams and may have no more. Work with the results you have, use ordinary tools, or answer.`

function outputsOf(state: TaskState, teamRunId: string): Map<string, string> {
  const outputs = new Map<string, string>()
  for (const [nodeId, node] of state.teams.get(teamRunId)?.nodes ?? []) {
    if (node.status !== 'completed') continue
    const run = node.runId === null ? undefined : state.runs.get(node.runId)
    outputs.set(nodeId, node.output ?? run?.outputText ?? '')
  }
  return outputs
}

// The state that the members of a team share (D-51). A change is journaled before it takes effect. Accesses
// of all teams of the task follow one another, so that parallel members lose no update. A member's labels go
// into the state with its text, and from there to every member that accesses the state.

interface SharedStatePorts {
  readonly clock: Clock
  append(drafts: readonly Draft[]): Promise<number>
}

type LabelledResult = SharedStateResult & { readonly taint?: Taint }

export class SharedStateChanges {
  readonly #ports: SharedStatePorts
  #newest: Promise<unknown> = Promise.resolve()

  constructor(ports: SharedStatePorts) {
    this.#ports = ports
  }

  access(
    team: TeamState,
    by: { readonly runId: string; readonly taint: Taint },
    access: SharedStateAccess,
  ): Promise<LabelledResult> {
    const next = this.#newest.then(() => this.#carryOut(team, by, access))
    this.#newest = next.catch(() => {})
    return next
  }

  async #carryOut(
    team: TeamState,
    { runId, taint }: Parameters<SharedStateChanges['access']>[1],
    asked: SharedStateAccess,
  ): Promise<LabelledResult> {
    const access = maskedData(asked)
    if (access.action === 'get')
      return {
        ok: true,
        taint: team.sharedTaint,
        state: team.sharedState,
        value: readSharedState(team.sharedState, access.path) ?? null,
      }
    const result = changeSharedState(team.sharedState, access)
    if (!result.ok) return result
    const change = { team_run_id: team.start.team_run_id, run_id: runId as RunId, change: access }
    const changed = event('shared_state_changed', isUnlabelled(taint) ? change : { ...change, taint })
    await this.#ports.append([draft(changed)])
    evolveTeam(team, changed, { clockMs: this.#ports.clock.now() })
    return { ...result, state: {}, taint: team.sharedTaint } // the caller wants the value; the whole state need not cross the thread
  }
}
