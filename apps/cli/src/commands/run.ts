// `beaver run`: submits a task, follows it, and prints its report. The input is checked before anything
// starts. With --up, the command starts the system if none runs here, and stops that system before it ends,
// whatever happens. Ctrl-C cancels the task if this command started the system. Otherwise the task continues,
// and the command says how to follow it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SubmitTask, SubmittedTask } from '@beaver/client'
import { BeaverError, type LiveUpdate, ulidIds } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { outageClasses } from '@beaver/core/supervision'
import { roleLogin } from '@beaver/nats'
import { type Config, HomeInUse } from '@beaver/platform'
import { commandName } from '../command-name.ts'
import { connect, type Connection } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions, workingContextOf } from '../context.ts'
import { checkLoaded, faultLines } from '../doctor/check-loaded.ts'
import { checkModels } from '../doctor/check-model.ts'
import type { Finding } from '../doctor/check.ts'
import { daemonEndpoints } from '../doctor/model-findings.ts'
import { type ApprovalQuestions, askApprovals } from '../follow/ask-approvals.ts'
import { followTask } from '../follow/follow-task.ts'
import {
  exitOf,
  type JsonLines,
  mustFollowAs,
  type Presentation,
  presentTask,
  printEnd,
  taskLines,
} from '../follow/present-task.ts'
import { type Interrupts, interruptText, listenForInterrupts } from '../interrupts.ts'
import { modelInUse } from '../model.ts'
import {
  findSystem,
  type FoundSystem,
  hasEnded,
  inRole,
  loginAt,
  lookForSystem,
} from '../system/find-system.ts'
import { startSystem, type System, type SystemStatus } from '../system/start-system.ts'
import { duration } from '../text/figures.ts'
import { wrappedFor } from '../text/wrap-screen.ts'
import { giveMore } from './budget.ts'
import { readTask, submitTask, type TaskOptions } from './task-input.ts'

interface RunOptions extends TaskOptions {
  readonly up?: true
  readonly quiet?: true
  readonly json?: true
  /** With `json`: print pieces of the models' answers, too. */
  readonly deltas?: true
  /** `false`: nobody can answer questions, so calls that need an approval are refused. */
  readonly input?: boolean
  /** Whether to check that the model's endpoint answers before anything starts. */
  readonly checkModel?: true
}

/** The options for following the task. */
export type FollowOptions = Pick<RunOptions, 'up' | 'quiet' | 'json' | 'deltas' | 'input' | 'checkModel'>

const cancelMsMax = 8_000
/** How long to wait for the daemon's status, in milliseconds. The daemon itself waits 3 s for an endpoint. */
const lookMsMax = 5_000
const ids = ulidIds()

export async function run(
  task: string | undefined,
  options: RunOptions,
  globals: GlobalOptions,
): Promise<number> {
  return runRequest(await readTask(task, options), options, globals)
}

/** Runs a request that was already checked. With `--json`, it prints `lines`. */
export async function runRequest(
  request: SubmitTask,
  options: FollowOptions,
  globals: GlobalOptions,
  lines: JsonLines = taskLines,
): Promise<number> {
  mustFollowAs(options)
  const context =
    options.up === true
      ? await workingContextOf(globals, { ask: options.json !== true && options.input !== false })
      : contextOf(globals)
  if (options.checkModel === true) await mustAnswer(context.config)
  using interrupts = listenForInterrupts()
  let system: BorrowedSystem | null = null
  interrupts.forced.addEventListener('abort', () => {
    system?.own?.kill()
    process.exit(interrupts.exitCode)
  })
  const trouble: Trouble = { tell: (text) => context.screen.warn(text) }
  system = await reach(context, options, { interrupts, trouble })
  if (system === null) return interrupts.exitCode
  try {
    const named =
      request.task_id === undefined
        ? { ...request, task_id: ids.next('task'), fresh: 'task' as const }
        : { ...request, task_id: request.task_id }
    const task = {
      ...named,
      stream: true,
      ...(options.input === false ? { approvals: 'refuse' as const } : {}),
    }
    await using connection = await connect(system.found)
    using live = hearLive(connection.client, task.task_id)
    const submitted = await submitTo(system, task, context)
    return await followRun(context, {
      connection,
      submitted,
      live,
      system,
      interrupts,
      options,
      trouble,
      lines,
    })
  } finally {
    if (system.own !== null && context.screen.live && options.quiet !== true)
      context.screen.passing(context.screen.style.dim('Stopping Beaver …'))
    await system.own?.stop()
    if (context.screen.live) context.screen.passing(null)
  }
}

