// The daemon: connects the runtime with NATS, the model and the skills, and answers the service requests. A
// failed start leaves nothing behind, because a program that embeds the daemon goes on. A stop takes no more
// requests, hands the tasks over, and only then ends what the tasks use.
import {
  describedTool,
  externalTool,
  type ExternalTools,
  imagePartOf,
  permissionOf,
  type PermissionRule,
  rulesOf,
  readCallArguments,
  type Tool,
} from '@beaver/agent'
import type { RequestOutput, RequestRead } from '@beaver/contracts'
import {
  type BlobStore,
  guarded,
  isTerminalTaskEvent,
  type JsonObject,
  type LiveUpdate,
  type Logger,
  type DataOf,
  type LogId,
  logKey,
  type MemoryLimits,
  type MemorySnapshot,
  type MemoryStore,
  type MemoryTarget,
  silentLogger,
  systemClock,
  systemFacts,
} from '@beaver/core'
import { headBefore, LogReader, newestRecord } from '@beaver/core/journal'
import { type OutwardTrace, outwardTrace, type TraceContext } from '@beaver/core/trace'
import { closeGently, placedStreams, refusedOn, serve, type Subjects } from '@beaver/nats'
import { type Config, configuredAlertWebhook, configuredPolicies } from '@beaver/platform'
import {
  acceptanceLines,
  AccountBook,
  type ArgumentsJudge,
  type TaskDriver,
  type IntakePorts,
  isUnverified,
  loadTask,
  retryTask,
  startTaskDriver,
  submitTask,
  workspaceFolders,
} from '@beaver/runtime'
import type { Workflow } from '@beaver/workflows'
import type { NatsConnection } from '@nats-io/nats-core'
import { addWorkflow } from './add-workflow.ts'
import { actorsOf } from './actors.ts'
import type { Agents } from './agents.ts'
import { type DaemonBase, openBase } from './daemon-base.ts'
import type { DaemonMetrics } from './daemon-metrics.ts'
import type { DaemonStatus } from './daemon-status.ts'
import type { daemonThreads } from './daemon-threads.ts'
import { type DaemonWorkers, startWorkers, taskLimits } from './daemon-workers.ts'
import { type Endings, endOf, watchEndings } from './endings.ts'
import { endpointStates } from './endpoint-states.ts'
import { loadedOf, planOf } from './loaded.ts'
import type { OwnModels } from './own-models.ts'
import { type ServeRequest, serveRequests } from './serve-requests.ts'
import type { Stores } from './stores.ts'
import { serveTaskCommands, type TaskCommands } from './task-commands.ts'
import { whileHealthy, type WhileHealthy } from './while-healthy.ts'

