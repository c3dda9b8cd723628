// bench projection: a projector of its own process over a journal of a million events. How fast does it catch
// up, with every record verified; how long do queries take at that size; how far is it behind at 1,000 events
// a second?
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, connectNats, natsJournal, startEmbeddedServer, type Subjects, subjectsOf } from '@beaver/nats'
import { journalMessages, type MadeMessage, type TaskKind } from './journal.ts'

const events = Number(process.env['BENCH_EVENTS'] ?? 1_000_000)
const queriesEach = 200
const pacedMs = Number(process.env['BENCH_COUNTED_MS'] ?? 20_000)
const pacedPerSecond = 1_000
const goals = { catchUp: 60_000, queryMs: 10, lagMs: 200 }
const namespace = 'bench'

type Connection = Awaited<ReturnType<typeof connectNats>>

interface Bench {
  readonly nc: Connection
  readonly subjects: Subjects
  readonly say: (line: string) => void
}

/** @param args which tasks: `loop` (the default), `report` or both */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const kinds = (args.length === 0 ? ['loop'] : args) as readonly TaskKind[]
  const dataDir = mkdtempSync(join(tmpdir(), 'beaver-bench-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const { natsServer } = JSON.parse(
    readFileSync(new URL('../../.beaver/tools/paths.json', import.meta.url), 'utf8'),
  ) as { natsServer: string }
  const server = await startEmbeddedServer({ binary: natsServer, dataDir, sync: 'default' })
  const nc = await connectNats({ url: server.url, name: 'bench' })
  const subjects = subjectsOf(namespace)
  ;(await natsJournal(nc, subjects)).close()
  const bench: Bench = { nc, subjects, say }
  let projector: ChildProcess | null = null
  try {
    const source = journalMessages({ kinds })
    const filled = await fill(bench, source)
    projector = startProjector(server.url, dataDir)
    const caughtUp = await catchUp(bench, projector, filled.events)
    const queries = await timeQueries(bench, filled.lastTask)
    const lag = await lagAt(bench, source)
    report({ json, kinds, filled, caughtUp, queries, lag })
  } finally {
    if (projector !== null && projector.exitCode === null) {
      const gone = once(projector, 'exit')
      projector.kill()
      await gone
    }
    await nc.close()
    await server.stop()
  }
}

interface Filled {
  readonly events: number
  readonly messages: number
  readonly bytes: number
  readonly lastTask: string
}

/** Writes the journal. As fast as the server takes it: what is measured begins afterwards. */
async function fill({ nc, subjects, say }: Bench, source: Generator<MadeMessage>): Promise<Filled> {
  const filled = { events: 0, messages: 0, bytes: 0, lastTask: '' }
  const window: Promise<unknown>[] = []
  const accepted = new Set<string>()
  while (filled.events < events) {
    const message = source.next().value as MadeMessage
    window.push(nc.request(subjectOf(subjects, accepted, message), message.payload, { timeout: 60_000 }))
    filled.events += message.events
    filled.messages++
    filled.bytes += message.payload.length
    filled.lastTask = message.log.task
    if (window.length >= 500) await Promise.all(window.splice(0))
    if (filled.messages % 100_000 === 0) say(`written: ${filled.events} events`)
  }
  await Promise.all(window)
  return filled
}

function subjectOf(subjects: Subjects, accepted: Set<string>, { log }: MadeMessage): string {
  if (accepted.has(log.task)) return subjects.events(log)
  if (accepted.size > 10_000) accepted.clear() // tasks are written one after the other
  accepted.add(log.task)
  return subjects.accepted(log)
}

function startProjector(url: string, home: string): ChildProcess {
  return fork(new URL('../../apps/projector/src/main.ts', import.meta.url), {
    env: { ...process.env, NATS_URL: url, BEAVER_NAMESPACE: namespace, BEAVER_HOME: home },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: (process.env['BENCH_PROJECTOR_ARGS'] ?? '').split(' ').filter((arg) => arg !== ''),
  })
}

const ask = async (
  { nc, subjects }: Bench,
  query: string,
  input: Record<string, unknown> = {},
): Promise<Record<string, unknown>> =>
  (await call(nc, subjects.query(query), input, { timeoutMs: 30_000, whom: 'projector' })) as Record<
    string,
    unknown
  >

interface CaughtUp {
  readonly eventsPerSecond: number
  /** Until every text can be found by the index, too. */
  readonly indexedS: number
}

async function catchUp(bench: Bench, projector: ChildProcess, expected: number): Promise<CaughtUp> {
  await once(projector, 'message')
  const begun = performance.now()
  let status = await ask(bench, 'status')
  const from = Number(status['events'])
  while (status['behind'] !== 0) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    status = await ask(bench, 'status')
  }
  const seconds = (performance.now() - begun) / 1000
  if (status['events'] !== expected || status['findings'] !== 0)
    throw new Error(
      `the projector applied ${JSON.stringify(status)}, not ${expected} events without findings`,
    )
  bench.say(`caught up: ${Math.round((expected - from) / seconds)} events/s`)
  while (Number(status['texts_behind']) > 0) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    status = await ask(bench, 'status')
  }
  return {
    eventsPerSecond: (expected - from) / seconds,
    indexedS: (performance.now() - begun) / 1000 - seconds,
  }
}

type QueryTimes = Readonly<Record<string, { readonly p50: number; readonly p99: number }>>

