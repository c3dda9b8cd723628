// The supervisor daemon: wires the runtime to NATS, the model and the skills, and answers the service requests.
import { type ExternalTools, type LoadDiagnostic, loadSkills, skillPlaces } from '@beaver/agent'
import { type Config, configuredPolicies } from '@beaver/config'
import {
  eventTypeOf,
  isTerminalTaskEvent,
  type LiveDelta,
  type Logger,
  type LogId,
  logKey,
  silentLogger,
  newestRecord,
  steadyClock,
  systemFacts,
  ulidIds,
} from '@beaver/core'
import {
  connectNats,
  natsBlobStore,
  natsJournal,
  natsMemoryStore,
  natsOpenTasks,
  natsPeers,
  natsSessionSearch,
  natsTaskQueue,
  subjectsOf,
  watchConnection,
} from '@beaver/nats'
import { loadTask, retryTask, startDaemon, startSweep, startWorkerPool, submitTask, workspaceFolders } from '@beaver/runtime'
import { builtinToolOptions, loadToolset, taskWorkflows, type ToolsetPlaces } from '@beaver/tools'
import type { Workflow } from '@beaver/workflows'
import { whileHealthy } from './while-healthy.ts'
import { externalToolsOf } from './external-tools-of.ts'
import { type daemonThreads, threadOptions } from './daemon-threads.ts'
import { endOf, watchEndings } from './endings.ts'
import { chooseModel } from './model.ts'
import { serveRequests } from './serve-requests.ts'
import { serveTaskCommands } from './task-commands.ts'
import type { WorkerData } from './worker.ts'