export interface Daemon {
  readonly info: {
    readonly daemon: string
    readonly model: string
    readonly provider: string
    readonly skills: readonly string[]
  }
  /** Rejects if the daemon cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

/** The parts that a daemon gets besides the configuration. */
export interface DaemonParts {
  /** The tools of the program that embeds the daemon. */
  readonly external?: ExternalTools | null
  /** The models of the program that embeds the daemon. Default: none. */
  readonly models?: OwnModels
  /** Default: silent. */
  readonly logger?: Logger
  /** Worker threads that exist already. They end with the daemon, even if the daemon does not start. */
  readonly threads?: ReturnType<typeof daemonThreads>
}

export async function startDaemon(
  config: Config,
  natsUrl: string,
  { external: embedded = null, models = {}, logger = silentLogger, threads }: DaemonParts = {},
): Promise<Daemon> {
  await using undo = new AsyncDisposableStack()
  undo.defer(() => threads?.destroy())
  const base = await openBase(config, natsUrl, { embedded, models, logger }, undo)
  const workers = await startWorkers(base, { embedded, models, made: threads }, undo)
  const health = healthOf(base)
  undo.defer(async () => health.close())
  const status = await statusOf(base, workers, health)
  const supervisor = new RunningDaemon(base, workers, { health, status })
  // The server must know the subscriptions before the daemon is ready.
  await base.nc.flush()
  await supervisor.listen()
  undo.move()
  void tellPlace(base)
  return { info: supervisor.info, failed: supervisor.failed, stop: () => supervisor.stop() }
}

/** `null`: the configuration lets nobody ask. */
async function statusOf(
  base: DaemonBase,
  workers: DaemonWorkers,
  health: WhileHealthy,
): Promise<DaemonStatus | null> {
  if (base.config.status.listen === 'off') return null
  return (await import('./daemon-status.ts')).daemonStatus(base, workers, health)
}

/** Logs which servers of a cluster hold the journal, if that can be found out. */
async function tellPlace({ nc, subjects, logger }: DaemonBase): Promise<void> {
  const [journal] = await placedStreams(nc, subjects, ['journal']).catch(() => [])
  if (journal === undefined || journal.cluster === null) return
  const servers = [journal.leader, ...journal.followers.map(({ server }) => server)].filter(
    (server) => server !== null,
  )
  systemFacts.journalPlaced(logger, { stream: journal.name, servers })
}

class RunningDaemon implements Daemon {
  readonly info: Daemon['info']
  readonly failed: Promise<unknown>
  readonly #startedAt: string
  readonly #base: DaemonBase
  readonly #workers: DaemonWorkers
  readonly #health: WhileHealthy
  readonly #status: DaemonStatus | null
  readonly #ports: DaemonPorts
  readonly #daemon: TaskDriver
  readonly #endings: Endings
  readonly #requests: ReturnType<typeof serveIntake>
  readonly #actors: { stop(): Promise<void> }
  readonly #commands: TaskCommands
  readonly #presence: { leave(): void }
  #listener: Awaited<ReturnType<DaemonStatus['listen']>> = null

  constructor(
    base: DaemonBase,
    workers: DaemonWorkers,
    { health, status }: { readonly health: WhileHealthy; readonly status: DaemonStatus | null },
  ) {
    const { agents, daemonId, nc, model, stores } = base
    this.#startedAt = new Date(systemClock.now()).toISOString()
    this.#base = base
    this.#workers = workers
    this.#health = health
    this.#status = status
    this.#ports = portsOf(base, workers, status?.counted ?? null)
    this.#daemon = this.#drive()
    this.#endings = this.#watchEndings()
    this.#requests = this.#serveIntake()
    this.#actors = this.#serveActors()
    this.#commands = this.#serveCommands()
    this.#presence = base.peers.watch(
      daemonId,
      (gone) => void base.sweep.now(gone),
      () => ({
        tasks: this.#daemon.tasks.size,
        refused: this.#daemon.refused() + refusedOn(nc),
        journal_silent_ms: Math.round(stores.journal.silentMs),
        ...(stores.watch.harm === null ? {} : { journal_changed: stores.watch.harm.message }),
      }),
    )
    const { provider, model: modelName } = model.choice
    this.info = {
      daemon: daemonId,
      provider,
      model: modelName,
      skills: agents.skills.map(({ name }) => name),
    }
    this.failed = Promise.race([
      workers.pool.failed,
      model.failed,
      stores.keys.failed,
      closedWithError(nc.closed()),
    ])
    this.failed.catch(() => {}) // The caller of a start that fails does not get it.
  }

  /** Lets others ask how the daemon is, if the configuration says so. */
  async listen(): Promise<void> {
    this.#listener = (await this.#status?.listen(() => this.#daemon.tasks.size)) ?? null
  }