/**
 * Submits the task. Only an operator may submit on behalf of a user, so this needs a connection of its own;
 * everything else works as a client.
 */
async function submitTo(
  { found }: BorrowedSystem,
  request: SubmitTask,
  { config }: Context,
): Promise<SubmittedTask> {
  await using connection = await connect(
    inRole(request.user_id === undefined ? 'client' : 'operator', found, config),
  )
  return await submitTask(connection, request)
}

/** Finds or starts the system. `null`: the command was interrupted during the start. */
async function reach(
  { config, screen }: Context,
  options: Pick<RunOptions, 'up' | 'quiet' | 'json'>,
  { interrupts, trouble }: { interrupts: Interrupts; trouble: Trouble },
): Promise<BorrowedSystem | null> {
  if (options.up !== true) return { found: findSystem(config), own: null }
  const quiet = options.json === true || options.quiet === true
  const loading: Promise<readonly Finding[]>[] = []
  try {
    const begun = performance.now()
    const system = await borrowSystem(config, {
      signal: interrupts.asked,
      onStart() {
        const loaded = checkLoaded(config)
        loaded.catch(() => {}) // The promise is awaited below, unless the start fails.
        loading.push(loaded)
        if (!quiet) screen.passing(screen.style.dim('Starting Beaver on this machine …'))
      },
      onTrouble: (text) => trouble.tell(text),
    })
    if (system.own !== null && !quiet)
      screen.print(
        screen.style.dim(
          `Beaver started on this machine in ${duration(performance.now() - begun)}, with the ${modelInUse(config).name}.`,
        ),
        '',
      )
    // Without its tools, a task would run and give a wrong result. So these faults are printed in quiet mode,
    // too.
    const faults = system.own === null ? [] : faultLines((await Promise.all(loading)).flat())
    if (faults.length > 0) screen.warn(...faults)
    return system
  } catch (error) {
    if (interrupts.asked.aborted) return null
    throw error
  } finally {
    if (screen.live) screen.passing(null)
  }
}

/**
 * Checks that the model of the task answers.
 *
 * @throws {BeaverError} `unreachable` if the model does not answer
 */
async function mustAnswer(config: Config): Promise<void> {
  const found = lookForSystem(config)
  const fault = faultOfModel(found === null ? await checkModels(config) : await endpointsOf(found, config))
  if (fault === undefined) return
  throw new BeaverError(
    'unreachable',
    `The model cannot be asked: ${fault.says}. ${fault.todo ?? ''} Look at the whole configuration: ${commandName()} doctor`,
  )
}

async function endpointsOf(found: FoundSystem, config: Config): Promise<readonly Finding[]> {
  await using connection = await connect(found)
  try {
    return daemonEndpoints(await connection.daemonStatus(lookMsMax, 'asked'))
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'no_daemon') return await checkModels(config)
    throw error
  }
}

const modelAway = ({ daemonStatus }: Connection, tell: (reason: string) => void): ModelAway =>
  hearModelAway({ look: async () => daemonEndpoints(await daemonStatus(lookMsMax, 'asked')), tell })

function modelAwayLines(
  reason: string,
  { command, taskId, own }: { readonly command: string; readonly taskId: string; readonly own: boolean },
): string[] {
  const stop = own
    ? 'Ctrl-C cancels the task and stops the system.'
    : `${command} cancel ${taskId} ends the task.`
  return [
    `The model cannot be asked now: ${reason}`,
    `The task waits for it and tries again. ${stop} Find out what is wrong: ${command} doctor`,
  ]
}

/** Receives messages about the system's parts. During a live view, they become its notice. */
interface Trouble {
  tell: (text: string) => void
}

interface Running {
  readonly trouble: Trouble
  readonly connection: Connection
  readonly submitted: SubmittedTask
  readonly live: HeardLive
  readonly system: BorrowedSystem
  readonly interrupts: Interrupts
  readonly options: FollowOptions
  readonly lines: JsonLines
}

/** Passes live updates on, and tells `away` that the model answers. */
const heardBy = (
  onLive: Presentation['onLive'],
  away: ModelAway,
): NonNullable<Presentation['onLive']> | undefined =>
  onLive === null ? undefined : (update) => (away.onLive(), onLive(update))

