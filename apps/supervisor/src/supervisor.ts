// The supervisor daemon: wires the runtime to NATS, the model and the skills, and answers the service requests.
import {
  builtinToolOptions,
  type ExternalTools,
  type LoadDiagnostic,
  loadSkills,
  loadToolset,
  skillPlaces,
  taskWorkflows,
  type ToolsetPlaces,
} from '@beaver/agent'
import type { Config } from '@beaver/config'
import { type DomainEvent, type LiveDelta, type LogId, logKey, systemClock, ulidIds } from '@beaver/core'
import {
  connectNats,
  findTask,
  natsBlobStore,
  natsJournal,
  natsMemoryStore,
  natsSessionSearch,
  natsTaskQueue,
  parseRequest,
  serve,
  subjectsOf,
} from '@beaver/nats'
import { acceptedTasks, loadTask, startDaemon, startWorkerPool, submitRequest, submitTask, workspaceFolders } from '@beaver/runtime'
import type { Workflow } from '@beaver/workflows'
import type { Subscription } from '@nats-io/nats-core'
import { externalToolsOf } from './external-tools-of.ts'
import { watchEndings } from './endings.ts'
import { chooseModel } from './model.ts'
import { serveTaskCommands } from './task-commands.ts'
import type { WorkerData } from './worker.ts'

export interface Supervisor {
  readonly info: { readonly daemon: string; readonly model: string; readonly provider: string; readonly skills: readonly string[] }
  /** Rejects when the daemon cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

const stopMsMax = 2_000
const runsMax = 10_000

/** What a program that embeds the daemon gives it besides the configuration. */
export interface SupervisorParts {
  /** Tools of the program's own process. */
  readonly external?: ExternalTools | null
}

export async function startSupervisor(config: Config, natsUrl: string, { external: embedded = null }: SupervisorParts = {}): Promise<Supervisor> {
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
  const nc = await connectNats({ url: natsUrl, name: `beaver-supervisor ${daemonId}` })
  undo.defer(() => nc.close())
  const model = await chooseModel(config)
  undo.defer(() => model.close())
  const skillFolders = skillPlaces({ configured: config.skills, workspace: config.workspace }).map(({ folder }) => folder)
  const { skills, diagnostics } = await loadSkills(skillFolders)
  tellDiagnostics([...diagnostics, ...toolset.diagnostics])
  const journal = await natsJournal(nc, subjects)
  const blobs = await natsBlobStore(nc, subjects)
  const memory = await natsMemoryStore(nc, subjects, { memory: config.memory.memory_chars_max, user: config.memory.user_chars_max })
  undo.defer(() => memory.close())
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: config.daemon.lease_ms })
  const workflowLimits = { agentsMax: config.team.agents_max, edgesMax: config.team.edges_max }
  const data: WorkerData = {
    model: model.choice,
    skillFolders,
    toolset: places,
    toolTimeoutMs: config.agent.tool_timeout_ms,
    workflowLimits,
    permissions: config.permissions.rules,
    skillSelection: config.agent.skill_selection,
  }
  const pool = await startWorkerPool({
    filename: new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url).href,
    threads: config.daemon.worker_threads,
    heapMbMax: config.daemon.worker_heap_mb_max,
    data,
  })
  undo.defer(() => pool.close())
  const taken = [...toolset.tools, ...(embedded?.tools ?? [])].map(({ name }) => name)
  const external = await externalToolsOf(config, embedded, taken)
  undo.defer(() => external.close())
  const offer = (): void => pool.offer(external.tools)
  const offered = external.onChange(offer)
  offer()
  const accepted = acceptedTasks()
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
  const ports = { accepted, journal, blobs, clock: systemClock, ids, source, findWorkflow, memory, sessions, external, live: publish }
  let idle: Subscription | null = null
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
      endings.ended(log, end)
      daemon.sessionIdle(log.tenant, log.session)
      nc.publish(subjects.sessionIdle(log.tenant, log.session), JSON.stringify(log))
    },
    handOn: (owner, delivery) => commands.handOn(owner, delivery),
    onParked(parked) {
      if (parked)
        idle ??= nc.subscribe(subjects.anySessionIdle, {
          callback: (_, message) => daemon.sessionIdle(message.json<LogId>().tenant, message.json<LogId>().session),
        })
      else if (idle !== null) {
        idle.unsubscribe()
        idle = null
      }
    },
  })
  const endings = watchEndings(nc, subjects, {
    held: (log) => daemon.tasks.has(logKey(log)),
    read: async (log) => (await loadTask(log, ports)).state.ended as DomainEvent | null,
  })

  const intake = {
    ...ports,
    tenant: config.tenant,
    workspaceDefault: config.workspace,
    folders: workspaceFolders(systemClock),
    skillNames: skills.map((skill) => skill.name),
    profileNames: [...toolset.profiles.keys()],
    workflowNames: workflows.names,
    resolveArguments: workflows.resolve,
    findTask: (tenant: string, task: string) => findTask(nc, subjects, tenant, task),
    open: daemon.open,
  }
  const submit = serve(nc, subjects.service('task.submit'), (request) => submitTask(parseRequest(submitRequest, request, 'task'), intake))
  /** Submit and wait: answered with the result when the task has ended. */
  const runTask = serve(
    nc,
    subjects.service('task.run'),
    async (request) => {
      const submitted = await submitTask(parseRequest(submitRequest, request, 'task'), intake)
      const log = { tenant: config.tenant, session: submitted.session_id, task: submitted.task_id } as LogId
      const { type, data } = await endings.wait(log)
      return { ...submitted, status: type.slice('task_'.length), ...data }
    },
    { openMax: runsMax },
  )
  const commands = serveTaskCommands({
    nc,
    subjects,
    tenant: config.tenant,
    daemonId,
    ports,
    held: (log) => daemon.tasks.get(logKey(log)),
    takeOver: (delivery) => daemon.takeOver(queue.adopt(delivery)),
  })
  const status = serve(nc, subjects.service('status'), async () => ({
    daemon: daemonId,
    provider: model.choice.provider,
    model: model.choice.model,
    tasks: daemon.tasks.size,
    skills: skills.map(({ name, description }) => ({ name, description })),
    profiles: intake.profileNames,
    workflows: workflows.names,
  }))

  // Ready means that a request is answered: the server has to know of the subscriptions first.
  await nc.flush()
  undo.move()
  return {
    info: { daemon: daemonId, provider: model.choice.provider, model: model.choice.model, skills: skills.map((skill) => skill.name) },
    failed: Promise.race([pool.failed, closedWithError(nc.closed())]),
    async stop() {
      await Promise.all([submit.stop(), runTask.stop(), commands.stop(), status.stop()])
      await daemon.drain(config.daemon.drain_ms)
      await commands.close()
      offered()
      await external.close()
      endings.close()
      idle?.unsubscribe()
      await journal.settled()
      await pool.close()
      await model.close()
      await memory.close()
      await Promise.race([nc.drain(), new Promise((resolve) => setTimeout(resolve, stopMsMax).unref())])
    },
  }
}

/** On stderr, which is the daemon's log. */
function tellDiagnostics(diagnostics: readonly LoadDiagnostic[]): void {
  for (const { file, severity, message } of diagnostics) process.emitWarning(`${severity}: ${file}: ${message}`, 'BeaverConfiguration')
}

async function closedWithError(closed: Promise<unknown>): Promise<never> {
  const error = await closed
  if (error instanceof Error) throw error
  return new Promise(() => {}) // closed by us
}