  async stop(): Promise<void> {
    const { config, model, nc, stores, sweep } = this.#base
    this.#presence.leave()
    this.#base.agents.close()
    await Promise.all([this.#requests.stop(), this.#actors.stop(), this.#commands.stop(), sweep.stop()])
    await this.#daemon.drain(config.daemon.drain_ms)
    // What ends while it drains is counted, too.
    await this.#listener?.stop()
    await this.#commands.close()
    await this.#workers.withdraw()
    this.#endings.close()
    this.#ports.book?.close()
    this.#ports.alerts.close()
    await stores.journal.settled()
    stores.journal.close()
    stores.keys.close()
    await stores.watch.close()
    this.#health.close()
    await this.#workers.pool.close()
    await model.close()
    await stores.memory.close()
    this.#base.forgetSecrets()
    await closeGently(nc)
  }

  #drive(): TaskDriver {
    const { config, daemonId, nc, subjects } = this.#base
    return startTaskDriver({
      ...this.#ports,
      pool: this.#workers.pool,
      tasks: this.#base.tasks,
      daemonId,
      tasksMax: config.daemon.tasks_max,
      leaseMs: config.daemon.lease_ms,
      limits: taskLimits(config),
      onEnded: (log, end, acceptedAt) => {
        if (end !== null) this.#status?.counted.ended(end, acceptedAt, systemClock.now())
        this.#endings.ended(log, endOf(end))
        if (!nc.isClosed()) nc.publish(subjects.ended(log))
      },
      onQuarantined: (log, error) => this.#endings.gaveUp(log, error),
      handOn: (owner, delivery) => this.#commands.handOn(owner, delivery),
      healthy: () => this.#health.healthy() && this.#base.stores.watch.harm === null,
    })
  }

  #watchEndings(): Endings {
    const { nc, subjects, logger } = this.#base
    const held = (log: LogId): boolean => this.#daemon.tasks.has(logKey(log))
    return watchEndings(nc, subjects, {
      held,
      logger,
      isFinal: isUnverified,
      read: (log) => endInJournal(log, this.#ports),
    })
  }

  #serveIntake(): ReturnType<typeof serveIntake> {
    const { agents, clock, config, daemonId, logger, model, stores, subjects } = this.#base
    const { skillsIn } = agents
    const intake: IntakePorts = {
      ...this.#ports,
      tenant: config.tenant,
      workspaceDefault: config.workspace,
      folders: workspaceFolders(clock, config.workspaceRoots),
      lines: acceptanceLines(clock),
      get skillNames() {
        return agents.skillNames
      },
      get profileNames() {
        return agents.profileNames
      },
      modelNames: ['main', ...Object.keys(model.choice.models ?? {})],
      get workflowNames() {
        return agents.workflows.names
      },
      brokenFile: (name) => agents.brokenFile(name),
      resolveArguments: (workflow, args) => agents.workflows.resolve(workflow, args),
      tools: evidenceTools(agents),
      refresh: (how) => agents.refresh(how),
      ...(skillsIn === null ? {} : { skillsIn }),
      open: this.#daemon.open,
      enqueue: this.#daemon.enqueue,
    }
    return serveIntake({
      daemonId,
      serveRequest: serveRequests(this.#health.serving, subjects, () => stores.watch.gate()),
      intake,
      endings: this.#endings,
      memory: {
        store: stores.memory,
        limits: { memory: config.memory.memory_chars_max, user: config.memory.user_chars_max },
      },
      loaded: (asked) => this.#loaded(asked),
      plan: (asked) => planOf({ agents, config }, asked),
      addWorkflow: (asked, by) =>
        addWorkflow({ daemonId, agents, external: this.#ports.external.tools, logger }, asked, by),
      status: async ({ endpoints }) => ({
        daemon: daemonId,
        provider: model.choice.provider,
        model: model.choice.model,
        tasks: this.#daemon.tasks.size,
        ...(endpoints === undefined
          ? {}
          : { endpoints: await endpointStates(model.choice, { ask: endpoints === 'asked' }) }),
        skills: agents.skills.map(({ name, description }) => ({ name, description })),
        profiles: [...agents.profileNames],
        workflows: [...agents.workflows.names],
        workflow_texts: workflowTexts(agents.workflows.names, (name) => agents.findWorkflow(name)),
        ...changesNotUsed(agents),
      }),
    })
  }

  async #loaded(asked: RequestRead<'loaded'>): Promise<RequestOutput<'loaded'>> {
    const { agents, config, daemonId } = this.#base
    const { external } = this.#ports
    const servers = await mcpServersOf(config)
    const texts = workflowTexts(agents.workflows.names, (name) => agents.findWorkflow(name))
    return loadedOf({ daemonId, agents, config, external: external.tools, servers, texts }, asked)
  }

  /** Also while the journal does not answer: nothing of it is read, and a person then wants to know. */
  #serveActors(): { stop(): Promise<void> } {
    const { config, daemonId, nc, subjects } = this.#base
    const serving = (...of: Parameters<WhileHealthy['serving']>) => serve(nc, ...of)
    return serveRequests(serving, subjects, () => null)(
      'actors',
      ({ tasks }) =>
        actorsOf({
          isShort: tasks === 'none',
          startedAt: this.#startedAt,
          daemonId,
          config: config.daemon,
          failurePolicies: this.#ports.failurePolicies,
          tasks: this.#daemon.tasks.values(),
          pool: this.#workers.pool,
        }),
      { daemon: daemonId, openMax: actorsOpenMax },
    )
  }

  #serveCommands(): TaskCommands {
    const { config, daemonId, nc, stores, subjects } = this.#base
    const { queue } = stores
    return serveTaskCommands({
      nc,
      subjects,
      tenant: config.tenant,
      daemonId,
      ports: this.#ports,
      shared: { budgets: config.budgets, book: this.#ports.book, now: () => stores.journal.now() },
      serveRequest: serveRequests(this.#health.serving, subjects, () => stores.watch.gate()),
      wake: (log) => queue.wake(log),
      driver: (log) => this.#daemon.driver(log),
      takeOver: (delivery) => this.#daemon.takeOver(queue.adopt(delivery)),
    })
  }
}

/** What this daemon reports of its MCP servers. Empty: it has none, or its report is not there. */
async function mcpServersOf({ mcp, home }: Config): Promise<Parameters<typeof loadedOf>[0]['servers']> {
  if (Object.keys(mcp).length === 0) return []
  const { mcpReportFile, readMcpReport } = await import('@beaver/mcp')
  const report = readMcpReport(mcpReportFile(home))
  return report?.pid === process.pid ? report.servers : []
}

/** Includes workflows: a root calls them, and a check may name these calls. */
function evidenceTools({
  tools,
  toolNames,
  workflows,
}: DaemonBase['agents']): NonNullable<IntakePorts['tools']> {
  const { known, ofProfile } = tools
  return {
    known: {
      names: [...toolNames, ...workflows.names],
      has: (name) => known.has(name) || workflows.names.includes(name),
    },
    ofProfile,
  }
}

const changesMax = 20

function changesNotUsed({
  changesNotUsed: all,
}: DaemonBase['agents']): Pick<RequestOutput<'status'>, 'changes_not_used'> {
  return all.length === 0
    ? {}
    : { changes_not_used: all.slice(0, changesMax).map(({ file, message }) => ({ file, message })) }
}

/** The projector makes the same ids, because the name of the journal and the ratio are the same there. */
function tracesTold(
  { traces }: Config,
  { stream: namespace }: Subjects,
): (log: LogId, submitted: TraceContext | null) => OutwardTrace | null {
  const spans = traces === null ? null : { namespace, ratio: traces.ratio }
  return (log, submitted) => outwardTrace(log, submitted, spans)
}

type DaemonPorts = ReturnType<typeof portsOf>

/** The ports of the runtime, for driving as well as for accepting tasks. */
function portsOf(base: DaemonBase, { external }: DaemonWorkers, counted: DaemonMetrics | null) {
  const { agents, budgets, clock, config, daemonId, ids, logger, nc, stores, subjects } = base
  const findWorkflow = (name: string): Workflow | null => agents.findWorkflow(name)
  const failurePolicies = configuredPolicies(config)
  const live = livePublisher(nc, subjects)
  const alerts = configuredAlertWebhook(config, { clock, logger })
  return {
    ...stores,
    ...(counted === null
      ? {}
      : {
          journal: counted.watched(stores.journal),
          onAppended: guarded(logger, 'metrics', (...of: Parameters<DaemonMetrics['appended']>) =>
            counted.appended(...of),
          ),
          onTakenOver: () => counted.takenOver(),
        }),
    clock,
    ids,
    logger,
    source: `/beaver/daemons/${daemonId}`,
    findWorkflow,
    external,
    judgeArguments: argumentsJudge(agents, { external, rules: rulesOf(config.permissions) }),
    failurePolicies,
    budgets: {
      ...budgets,
      ofProfile: (name: string | null) => agents.budgetOf(name),
      profileDefault: () => agents.profileDefault,
    },
    alert: ({ tenant, session: session_id, task: task_id }: LogId, data: DataOf<'budget_reached'>) =>
      void alerts.send({
        id: ids.next('request'),
        ...{ kind: 'budget_reached', at: new Date(stores.journal.now()).toISOString() },
        ...{ tenant, session_id, task_id, ...data },
      }),
    alerts,
    book:
      stores.accounts === null
        ? null
        : new AccountBook({
            ...{ accounts: stores.accounts, clock },
            told: (error) => systemFacts.accountUnreadable(logger, { error, daemon: daemonId }),
          }),
    live,
    ...(config.propagatesTraces ? { traceOf: tracesTold(config, subjects) } : {}),
    ...(agents.skillsIn === null ? {} : { skillsIn: agents.skillsIn }),
  }
}

/**
 * The end of a task from its log, or `null` if it has not ended. @throws {BeaverError} if the log does not
 * verify
 */
async function endInJournal(log: LogId, ports: Pick<Stores, 'journal' | 'blobs'>) {
  const last = await ports.journal.last(log)
  if (last === null) return null
  if (newestRecord(last) !== null) {
    const events = await new LogReader(log, ports.blobs, {
      from: headBefore(last),
      judge: ports.journal,
    }).read(last)
    if (!isTerminalTaskEvent(events.at(-1)?.type ?? '')) return null
  }
  return (await loadTask(log, ports)).state.ended
}

/** Publishes live updates of a task. They are hints: one that cannot be sent is dropped. */
function livePublisher(nc: NatsConnection, subjects: Subjects): (log: LogId, update: LiveUpdate) => void {
  return (log, update) => {
    try {
      nc.publish(subjects.live(log), JSON.stringify(update))
    } catch {
      // The connection is closed, or the text is larger than this server's bound for a message.
    }
  }
}

/** After this silence of the journal, the daemon takes no more requests. It is shorter than a lease. */
const silentMsMax = ({ daemon }: Config): number => Math.min(2_000, daemon.lease_ms / 2)

function healthOf({ config, logger, nc, stores, subjects: { stream } }: DaemonBase): WhileHealthy {
  return whileHealthy(nc, {
    stream,
    silentMs: () => (nc.isClosed() ? Infinity : stores.journal.silentMs),
    silentMsMax: silentMsMax(config),
    logger,
  })
}

async function closedWithError(closed: Promise<unknown>): Promise<never> {
  const error = await closed
  if (error instanceof Error) throw error
  return new Promise(() => {}) // This process closed the connection.
}

// Workflows for chats, where a person gives a workflow one text and nothing else.

/**
 * For each workflow that can start with one text: the input for that text.
 *
 * @param find the workflow with a name
 */
export function workflowTexts(
  names: readonly string[],
  find: (name: string) => Pick<Workflow, 'parameters'> | null,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const input = textInput(find(name)?.parameters ?? {})
      return input === null ? [] : [[name, input]]
    }),
  )
}