async function followRun(
  { config, screen }: Context,
  { connection, submitted, live: heard, system, interrupts, options, trouble, lines }: Running,
): Promise<number> {
  const { task_id: taskId } = submitted
  const command = commandName()
  const json = options.json === true
  const quiet = options.quiet === true
  const own = system.own !== null
  const foot = own
    ? 'Ctrl-C cancels the task and stops the system'
    : 'Ctrl-C stops watching; the task goes on'
  const present = presentTask(screen, {
    json: json ? lines : null,
    deltas: options.deltas === true,
    quiet,
    foot,
  })
  trouble.tell = present.onNotice
  if (present.onLive === null) heard[Symbol.dispose]()
  using away = modelAway(connection, (reason) =>
    present.say(...modelAwayLines(reason, { command, taskId, own })),
  )
  const stop = new AbortController()
  const interrupted = (): void => {
    if (!own) return stop.abort()
    const late = setTimeout(() => stop.abort(), cancelMsMax)
    late.unref()
    connection.client.cancel(taskId, interruptText(interrupts.exitCode)).catch(() => stop.abort())
  }
  interrupts.asked.addEventListener('abort', interrupted, { once: true })
  if (interrupts.asked.aborted) interrupted()
  await using questions = options.input === false ? null : askHere(screen, present, connection.client, taskId)
  try {
    const following = followTask(connection, taskId, {
      signal: stop.signal,
      live: heard.updates,
      onEvent(event) {
        present.onEvent(event)
        away.onEvent(event)
        questions?.onEvent(event)
      },
      onLive: heardBy(present.onLive, away),
      onNotice: present.onNotice,
      systemGone: () => hasEnded(system.found, config),
    })
    const followed = await (system.own === null ? following : Promise.race([following, system.own.failed]))
    await questions?.[Symbol.asyncDispose]()
    present.close()
    if (followed.kind === 'ended') {
      if (json) screen.jsonLine(lines.result(followed.end))
      else printEnd(screen, followed.end, present.view, { command, quiet })
      return interrupts.exitCode === 0 ? exitOf(followed.end) : interrupts.exitCode
    }
    if (own)
      screen.warn(
        `The task ${taskId} did not stop in time. The journal has it, and it continues with the next "${command} up".`,
      )
    else
      screen.warn(
        `The task ${taskId} goes on. Follow it: ${command} watch ${taskId}   Cancel it: ${command} cancel ${taskId}`,
      )
    if (json)
      screen.jsonLine({
        ok: false,
        error: { code: 'interrupted', message: 'Interrupted. The task continues.', problems: [] },
        ...submitted,
      })
    return interrupts.exitCode
  } catch (error) {
    stop.abort()
    present.close()
    throw error instanceof BeaverError
      ? error
      : new BeaverError(
          'unreachable',
          `The task ${taskId} can no longer be followed: ${error instanceof Error ? error.message : String(error)} Follow it again: ${command} watch ${taskId}`,
          { cause: error },
        )
  }
}

/** Asks the person at this terminal what the task asks. `null`: nobody can answer here. */
function askHere(
  screen: Context['screen'],
  { view, live, onNotice }: Presentation,
  client: Connection['client'],
  taskId: string,
): ApprovalQuestions | null {
  if (live === null || process.stdin.isTTY !== true) return null
  return askApprovals({
    view,
    terminal: {
      input: process.stdin,
      write: (text) => screen.write(wrappedFor(process.stdout, text)),
      pause: live.pause,
    },
    decide: (call, approved) =>
      client.decide(taskId, { ...call, approved, reason: approved ? '' : 'Refused at the terminal.' }),
    answer: (question, answer) => client.answer(taskId, { ...question, answer }),
    give: (ask, more) => giveMore(client, taskId, ask, more),
    cancel: () => client.cancel(taskId, 'Cancelled at the terminal.'),
    tell: onNotice,
  })
}

// Listens to the live updates of a task before the task is submitted, because a model may answer within a
// millisecond and updates without a listener are lost.

interface HeardLive extends Disposable {
  /** All updates since the listening began. */
  readonly updates: AsyncGenerator<LiveUpdate>
}

/** Begins to listen. The caller must dispose the result if it does not follow the task. */
export function hearLive(client: Pick<Connection['client'], 'live'>, taskId: string): HeardLive {
  const over = new AbortController()
  const items = client.live(taskId, { signal: over.signal })
  // The first `next` begins the listening.
  const first = items.next()
  first.catch(() => {})
  return { updates: from(items, first), [Symbol.dispose]: () => over.abort() }
}

async function* from(
  items: AsyncGenerator<LiveUpdate>,
  first: Promise<IteratorResult<LiveUpdate>>,
): AsyncGenerator<LiveUpdate> {
  const heard = await first
  if (heard.done === true) return
  yield heard.value
  yield* items
}

// Notices soon after the start of a task that its model does not answer, and says so once. The task itself
// waits for the model. If a model refuses or cannot be reached, the events of the task say so. A silent model
// causes no event for a long time, so the daemon is asked to look at its endpoint.