export interface Supervisor {
  readonly info: { readonly daemon: string; readonly model: string; readonly provider: string; readonly skills: readonly string[] }
  /** Rejects when the daemon cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

/** What `task.run` calls each end of a task. */
const endedAs = { task_completed: 'completed', task_incomplete: 'incomplete', task_failed: 'failed', task_cancelled: 'cancelled' } as const
const stopMsMax = 2_000
const runsMax = 10_000

/** What the daemon is given besides the configuration. */
export interface SupervisorParts {
  /** Tools of the program's own process. */
  readonly external?: ExternalTools | null
  /** Default: silent. */
  readonly logger?: Logger
  /** Worker threads that were made already; they end with the daemon, also with one that does not start. */
  readonly threads?: ReturnType<typeof daemonThreads>
}

export async function startSupervisor(
  config: Config,
  natsUrl: string,
  { external: embedded = null, logger = silentLogger, threads }: SupervisorParts = {},
): Promise<Supervisor> {
  const ids = ulidIds()
  const daemonId = ids.next('daemon')
  const source = `/beaver/daemons/${daemonId}`
  const subjects = subjectsOf(config.namespace)
  const places: ToolsetPlaces = {
    tools: config.tools,
    workflows: config.workflows,
    profiles: config.profiles,
    profileDefault: config.profile ?? null,
    builtin: builtinToolOptions(config),
  }
  const toolset = await loadToolset({ ...places, external: embedded?.tools ?? [] })
  const workflows = taskWorkflows(toolset)
  // A start that fails leaves nothing behind: in a program that embeds the daemon no process ends with it.
  await using undo = new AsyncDisposableStack()
  undo.defer(() => threads?.destroy())
  const nc = await connectNats({ url: natsUrl, name: `beaver-supervisor ${daemonId}` })
  undo.defer(() => nc.close())
  watchConnection(nc, logger, subjects.stream)
  const model = await chooseModel(config, { logger })
  undo.defer(() => model.close())
  const skillFolders = skillPlaces({ configured: config.skills, workspace: config.workspace }).map(({ folder }) => folder)
  const { skills, diagnostics } = await loadSkills(skillFolders)
  for (const diagnostic of [...diagnostics, ...toolset.diagnostics]) tellDiagnostic(logger, diagnostic)
  const journal = await natsJournal(nc, subjects)
  undo.defer(async () => journal.close())
  const blobs = await natsBlobStore(nc, subjects)
  const memory = await natsMemoryStore(nc, subjects, { memory: config.memory.memory_chars_max, user: config.memory.user_chars_max })
  undo.defer(() => memory.close())
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: config.daemon.lease_ms, now: () => journal.now() })
  const clock = steadyClock
  // Before the threads are there: what a dead daemon left is woken while they start.
  let drives = (_key: string): boolean => false
  const peers = natsPeers(nc, subjects, logger)
  const sweep = startSweep({
    openTasks: natsOpenTasks(nc, subjects),
    peers,
    queue,
    clock,
    logger,
    tenant: config.tenant,
    daemonId,
    drives: (key) => drives(key),
  })
  undo.defer(() => sweep.stop())
  const workflowLimits = { agentsMax: config.team.agents_max, edgesMax: config.team.edges_max }
  const failurePolicies = configuredPolicies(config)
  const data: WorkerData = {
    model: model.choice,
    failurePolicies,
    skillFolders,
    toolset: places,
    toolTimeoutMs: config.agent.tool_timeout_ms,
    workflowLimits,
    permissions: config.permissions.rules,
    skillSelection: config.agent.skill_selection,
  }
  const pool = await startWorkerPool({
    ...threadOptions(config),
    data,
    made: threads,
    logger,
  })
  undo.defer(() => pool.close())
  const taken = [...toolset.tools, ...(embedded?.tools ?? [])].map(({ name }) => name)
  const external = await externalToolsOf(config, embedded, taken, logger)
  undo.defer(() => external.close())
  const offer = (): void => pool.offer(external.tools)
  const offered = external.onChange(offer)
  offer()
  const health = whileHealthy(nc, { silentMs: () => (nc.isClosed() ? Infinity : journal.silentMs), silentMsMax: silentMsMax(config), logger })
  undo.defer(async () => health.close())
  const findWorkflow = (name: string): Workflow | null => {
    const workflow = workflows.find(name)
    return workflow === null ? null : { ...workflow, plan: (args, options) => workflow.plan(args, { limits: workflowLimits, ...options }) }
  }
  /** A hint: one that cannot be sent is left out, and ends nothing. */
  const publish = (log: LogId, delta: LiveDelta): void => {
    try {
      nc.publish(subjects.live(log), JSON.stringify(delta))
    } catch {
      // The connection is closed, or the server holds less in a message than others do.
    }
  }
  const sessions = natsSessionSearch(nc, subjects)
  const ports = { journal, blobs, clock, ids, logger, source, findWorkflow, memory, sessions, external, failurePolicies, live: publish }
  const daemon = startDaemon({
    ...ports,
    queue,
    pool,
    daemonId,
    tasksMax: config.daemon.tasks_max,
    leaseMs: config.daemon.lease_ms,
    limits: {
      toolIterationsMax: config.agent.tool_iterations_max,
      nodeToolIterationsMax: config.agent.node_tool_iterations_max,
      concurrentNodesMax: config.team.concurrent_nodes_max,
      teamRunsMax: config.team.runs_max,
      graphMax: { agents: config.team.agents_max, edges: config.team.edges_max },
      teamDeadlineMs: config.team.deadline_ms || null,
      nodeDeadlineMs: config.team.node_deadline_ms || null,
      ownersLostMax: config.daemon.owners_lost_max,
      unattended: config.permissions.unattended,
      approvalWaitMsMax: config.permissions.wait_ms_max,
    },
    onEnded(log, end) {
      endings.ended(log, endOf(end))
      if (!nc.isClosed()) nc.publish(subjects.ended(log))
    },
    handOn: (owner, delivery) => commands.handOn(owner, delivery),
    healthy: () => health.healthy(),
  })
  drives = (key) => daemon.tasks.has(key)
  const endings = watchEndings(nc, subjects, {
    held: (log) => daemon.tasks.has(logKey(log)),
    logger,
    async read(log) {
      const last = await journal.last(log)
      if (last === null || !isTerminalTaskEvent(eventTypeOf(newestRecord(last)) ?? '')) return null
      return (await loadTask(log, ports)).state.ended
    },
  })

  const intake = {
    ...ports,
    tenant: config.tenant,
    workspaceDefault: config.workspace,
    folders: workspaceFolders(clock),
    skillNames: skills.map((skill) => skill.name),
    profileNames: [...toolset.profiles.keys()],
    workflowNames: workflows.names,
    resolveArguments: workflows.resolve,
    open: daemon.open,
    enqueue: daemon.enqueue,
  }
  const serveRequest = serveRequests(health.serving, subjects)
  const submit = serveRequest('task.submit', (task) => submitTask(task, intake))
  /** Submit and wait: answered with the result when the task has ended. */
  const runTask = serveRequest(
    'task.run',
    async (task) => {
      const submitted = await submitTask(task, intake)
      const log = { tenant: config.tenant, session: submitted.session_id, task: submitted.task_id } as LogId
      const { type, data } = await endings.wait(log)
      return { ...submitted, status: endedAs[type], ...data }
    },
    { openMax: runsMax },
  )
  const retry = serveRequest('task.retry', (asked) => retryTask(asked, intake))
  const commands = serveTaskCommands({
    nc,
    subjects,
    tenant: config.tenant,
    daemonId,
    ports,
    serveRequest,
    wake: (log) => queue.wake(log),
    held: (log) => daemon.tasks.get(logKey(log)),
    takeOver: (delivery) => daemon.takeOver(queue.adopt(delivery)),
  })
  const status = serveRequest('status', async () => ({
    daemon: daemonId,
    provider: model.choice.provider,
    model: model.choice.model,
    tasks: daemon.tasks.size,
    skills: skills.map(({ name, description }) => ({ name, description })),
    profiles: intake.profileNames,
    workflows: [...workflows.names],
  }))

  const presence = peers.watch(
    daemonId,
    (gone) => void sweep.now(gone),
    () => ({ tasks: daemon.tasks.size, journal_silent_ms: Math.round(journal.silentMs) }),
  )

  // Ready means that a request is answered: the server has to know of the subscriptions first.
  await nc.flush()
  undo.move()
  return {
    info: { daemon: daemonId, provider: model.choice.provider, model: model.choice.model, skills: skills.map((skill) => skill.name) },
    failed: Promise.race([pool.failed, model.failed, closedWithError(nc.closed())]),
    async stop() {
      presence.leave()
      await Promise.all([submit.stop(), runTask.stop(), retry.stop(), commands.stop(), status.stop(), sweep.stop()])
      await daemon.drain(config.daemon.drain_ms)
      await commands.close()
      offered()
      await external.close()
      endings.close()
      await journal.settled()
      journal.close()
      health.close()
      await pool.close()
      await model.close()
      await memory.close()
      await Promise.race([nc.drain(), new Promise((resolve) => setTimeout(resolve, stopMsMax).unref())])
    },
  }
}

/** How long the journal may be silent before the daemon takes no more requests: less than a lease. */
const silentMsMax = ({ daemon }: Config): number => Math.min(2_000, daemon.lease_ms / 2)

function tellDiagnostic(logger: Logger, { file, severity, message }: LoadDiagnostic): void {
  systemFacts.configurationDiagnostic(logger, { file, severity: severity === 'error' ? 'error' : 'warning', message })
}

async function closedWithError(closed: Promise<unknown>): Promise<never> {
  const error = await closed
  if (error instanceof Error) throw error
  return new Promise(() => {}) // closed by us
}
