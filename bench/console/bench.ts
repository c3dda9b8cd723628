// bench console: what a person feels who looks. The page of a task of 100,000 events and 2,000 nodes; how long an
// event takes from the journal to the screen; and what consoles cost that only wait. Chromium is the one of this
// machine. The nats-server, the daemon, the projector and the gateway are processes of their own.
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { connectNats, ensureJournalStream, subjectsOf } from '@beaver/nats'
import { chromium, type Page } from 'playwright-core'
import { findChromium } from '../../scripts/lib/chromium.mjs'
import { type BenchedBeaver, startBeaver } from '../beaver.ts'
import { Caller } from '../gateway/caller.ts'
import { largeTaskMessages } from '../projection/journal.ts'
import { startTeamProvider, teamTask } from '../team-provider.ts'

const cases = ['large', 'live', 'idle'] as const
type Case = (typeof cases)[number]
type Figures = Readonly<Record<string, number>>

const nodes = Number(process.env['BENCH_NODES'] ?? 2_000)
const events = Number(process.env['BENCH_EVENTS'] ?? 100_000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const idleMs = Number(process.env['BENCH_COUNTED_MS'] ?? 20_000)
const [consoles, framesMeasured, scrolledPx] = [50, 300, 600]
/** Events of a node beside those of its calls, and of one call. */
const [ofNode, ofCall] = [8, 3]
/** A team makes about 200 events a second with a model of this latency. */
const liveLatencyMs = 25
/** The page reads the first 500 events in one answer. */
const liveNodes = 50

const config = { gateway: { port: 0, requests_per_second_max: 100_000 } }

/** Arguments are cases. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  if (findChromium(process.env) === null) {
    process.stderr.write(
      'The bench console needs Chromium. Install it ("apt-get install chromium"), or name it with BEAVER_CHROMIUM.\n',
    )
    process.exit(2)
  }
  const figures: Partial<Record<Case, Figures>> = {}
  for (const each of args.length === 0 ? cases : cases.filter((name) => args.includes(name))) {
    figures[each] = await measures[each]()
    process.stderr.write(`${each}: ${JSON.stringify(figures[each])}\n`)
  }
  if (json)
    process.stdout.write(`${JSON.stringify({ bench: 'console', figures, ratios: {}, sync: 'always' })}\n`)
  else process.stdout.write(table(figures))
}

const measures: Readonly<Record<Case, () => Promise<Figures>>> = { large, live, idle }

async function large(): Promise<Figures> {
  // The task is in the journal as a whole. A daemon would sign its records, and nothing else would be believed.
  await using beaver = await benched(0, false)
  const written = await append(beaver)
  const caller = await Caller.of(beaver)
  for (; ; await sleep(100)) {
    const { behind } = await beaver.client.query('status', {})
    if (behind === 0) break
  }
  await caller.known('large')
  const first: number[] = []
  let [frames, heap]: [number[], number] = [[], 0]
  for (let i = 0; i < rounds; i++) {
    await using looking = await look(caller.url, beaver)
    const { page } = looking
    // The first row of the tree, in the page's own time since the navigation began.
    await page.addInitScript(
      `const seek = () => { const row = document.querySelector('[role=treeitem]')
        if (row === null) requestAnimationFrame(seek); else requestAnimationFrame(() => { globalThis.firstAt = performance.now() }) }
       requestAnimationFrame(seek)`,
    )
    await page.goto('/console/tasks/large')
    first.push(
      (await page.evaluate(
        'new Promise((resolve) => { const wait = () => globalThis.firstAt === undefined ? requestAnimationFrame(wait) : resolve(globalThis.firstAt); wait() })',
      )) as number,
    )
    await page.getByRole('tab', { name: 'Events' }).click()
    await page.getByRole('row').nth(1).waitFor()
    frames = [...frames, ...(await scrolled(page))]
    heap = Math.max(heap, await heapOf(page))
  }
  return {
    events: written,
    nodes,
    first_paint_p50_ms: at(first, 0.5),
    frame_p50_ms: at(frames, 0.5),
    frame_p95_ms: at(frames, 0.95),
    heap_mb: Math.round(heap / 1024 ** 2),
  }
}

/** @returns how many events the task has */
async function append({ url }: BenchedBeaver): Promise<number> {
  const calls = Math.max(0, Math.round((events / nodes - ofNode) / ofCall))
  const nc = await connectNats({ url, name: 'bench' })
  const subjects = subjectsOf('default')
  await ensureJournalStream(nc, subjects)
  let written = 0
  for (const { log, payload, events: count } of largeTaskMessages({ nodes, calls })) {
    if (written === 0)
      await nc.request(subjects.taskId(log.tenant, log.task), JSON.stringify({ session: log.session }))
    await nc.request(written === 0 ? subjects.accepted(log) : subjects.events(log), payload)
    written += count
  }
  await nc.close()
  return written
}

/** The times between frames while the list moves, in milliseconds. */
const scrolled = async (page: Page): Promise<number[]> =>
  (await page.evaluate(
    `new Promise((resolve) => {
      const list = [...document.querySelectorAll('[role=grid], [role=grid] *')].find((each) => each.scrollHeight > each.clientHeight + 100 && getComputedStyle(each).overflowY !== 'visible')
      const times = []; let last = performance.now()
      const next = (now) => { times.push(now - last); last = now
        if (times.length > ${framesMeasured}) return resolve(times.slice(1))
        list.scrollTop = (list.scrollTop + ${scrolledPx}) % (list.scrollHeight - list.clientHeight); requestAnimationFrame(next) }
      requestAnimationFrame(next) })`,
  )) as number[]

/** The heap of JavaScript after a full collection, in bytes. */
async function heapOf(page: Page): Promise<number> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('HeapProfiler.collectGarbage')
  return (await devTools.send('Runtime.getHeapUsage')).usedSize
}