/**
 * The only required input, or the only input if none is required. `null`: no input, or several, could take
 * the text.
 */
function textInput({ properties = {}, required = [] }: JsonObject): string | null {
  const all = Object.keys(properties as JsonObject)
  const needed = (required as readonly string[]).length === 0 ? all : (required as readonly string[])
  const [only = '', ...others] = needed
  const schema = (properties as Readonly<Record<string, JsonObject | undefined>>)[only]
  return others.length === 0 && schema?.['type'] === 'string' && schema['enum'] === undefined ? only : null
}

// Judges arguments that a person changed, before the decision is journaled: they must be a JSON object that
// fits the tool, and no rule may forbid the call. The loop judges them again when the call begins, so nothing
// depends on this daemon having the same tools.

export function argumentsJudge(
  agents: Pick<Agents, 'toolNamed'>,
  { external, rules }: { readonly external: ExternalTools; readonly rules: readonly PermissionRule[] },
): ArgumentsJudge {
  return async ({ name, arguments: text }) => {
    const args = readCallArguments(name, text)
    if (!args.ok) return args.message
    const own = agents.toolNamed(name)
    const offered = external.tools.find((tool) => tool.name === name)
    const tool: Tool | null = own ?? (offered === undefined ? null : externalTool(offered))
    if (tool === null) return null
    const fault = tool.inputFault?.(args.value) ?? null
    if (fault !== null) return fault
    const told =
      own === null && offered?.describes === true
        ? await external.describe?.({ name, callId: '', arguments: args.value as JsonObject })
        : undefined
    const refused = told?.inputFault ?? told?.refused?.message ?? null
    // Without its run, only the loop knows everything that a call may act on.
    if (refused !== null || (told?.unreadable ?? null) !== null) return refused
    const { decision, rule } = permissionOf(
      told === undefined ? tool : describedTool(tool, told),
      args.value,
      rules,
    )
    return decision === 'deny' ? `This rule forbids it: ${rule ?? name}` : null
  }
}