interface ModelAwayOptions {
  /** Returns the findings about the endpoints. */
  look(): Promise<readonly Finding[]>
  /** Receives the reason, at most once. */
  tell(reason: string): void
  /** How long the model may be silent before `look` is called, in milliseconds. Default: 1,500. */
  readonly silentMsMax?: number
}

interface ModelAway extends Disposable {
  onEvent(event: RecordedEvent): void
  /** Notes that the model answers. */
  onLive(): void
}

/** Fewer failures may mean nothing, because the next try follows within a second. */
const failuresMin = 3

/**
 * Begins to watch the model of a task, from its submission. The caller passes the events and live updates,
 * and disposes the result at the end.
 */
export function hearModelAway({ look, tell, silentMsMax = 1_500 }: ModelAwayOptions): ModelAway {
  let over = false
  const once = (reason: string): void => {
    if (!over) tell(reason)
    end()
  }
  const silent = setTimeout(() => {
    look().then(
      (findings) => {
        const fault = faultOfModel(findings)
        if (fault !== undefined) once(fault.says)
      },
      () => {}, // `followTask` reports a system that does not answer.
    )
  }, silentMsMax)
  const end = (): void => {
    over = true
    clearTimeout(silent)
  }
  return {
    onEvent(event) {
      if (event.type === 'assistant_message_added') return end()
      if (event.type !== 'provider_call_failed') return
      const { failure, tries, retry_in_ms: retryMs } = event.data
      if (outageClasses.has(failure.class) && retryMs !== null && tries >= failuresMin) once(failure.message)
    },
    onLive: () => clearTimeout(silent),
    [Symbol.dispose]: end,
  }
}

/** The fault of the main model, which every task needs; none if a fallback answers in its place. */
function faultOfModel(findings: readonly Finding[]): Finding | undefined {
  const hasFallback = findings.some(({ name, status }) => name.startsWith('fallback') && status === 'ok')
  return hasFallback ? undefined : findings.find(({ name, status }) => name === 'model' && status === 'fail')
}

// Finds a system for one task: the one that runs in this home, the configured server, or one that is started
// for this task. A system that was already running is left as it is.

interface BorrowedSystem {
  readonly found: FoundSystem
  /** The system, if it was started here. The borrower must stop it. `null`: it was already running. */
  readonly own: System | null
}

interface BorrowOptions {
  readonly signal: AbortSignal
  /** Called before a system is started. */
  readonly onStart: () => void
  /** Receives a problem as one sentence for a person. */
  readonly onTrouble: (text: string) => void
}

const otherStartMsMax = 30_000

async function borrowSystem(config: Config, options: BorrowOptions): Promise<BorrowedSystem> {
  const found = lookForSystem(config)
  if (found !== null && (found.pid !== null || (await hasDaemon(found)))) return { found, own: null }
  options.onStart()
  try {
    const own = await startSystem(config, {
      signal: options.signal,
      onStatus: (status) => tellTrouble(status, options.onTrouble),
    })
    return {
      found: {
        url: own.natsUrl,
        login: own.embedded ? loginAt(config.home) : roleLogin(config.natsLogin, 'client'),
        namespace: config.namespace,
        tenant: config.tenant,
        pid: process.pid,
        keysFolder: config.keysFolder,
      },
      own,
    }
  } catch (error) {
    if (!(error instanceof HomeInUse)) throw error
    return { found: await startingElsewhere(config, options.signal, error), own: null }
  }
}

/**
 * Whether a daemon answers at the server.
 *
 * @throws {BeaverError} `unreachable`, `server_too_old`
 */
async function hasDaemon(found: FoundSystem): Promise<boolean> {
  await using connection = await connect(found)
  try {
    await connection.daemonStatus()
    return true
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'no_daemon') return false
    throw error
  }
}

/**
 * Waits until the system that another process is starting in this home is up. Throws `busy` if that takes too
 * long.
 */
async function startingElsewhere(config: Config, signal: AbortSignal, busy: HomeInUse): Promise<FoundSystem> {
  for (const deadline = Date.now() + otherStartMsMax; Date.now() < deadline && !signal.aborted;) {
    const found = lookForSystem(config)
    if (found !== null) return found
    await sleep(100)
  }
  throw busy
}

function tellTrouble(status: SystemStatus, tell: (text: string) => void): void {
  if (status.kind === 'died')
    tell(`The ${status.name} died (${status.reason}). It starts again in ${status.pauseMs / 1000} s.`)
  else if (status.kind === 'home') tell(status.text)
  else if (status.kind === 'ready' && status.restarted)
    tell(`The ${status.name} runs again (process ${status.pid}).`)
}