/** How long each event of a busy team takes from its time in the journal to a row of the list. */
async function live(): Promise<Figures> {
  await using beaver = await benched(liveLatencyMs)
  const caller = await Caller.of(beaver)
  await using looking = await look(caller.url, beaver)
  const { page } = looking
  const late: number[] = []
  const rates: number[] = []
  for (let i = 0; i <= rounds; i++) {
    const task = await caller.submit(teamTask('SequentialWorkflow', liveNodes))
    await caller.known(task)
    await page.goto(`/console/tasks/${task}?view=events`)
    const seen = (await page.evaluate(
      `new Promise((resolve) => { const seen = []
        const look = () => { const count = Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') ?? 1) - 1
          while (seen.length < count) seen.push(Date.now())
          if (document.querySelector('.task-head')?.textContent.includes('ompleted')) resolve(seen); else requestAnimationFrame(look) }
        look() })`,
    )) as number[]
    const all = (await caller.get(`/api/v1/tasks/${task}/events?limit=500`)) as {
      events: readonly { taskseq: number; time: string }[]
    }
    // What was there before the page is not late. The first round is for warming up.
    if (i === 0) continue
    const opened = seen[0] ?? 0
    const after = all.events.filter(({ time }) => Date.parse(time) > opened)
    for (const { taskseq, time } of after) {
      const shownAt = seen[taskseq - 1]
      if (shownAt !== undefined) late.push(shownAt - Date.parse(time))
    }
    const [begin, end] = [after[0], after.at(-1)].map((each) => Date.parse(each?.time ?? ''))
    rates.push((after.length / ((end ?? 0) - (begin ?? 0))) * 1_000)
  }
  return {
    events: late.length,
    events_per_second: Math.round(at(rates, 0.5)),
    shown_p50_ms: at(late, 0.5),
    shown_p95_ms: at(late, 0.95),
  }
}