// Intake requests: tasks and parts of their images, the daemon's status, and the memory of agents.

/** The status that `task.run` gives for each end of a task. */
const endedAs = {
  task_completed: 'completed',
  task_incomplete: 'incomplete',
  task_failed: 'failed',
  task_cancelled: 'cancelled',
} as const
const runsMax = 10_000
/** How many requests for actors are answered at a time: each asks the worker threads. */
const actorsOpenMax = 16

interface IntakeRequestsOf {
  readonly daemonId: string
  readonly serveRequest: ServeRequest
  readonly intake: IntakePorts
  readonly endings: Pick<Endings, 'wait'>
  readonly status: (asked: RequestRead<'status'>) => Promise<RequestOutput<'status'>>
  readonly loaded: (asked: RequestRead<'loaded'>) => Promise<RequestOutput<'loaded'>>
  readonly plan: (asked: RequestRead<'plan'>) => RequestOutput<'plan'>
  readonly addWorkflow: (
    asked: RequestRead<'profile.add_workflow'>,
    by: string,
  ) => Promise<RequestOutput<'profile.add_workflow'>>
  readonly memory: { readonly store: Pick<MemoryStore, 'read'>; readonly limits: MemoryLimits }
}

/** Serves the requests until `stop`. */
function serveIntake(of: IntakeRequestsOf): { stop(): Promise<unknown> } {
  const { daemonId, serveRequest, intake, endings, status, loaded, plan, addWorkflow, memory } = of
  const served = [
    serveRequest('task.submit', (task, caller) => submitTask(task, intake, caller)),
    serveRequest(
      'task.run',
      async (task, caller) => {
        const submitted = await submitTask(task, intake, caller)
        const log = { tenant: intake.tenant, session: submitted.session_id, task: submitted.task_id } as LogId
        const { type, data } = await endings.wait(log)
        return { ...submitted, status: endedAs[type], ...data }
      },
      { openMax: runsMax },
    ),
    serveRequest('task.retry', (asked, caller) => retryTask(asked, intake, caller)),
    serveRequest('image.store', ({ data }) => storedPart(data, intake.blobs)),
    serveRequest('memory', async ({ user_id: user = null }) =>
      memoryReport(await memory.store.read({ tenant: intake.tenant, user }), memory.limits),
    ),
    serveRequest('status', status, { daemon: daemonId }),
    serveRequest('loaded', loaded),
    serveRequest('plan', async (asked) => plan(asked)),
    serveRequest('profile.add_workflow', (asked, { by }) => addWorkflow(asked, asked.user_id ?? by)),
  ]
  return { stop: () => Promise.all(served.map((each) => each.stop())) }
}

async function storedPart(
  data: string,
  blobs: Pick<BlobStore, 'put'>,
): Promise<RequestOutput<'image.store'>> {
  const { sha256, content } = imagePartOf(data)
  await blobs.put(sha256, content)
  return { sha256 }
}

function memoryReport(snapshot: MemorySnapshot, limits: MemoryLimits): RequestOutput<'memory'> {
  const list = (target: MemoryTarget) => ({
    entries: [...snapshot[target]],
    chars: snapshot[target].reduce((sum, entry) => sum + entry.length, 0),
    chars_max: limits[target],
  })
  return { memory: list('memory'), user: list('user') }
}
