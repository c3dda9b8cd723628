// `beaver top`: shows what runs now, on a terminal again and again until the person quits. A system that goes
// away leaves its last figures on the screen, and a new connection is made when it is back.
import { BeaverError, messageOf } from '@beaver/core'
import { askOneDaemon, presentDaemons } from '@beaver/nats'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { type Interrupts, listenForInterrupts } from '../interrupts.ts'
import type { Screen } from '../screen.ts'
import { findSystem, lookForSystem } from '../system/find-system.ts'
import { duration } from '../text/figures.ts'
import { liveFrames } from '../view/live-frames.ts'
import {
  endedOf,
  keyOf,
  sortedTasks,
  tasksFitting,
  topAnswer,
  type TopDaemon,
  topLines,
  type TopLook,
  type TopSort,
  type TopStep,
  type TopSums,
} from '../view/render-top.ts'
import { ask } from './query.ts'

interface TopOptions {
  readonly sort?: TopSort
  readonly limit?: number
  readonly once?: true
  readonly json?: true
}

const everyMs = 2_000
const rateMs = 60_000
const presenceMs = 400
/** A busy daemon may be late. */
const presenceMsMax = 2_000
const answerMsMax = 1_500
/** The tasks of which one look knows: those that run, and the newest open ones. */
const listedMax = 200
/** The tasks of which a look reads the newest step. */
const stepsMax = 50

/** @throws {BeaverError} `unreachable`, `server_too_old`, `no_daemon` */
export async function top(options: TopOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const { sort = 'state', limit = stepsMax, once, json } = options
  const isLive = screen.live && once !== true && json !== true
  if (isLive && options.limit !== undefined)
    throw new UsageError('The option --limit needs --once or --json: a terminal shows the tasks that fit.')
  const found = findSystem(config)
  if (isLive) {
    const follow = (): Promise<Connection> => {
      const running = lookForSystem(config)
      if (running === null) throw new BeaverError('unreachable', 'Beaver does not run here now.')
      return connect(running, { daemonMs: 0 })
    }
    return await showLive(screen, { first: await connect(found), follow, sort })
  }
  await using connection = await connect(found)
  const look = await lookNow(connection, { sort, tasks: limit, sinceDay: dayOf(Date.now()) })
  if (json === true) screen.json(topAnswer(look, { sort, limit }))
  else {
    const { columns, style, symbols } = screen
    const tasks = sortedTasks(look.tasks, sort).slice(0, limit)
    const shown = { columns, style, symbols, rows: Infinity, now: look.atMs, sort, sums: [] }
    screen.print(...topLines({ ...look, tasks }, { ...shown, notice: null, foot: null }))
  }
  return 0
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length)

interface LookOptions {
  readonly sort: TopSort
  /** Of how many tasks the step is read. */
  readonly tasks: number
  /** The first day of the sums, so that they grow over midnight. */
  readonly sinceDay: string
}

/** Asks for everything once. @throws {BeaverError} */
async function lookNow(connection: Connection, { sort, tasks, sinceDay }: LookOptions): Promise<TopLook> {
  const [status, running, open, usage, daemons] = await Promise.all([
    ask(connection, 'status', {}),
    ask(connection, 'tasks', { status: 'running', limit: listedMax }),
    ask(connection, 'tasks', { status: 'open', limit: listedMax }),
    ask(connection, 'usage', { by: 'tenant', since: sinceDay, limit: 1 }),
    daemonsNow(connection),
  ])
  const known = [...new Map([...open.tasks, ...running.tasks].map((task) => [keyOf(task), task])).values()]
  const shown = sortedTasks(known, sort).slice(0, Math.min(tasks, stepsMax))
  const steps = await Promise.all(
    shown.map(async ({ task_id, session_id }): Promise<[string, TopStep] | null> => {
      const { events } = await ask(connection, 'timeline', {
        ...{ task_id, session_id },
        ...{ order: 'desc', limit: 1 },
      })
      const [newest] = events
      return newest === undefined
        ? null
        : [
            keyOf({ task_id, session_id }),
            { by: newest.actor_name, text: newest.text, at: newest.created_at },
          ]
    }),
  )
  const { total } = usage
  const atMs = Date.now()
  return {
    atMs,
    by_status: status.by_status,
    oldest_submitted_at: status.oldest_submitted_at ?? null,
    behind: status.behind ?? 0,
    daemons,
    tasks: known,
    steps: new Map(steps.filter((step) => step !== null)),
    sums: {
      atMs,
      calls: total.calls,
      tokens: total.input_tokens + total.output_tokens,
      usd: total.cost_usd ?? total.cost_usd_known ?? 0,
      ended: endedOf(status.by_status),
    },
  }
}