/** Consoles that wait for changes of a system in which nothing happens. */
async function idle(): Promise<Figures> {
  await using beaver = await benched(0)
  const caller = await Caller.of(beaver)
  const [daemon] = beaver.daemons
  const pids = [caller.pid, daemon?.pid ?? 0] as const
  const cost = async (): Promise<readonly number[]> => {
    const before = pids.map(cpuMs)
    await sleep(idleMs)
    return pids.map((pid, i) => ((cpuMs(pid) - (before[i] ?? 0)) / idleMs) * 100)
  }
  await sleep(5_000) // what is only done after a start is done
  const without = await cost()
  let heard = 0
  const open = Array.from({ length: consoles }, () =>
    caller.read('/api/v1/changes', (type) => void (type === 'hello' && heard++)),
  )
  for (; heard < consoles; await sleep(20));
  const having = await cost()
  for (const each of open) each.close()
  return {
    consoles,
    gateway_percent: rounded(having[0] ?? NaN),
    gateway_more_percent: rounded((having[0] ?? NaN) - (without[0] ?? NaN)),
    daemon_more_percent: rounded((having[1] ?? NaN) - (without[1] ?? NaN)),
  }
}

/** The processor time of a process so far, as Linux counts it: in hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function benched(latencyMs: number, hasDaemon = true): Promise<BenchedBeaver & AsyncDisposable> {
  const provider = await startTeamProvider(latencyMs)
  const beaver = await startBeaver(provider.url, config, {}, [], hasDaemon)
  await beaver.addProjector()
  return {
    ...beaver,
    async [Symbol.asyncDispose]() {
      await beaver.stop()
      provider.stop()
    },
  }
}

/** A browser of its own, which is signed in. */
async function look(
  url: string,
  { home }: BenchedBeaver,
): Promise<AsyncDisposable & { readonly page: Page }> {
  const args = ['--disable-background-networking', '--disable-gpu', '--no-first-run']
  const browser = await chromium.launch({
    executablePath: findChromium(process.env) ?? '',
    // The sandbox of Chromium does not work for root.
    args: process.getuid?.() === 0 ? [...args, '--no-sandbox'] : args,
  })
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1_280, height: 800 } })
  const name = `console-${Date.now()}`
  const token = await new TokenStore(tokensFile(home)).create(name, { roles: ['admin'], now: new Date() })
  await context.addInitScript(`localStorage.setItem('token', ${JSON.stringify(token)})`)
  return { page: await context.newPage(), [Symbol.asyncDispose]: () => browser.close() }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
function at(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN)
}

function table({ large: big, live: now, idle: still }: Partial<Record<Case, Figures>>): string {
  const line = (title: string, value: number | undefined, unit: string, goal = ''): string =>
    `${title.padEnd(58)}${String(value).padStart(10)} ${unit}   ${goal}`.trimEnd()
  return [
    '',
    `The console; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; Chromium draws in software`,
    '',
    ...(big === undefined
      ? []
      : [
          `A task of ${big['events']} events and ${big['nodes']} nodes:`,
          line('  its page has a row, p50', big['first_paint_p50_ms'], 'ms', '(goal < 1,000 ms)'),
          line('  a frame while its events scroll, p50', big['frame_p50_ms'], 'ms', '(goal ≤ 17 ms)'),
          line('  a frame while its events scroll, p95', big['frame_p95_ms'], 'ms'),
          line('  heap of the page', big['heap_mb'], 'MB', '(goal ≤ 200 MB)'),
        ]),
    ...(now === undefined
      ? []
      : [
          `A task with ${now['events_per_second']} events a second:`,
          line('  an event is on the screen after, p50', now['shown_p50_ms'], 'ms', '(goal < 200 ms)'),
          line('  an event is on the screen after, p95', now['shown_p95_ms'], 'ms'),
        ]),
    ...(still === undefined
      ? []
      : [
          `${still['consoles']} consoles that wait:`,
          line('  the gateway uses of a core', still['gateway_percent'], '%', '(goal < 10 %)'),
          line('  the gateway uses more than without them', still['gateway_more_percent'], '%'),
          line('  the daemon uses more than without them', still['daemon_more_percent'], '%', '(goal 0)'),
        ]),
    '',
  ].join('\n')
}
