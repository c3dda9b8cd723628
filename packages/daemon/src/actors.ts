// What this daemon holds now, as the answer to the request `actors`. It is read from the live objects and costs
// nothing while nobody asks. Only what a loop is doing is asked of the worker threads, because only they know.
import {
  type ActorLoop,
  actorLoopsMax,
  type ActorPolicy,
  type ActorTask,
  actorTasksMax,
  type ActorTeam,
  type DaemonActors,
} from '@beaver/contracts'
import {
  type FailurePolicies,
  type FailurePolicy,
  type RestartPolicy,
  supervisors,
  timesWithoutProgress,
} from '@beaver/core/supervision'
import { beaverVersion, type Config } from '@beaver/platform'
import type { LoopNow, PoolSnapshot, TaskNow, TaskSupervisor, ThreadedPool } from '@beaver/runtime'

interface ActorsOf {
  /** Whether the answer has no tasks and no policies. */
  readonly isShort?: boolean
  /** When the daemon began. RFC 3339, UTC. */
  readonly startedAt: string
  readonly daemonId: string
  readonly config: Pick<Config['daemon'], 'tasks_max' | 'worker_threads' | 'owners_lost_max'>
  readonly failurePolicies: FailurePolicies
  /** The supervisors of the tasks. */
  readonly tasks: Iterable<Pick<TaskSupervisor, 'now'>>
  readonly pool: Pick<ThreadedPool, 'snapshot'>
}

export async function actorsOf({
  isShort = false,
  startedAt,
  daemonId,
  config,
  failurePolicies,
  tasks,
  pool,
}: ActorsOf): Promise<DaemonActors> {
  const { threads, losses, runs } = await pool.snapshot()
  const driven = [...tasks].map((task) => task.now()).filter(isDriven)
  const shown = isShort ? [] : driven.toSorted((a, b) => b.drivenMs - a.drivenMs).slice(0, actorTasksMax)
  const room = { loops: actorLoopsMax }
  return {
    daemon: daemonId,
    version: beaverVersion,
    started_at: startedAt,
    pid: process.pid,
    tasks_driven: driven.length,
    tasks_max: config.tasks_max,
    policies: isShort ? [] : policiesOf(failurePolicies, config.owners_lost_max),
    threads: [...threads],
    threads_max: config.worker_threads,
    thread_restarts: losses,
    tasks: shown.map((task) => taskOf(task, { runs, room })),
    tasks_left_out: driven.length - shown.length,
  }
}

type Driven = TaskNow & { readonly state: ActorTask['state'] }

/** A task in a final state is driven no more. */
const isDriven = (task: TaskNow): task is Driven =>
  task.state === 'running' ||
  task.state === 'finishing' ||
  task.state === 'suspending' ||
  task.state === 'releasing'

interface Found {
  readonly runs: PoolSnapshot['runs']
  /** How many loops the answer may still have. */
  readonly room: { loops: number }
}

function taskOf(
  { log, request, state, drivenMs, ownersLost, loops, teams }: Driven,
  found: Found,
): ActorTask {
  const root = loops.find(({ start }) => start.team_run_id === null)
  return {
    task_id: log.task,
    session_id: log.session,
    title: request.title ?? null,
    workflow: request.workflow?.name ?? null,
    state,
    driven_ms: drivenMs,
    owners_lost: { charged: ownersLost.charged, in_a_row: ownersLost.inARow },
    root: root === undefined ? null : loopOf(root, found.runs),
    teams: teams.map((team) => teamOf(team, loops, found)),
  }
}

function teamOf(
  { state: team, running }: TaskNow['teams'][number],
  loops: readonly LoopNow[],
  { runs, room }: Found,
): ActorTeam {
  const own = loops.filter(({ start }) => start.team_run_id === team.start.team_run_id)
  const shown = own.slice(0, room.loops)
  room.loops -= shown.length
  const nodes = [...team.nodes.values()]
  return {
    team_run_id: team.start.team_run_id,
    workflow: team.graph.workflow,
    state: running.state,
    nodes: nodes.length,
    nodes_ended: nodes.filter(({ status }) => status !== 'waiting' && status !== 'running').length,
    loops: shown.map((loop) => loopOf(loop, runs)),
    loops_left_out: own.length - shown.length,
  }
}

function loopOf({ runId, start, restarts, pause }: LoopNow, runs: PoolSnapshot['runs']): ActorLoop {
  const placed = runs.get(runId)
  return {
    run_id: runId,
    agent: start.agent_name,
    node_id: start.node_id,
    attempt: start.attempt_index,
    status: pause === null ? (placed?.status ?? null) : `waiting_for_${pause.waitsFor}`,
    thread: placed?.thread ?? null,
    restarts,
  }
}

/** The policies that hold on the tree, with the numbers of the configuration. */
function policiesOf(failures: FailurePolicies, ownersLostMax: number): ActorPolicy[] {
  const {
    task,
    task_without_progress: noProgress,
    loop,
    loop_out_of_memory: full,
    loop_suspect_tools: suspects,
  } = supervisors
  return [
    policyOf('worker_thread', supervisors.worker_pool),
    policyOf('task', task, ownersLostMax),
    policyOf('task', noProgress, timesWithoutProgress * ownersLostMax),
    policyOf('loop', loop, restartsIn(failures.worker_lost)),
    policyOf('loop', full, restartsIn(failures.out_of_memory)),
    policyOf('loop', suspects),
  ]
}

const restartsIn = (policy: FailurePolicy): number => (policy.action === 'restart' ? policy.restartsMax : 0)

function policyOf(
  children: ActorPolicy['children'],
  { id, intensity, backoff, escalation }: RestartPolicy,
  restartsMax = intensity.restartsMax,
): ActorPolicy {
  return {
    supervisor: id,
    children,
    strategy: 'one_for_one',
    restarts_max: restartsMax,
    period_ms: intensity.periodMs,
    counts: intensity.counts,
    pause:
      backoff === null
        ? null
        : { ms_min: backoff.pauseMsMin, ms_max: backoff.pauseMsMax, jitter: backoff.jitter },
    when_exceeded: escalation.kind,
    says: escalation.says,
  }
}