async function timeQueries(bench: Bench, lastTask: string): Promise<QueryTimes> {
  const newest = Number.parseInt(lastTask.slice('task_'.length), 32)
  const anyTask = (i: number): string =>
    `task_${Math.floor((i / queriesEach) * newest)
      .toString(32)
      .padStart(10, '0')}`
  const inputs: Readonly<Record<string, (i: number) => Record<string, unknown>>> = {
    tasks: () => ({}),
    task: (i) => ({ task_id: anyTask(i) }),
    approvals: () => ({}),
    timeline: (i) => ({ task_id: anyTask(i) }),
    events: (i) => ({ task_id: anyTask(i) }),
    search: (i) => ({ query: ['revenue match', 'stream of the', 'quorum', 'no such words'][i % 4] }),
    session_search: (i) => ({
      query: ['revenue match', 'stream', 'quorum budget', 'no such words'][i % 4],
      tenant: 'local',
    }),
    audit: (i) => ({ task_id: anyTask(i) }),
    status: () => ({}),
    open_tasks: () => ({ tenant: 'local', idle_ms_min: 30_000 }),
  }
  const times: Record<string, { p50: number; p99: number }> = {}
  for (const [name, inputOf] of Object.entries(inputs)) {
    const ms: number[] = []
    for (let i = 0; i < queriesEach + 20; i++) {
      const begun = performance.now()
      await ask(bench, name, inputOf(i % queriesEach))
      if (i >= 20) ms.push(performance.now() - begun)
    }
    times[name] = { p50: percentile(ms, 50), p99: percentile(ms, 99) }
    bench.say(
      `query ${name.padEnd(16)} p50 ${times[name].p50.toFixed(1)} ms  p99 ${times[name].p99.toFixed(1)} ms`,
    )
  }
  return times
}

/** Milliseconds from the acknowledgement of a message to the first answer that knows it. */
async function lagAt(
  bench: Bench,
  source: Generator<MadeMessage>,
): Promise<{ p50: number; p99: number; max: number; eventsPerSecond: number }> {
  const stored: { sequence: number; at: number }[] = []
  const lags: number[] = []
  const accepted = new Set<string>()
  const begun = performance.now()
  let written = 0
  let writing = true
  const writer = async (): Promise<void> => {
    while (performance.now() - begun < pacedMs) {
      while (written < ((performance.now() - begun) / 1000) * pacedPerSecond) {
        const message = source.next().value as MadeMessage
        written += message.events
        const answer = await bench.nc.request(subjectOf(bench.subjects, accepted, message), message.payload, {
          timeout: 10_000,
        })
        stored.push({ sequence: (answer.json() as { seq: number }).seq, at: performance.now() })
      }
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    writing = false
  }
  const reader = async (): Promise<void> => {
    while (writing || stored.length > 0) {
      const { applied_sequence: applied } = await ask(bench, 'open_tasks', { tenant: 'nobody', limit: 1 })
      const now = performance.now()
      while (stored[0] !== undefined && stored[0].sequence <= Number(applied))
        lags.push(Math.max(0, now - (stored.shift()?.at ?? now)))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  await Promise.all([writer(), reader()])
  const eventsPerSecond = (written / (performance.now() - begun)) * 1000
  return { p50: percentile(lags, 50), p99: percentile(lags, 99), max: Math.max(...lags), eventsPerSecond }
}

const percentile = (values: readonly number[], p: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor((values.length * p) / 100))] ?? NaN
const rounded = (value: number): number => Math.round(value * 10) / 10

interface Results {
  readonly json: boolean
  readonly kinds: readonly TaskKind[]
  readonly filled: Filled
  readonly caughtUp: CaughtUp
  readonly queries: QueryTimes
  readonly lag: Awaited<ReturnType<typeof lagAt>>
}

function report({ json, kinds, filled, caughtUp, queries, lag }: Results): void {
  const slowest = Math.max(...Object.values(queries).map(({ p99 }) => p99))
  const figures = {
    events: filled.events,
    bytes_per_event: Math.round(filled.bytes / filled.events),
    catch_up_events_per_second: Math.round(caughtUp.eventsPerSecond),
    text_index_s: rounded(caughtUp.indexedS),
    query_p99_ms: rounded(slowest),
    queries: Object.fromEntries(
      Object.entries(queries).map(([name, { p50, p99 }]) => [
        name,
        { p50_ms: rounded(p50), p99_ms: rounded(p99) },
      ]),
    ),
    lag_p50_ms: rounded(lag.p50),
    lag_p99_ms: rounded(lag.p99),
    lag_max_ms: rounded(lag.max),
    lag_at_events_per_second: Math.round(lag.eventsPerSecond),
  }
  if (json) {
    process.stdout.write(`${JSON.stringify({ bench: 'projection', kinds, figures })}\n`)
    return
  }
  const lines = Object.entries(figures.queries).map(
    ([name, { p50_ms, p99_ms }]) =>
      `  ${name.padEnd(26)} ${p50_ms.toFixed(1).padStart(7)} ${p99_ms.toFixed(1).padStart(7)}`,
  )
  process.stdout.write(
    [
      '',
      `${figures.events} events of tasks like ${kinds.join(' and ')} (${figures.bytes_per_event} bytes each, ${filled.messages} messages); ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}`,
      '',
      `catch-up, every record verified  ${figures.catch_up_events_per_second} events/s   (goal ≥ ${goals.catchUp}); the texts are indexed ${figures.text_index_s} s later`,
      `queries, ms${''.padEnd(20)} p50     p99   (goal: p99 ≤ ${goals.queryMs})`,
      ...lines,
      `lag at ${figures.lag_at_events_per_second} events/s: p50 ${figures.lag_p50_ms} ms, p99 ${figures.lag_p99_ms} ms, max ${figures.lag_max_ms} ms   (goal: p99 ≤ ${goals.lagMs})`,
      '',
    ].join('\n'),
  )
}
