// The supervisor daemon: connects the runtime with NATS, the model and the skills, and answers the service requests.
import type { ExternalTools } from '@beaver/agent'
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
  ulidIds,
} from '@beaver/core'
import { connectNats, natsOpenTasks, natsPeers, type Subjects, subjectsOf, watchConnection } from '@beaver/nats'
import { type Config, configuredPolicies } from '@beaver/platform'
import { type IntakePorts, loadTask, startDaemon, startSweep, startWorkerPool, workspaceFolders } from '@beaver/runtime'
import type { NatsConnection } from '@nats-io/nats-core'
import { type Agents, loadAgents } from './agents.ts'
import { type daemonThreads, threadOptions } from './daemon-threads.ts'
import { endOf, watchEndings } from './endings.ts'
import { externalToolsOf } from './external-tools-of.ts'
import { serveIntake } from './intake-requests.ts'
import { chooseModel, type ModelChoice } from './model.ts'
import { serveRequests } from './serve-requests.ts'
import { openStores, type Stores } from './stores.ts'
import { serveTaskCommands } from './task-commands.ts'
import { taskLimits } from './task-limits.ts'
import { whileHealthy } from './while-healthy.ts'
import type { WorkerData } from './worker.ts'

export interface Supervisor {
  readonly info: { readonly daemon: string; readonly model: string; readonly provider: string; readonly skills: readonly string[] }
  /** Rejects if the daemon cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

const stopMsMax = 2_000

/** The parts that a daemon gets besides the configuration. */
export interface SupervisorParts {
  /** The tools of the program that embeds the daemon. */
  readonly external?: ExternalTools | null
  /** Default: silent. */
  readonly logger?: Logger
  /** Worker threads that exist already. They end with the daemon, even if the daemon does not start. */
  readonly threads?: ReturnType<typeof daemonThreads>
}

export async function startSupervisor(
  config: Config,
  natsUrl: string,
  { external: embedded = null, logger = silentLogger, threads }: SupervisorParts = {},
): Promise<Supervisor> {
  const ids = ulidIds()
  const daemonId = ids.next('daemon')
  const subjects = subjectsOf(config.namespace)
  const agents = await loadAgents(config, embedded, logger)
  // A start that fails must leave nothing behind: in a program that embeds the daemon, no process ends with the start.
  await using undo = new AsyncDisposableStack()
  undo.defer(() => threads?.destroy())
  const nc = await connectNats({ url: natsUrl, name: `beaver-supervisor ${daemonId}` })
  undo.defer(() => nc.close())
  watchConnection(nc, logger, subjects.stream)
  const model = await chooseModel(config, { logger })
  undo.defer(() => model.close())
  const stores = await openStores(nc, subjects, config, undo)
  const { journal, memory, queue } = stores
  const clock = steadyClock
  // The sweep starts before the threads, so that the tasks of a dead daemon are woken while the threads start.
  let drives = (_key: string): boolean => false
  const peers = natsPeers(nc, subjects, logger)
  const { tenant } = config
  const sweep = startSweep({ openTasks: natsOpenTasks(nc, subjects), peers, queue, clock, logger, tenant, daemonId, drives: (key) => drives(key) })
  undo.defer(() => sweep.stop())
  const failurePolicies = configuredPolicies(config)
  const pool = await startWorkerPool({ ...threadOptions(config), data: workerData(config, agents, model.choice), made: threads, logger })
  undo.defer(() => pool.close())
  const external = await externalToolsOf(config, embedded, agents.toolNames, logger)
  undo.defer(() => external.close())
  const offer = (): void => pool.offer(external.tools)
  const offered = external.onChange(offer)
  offer()
  const health = whileHealthy(nc, { silentMs: () => (nc.isClosed() ? Infinity : journal.silentMs), silentMsMax: silentMsMax(config), logger })
  undo.defer(async () => health.close())
  const { findWorkflow, skills, workflows, profileNames } = agents
  const live = livePublisher(nc, subjects)
  const ports = { ...stores, clock, ids, logger, source: `/beaver/daemons/${daemonId}`, findWorkflow, external, failurePolicies, live }
  const daemon = startDaemon({
    ...ports,
    pool,
    daemonId,
    tasksMax: config.daemon.tasks_max,
    leaseMs: config.daemon.lease_ms,
    limits: taskLimits(config),
    onEnded(log, end) {
      endings.ended(log, endOf(end))
      if (!nc.isClosed()) nc.publish(subjects.ended(log))
    },
    handOn: (owner, delivery) => commands.handOn(owner, delivery),
    healthy: () => health.healthy(),
  })
  const held = (log: LogId): boolean => daemon.tasks.has(logKey(log))
  drives = (key) => daemon.tasks.has(key)
  const endings = watchEndings(nc, subjects, { held, logger, read: (log) => endInJournal(log, ports) })
  const intake: IntakePorts = {
    ...ports,
    tenant,
    workspaceDefault: config.workspace,
    folders: workspaceFolders(clock),
    skillNames: skills.map((skill) => skill.name),
    profileNames: [...profileNames],
    workflowNames: workflows.names,
    resolveArguments: workflows.resolve,
    open: daemon.open,
    enqueue: daemon.enqueue,
  }
  const { provider, model: modelName } = model.choice
  const serveRequest = serveRequests(health.serving, subjects)
  const requests = serveIntake({
    serveRequest,
    intake,
    endings,
    status: () => ({
      daemon: daemonId,
      provider,
      model: modelName,
      tasks: daemon.tasks.size,
      skills: skills.map(({ name, description }) => ({ name, description })),
      profiles: [...profileNames],
      workflows: [...workflows.names],
    }),
  })
  const commands = serveTaskCommands({
    nc,
    subjects,
    tenant,
    daemonId,
    ports,
    serveRequest,
    wake: (log) => queue.wake(log),
    held: (log) => daemon.tasks.get(logKey(log)),
    takeOver: (delivery) => daemon.takeOver(queue.adopt(delivery)),
  })
  const presence = peers.watch(
    daemonId,
    (gone) => void sweep.now(gone),
    () => ({ tasks: daemon.tasks.size, journal_silent_ms: Math.round(journal.silentMs) }),
  )

  // A daemon that is ready answers requests, so the server has to know the subscriptions first.
  await nc.flush()
  undo.move()
  return {
    info: { daemon: daemonId, provider, model: modelName, skills: intake.skillNames },
    failed: Promise.race([pool.failed, model.failed, closedWithError(nc.closed())]),
    async stop() {
      presence.leave()
      await Promise.all([requests.stop(), commands.stop(), sweep.stop()])
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

/** The data that every worker thread gets when it starts. */
const workerData = (config: Config, agents: Agents, model: ModelChoice): WorkerData => ({
  model,
  failurePolicies: configuredPolicies(config),
  skillFolders: agents.skillFolders,
  toolset: agents.places,
  toolTimeoutMs: config.agent.tool_timeout_ms,
  workflowLimits: agents.workflowLimits,
  permissions: config.permissions.rules,
  skillSelection: config.agent.skill_selection,
})

/** How a task ended, read from its log, or `null` if it has not ended. */
async function endInJournal(log: LogId, ports: Pick<Stores, 'journal' | 'blobs'>) {
  const last = await ports.journal.last(log)
  if (last === null || !isTerminalTaskEvent(eventTypeOf(newestRecord(last)) ?? '')) return null
  return (await loadTask(log, ports)).state.ended
}

/** Publishes the live output of a model. It is only a hint: if it cannot be sent, it is left out, and no work fails. */
function livePublisher(nc: NatsConnection, subjects: Subjects): (log: LogId, delta: LiveDelta) => void {
  return (log, delta) => {
    try {
      nc.publish(subjects.live(log), JSON.stringify(delta))
    } catch {
      // The connection is closed, or the text is larger than this server's bound for a message.
    }
  }
}

/** If the journal is silent for longer than this, the daemon takes no more requests. It is less than a lease. */
const silentMsMax = ({ daemon }: Config): number => Math.min(2_000, daemon.lease_ms / 2)

async function closedWithError(closed: Promise<unknown>): Promise<never> {
  const error = await closed
  if (error instanceof Error) throw error
  return new Promise(() => {}) // This process closed the connection.
}