async function daemonsNow({ nc, subjects }: Connection): Promise<TopDaemon[]> {
  const present = await presentDaemons(nc, subjects, {
    waitMs: presenceMs,
    emptyMs: presenceMsMax,
  }).catch((error: unknown) => {
    throw new BeaverError('unreachable', `NATS cannot be asked: ${messageOf(error)}`, { cause: error })
  })
  return await Promise.all(
    present.map(async ({ daemon }): Promise<TopDaemon> => {
      try {
        const at = { nc, subjects, timeoutMs: answerMsMax }
        const of = await askOneDaemon(at, daemon, 'actors', { tasks: 'none' })
        const { tasks_driven: tasks, tasks_max, threads, threads_max } = of
        return { daemon, slots: { tasks, tasks_max, threads: threads.length, threads_max } }
      } catch (error) {
        if (!(error instanceof BeaverError)) throw error
        return { daemon, slots: null }
      }
    }),
  )
}

interface LiveParts {
  readonly first: Connection
  /** Connects again. @throws {BeaverError} */
  readonly follow: () => Promise<Connection>
  readonly sort: TopSort
}

const keys: Readonly<Record<string, TopSort>> = { s: 'state', a: 'age', t: 'tokens', c: 'cost' }
const footOf = (sort: TopSort): string =>
  `Sort: ${Object.entries(keys)
    .map(([key, name]) => `${key} ${name}${name === sort ? '*' : ''}`)
    .join('  ')}   q quits`

/** Looks and draws until the person quits. */
async function showLive(screen: Screen, { first, follow, sort: asked }: LiveParts): Promise<number> {
  using interrupts = listenForInterrupts()
  const quit = new AbortController()
  const stopped = AbortSignal.any([interrupts.asked, quit.signal])
  let exitCode = 0
  let sort = asked
  let notice: string | null = null
  let connection: Connection | null = first
  let wake = Promise.withResolvers<void>()
  const sums: TopSums[] = []
  const sinceDay = dayOf(Date.now())
  const lookAt = (at: Connection): Promise<TopLook> =>
    lookNow(at, { sort, sinceDay, tasks: tasksFitting(screen.rows) })
  let look = await lookAt(first)
  sums.push(look.sums)
  const frames = liveFrames(screen, ({ columns, rows, isLast }) =>
    topLines(look, {
      columns,
      rows,
      style: screen.style,
      symbols: screen.symbols,
      now: Date.now(),
      sort,
      sums,
      notice:
        notice === null
          ? null
          : `${notice} These figures are ${duration(Math.floor((Date.now() - look.atMs) / 1_000) * 1_000)} old.`,
      foot: isLast ? null : footOf(sort),
    }),
  )
  using _keys = listenForKeys((key) => {
    if (key === '\u0003') exitCode = 130
    if (key === '\u0003' || key === '\u0004' || key === 'q') return quit.abort()
    sort = keys[key] ?? sort
    frames.draw()
    wake.resolve()
  })
  try {
    for (;;) {
      await untilNext(stopped, wake.promise)
      if (stopped.aborted) break
      wake = Promise.withResolvers()
      const next = await orStopped(stopped, async () => {
        connection ??= await follow()
        return await lookAt(connection)
      }).catch(async (error: unknown) => {
        if (!(error instanceof BeaverError)) throw error
        notice = error.message
        const lost = connection
        connection = null
        sums.length = 0 // Other prices or another journal may count afterwards.
        await lost?.[Symbol.asyncDispose]()
        return null
      })
      if (next === null) continue
      look = next
      notice = null
      sums.push(look.sums)
      while ((sums[0]?.atMs ?? Infinity) < look.atMs - rateMs) sums.shift()
    }
  } finally {
    frames.finish()
    await (connection as Connection | null)?.[Symbol.asyncDispose]()
  }
  return exitCodeOf(interrupts, exitCode)
}

const exitCodeOf = (interrupts: Interrupts, typed: number): number => interrupts.exitCode || typed

/** Waits for the next look: a moment, a key, or the end. */
async function untilNext(stopped: AbortSignal, woken: Promise<void>): Promise<void> {
  if (stopped.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, everyMs)
  stopped.addEventListener('abort', () => resolve(), { once: true })
  await Promise.race([promise, woken])
  clearTimeout(timer)
}

/** What `act` gives; `null` if the person quits first. */
async function orStopped<T>(stopped: AbortSignal, act: () => Promise<T>): Promise<T | null> {
  const end = Promise.withResolvers<null>()
  const ended = (): void => end.resolve(null)
  stopped.addEventListener('abort', ended, { once: true })
  try {
    return await Promise.race([act(), end.promise])
  } finally {
    stopped.removeEventListener('abort', ended)
  }
}

/** The sequence of an arrow or of another key that is no letter, with the letters in it. */
// oxlint-disable-next-line no-control-regex
const specialKey = /\u001B(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?/gs

/** Passes on each key. The terminal gets its mode back, however the process ends. */
function listenForKeys(onKey: (key: string) => void): Disposable {
  const { stdin } = process
  if (stdin.isTTY !== true) return { [Symbol.dispose]() {} }
  const restore = (): void => void stdin.setRawMode(false)
  const typed = (text: string): void => {
    for (const key of text.replaceAll(specialKey, '')) onKey(key)
  }
  process.once('exit', restore)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8').on('data', typed).resume()
  return {
    [Symbol.dispose]() {
      stdin.off('data', typed).pause()
      restore()
      process.off('exit', restore)
    },
  }
}
