// bench gateway: what HTTP costs. Queries while 200 readers follow one busy task and 500 requests come in a
// second; a task over HTTP beside the same task over NATS; what a reader of a task that waits costs in
// memory; and how long the first piece of an answer takes from the model to the caller. The gateway, the
// daemon, the projector and the nats-server are processes of their own. The model's endpoint and the callers
// are this process.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startBeaver } from '../beaver.ts'
import { freePort } from '../free-port.ts'
import { heapOf } from '../idle/heap-of.ts'
import { startTeamProvider, teamTask, toolTask } from '../team-provider.ts'
import { Caller, mustBeDone } from './caller.ts'

const cases = ['load', 'cost', 'idle', 'first_token'] as const
type Case = (typeof cases)[number]
type Figures = Readonly<Record<string, number>>

const loadMs = Number(process.env['BENCH_LOAD_MS'] ?? 10_000)
const rounds = Number(process.env['BENCH_CALLS'] ?? 300)
const [busyReaders, idleReaders] = [200, 1_000]
/** Requests in a second. */
const perSecond = { ping: 200, query: 250, chat: 50 } as const
type Kind = keyof typeof perSecond

/** Arguments are cases. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const chosen = args.length === 0 ? cases : cases.filter((each) => args.includes(each))
  const figures: Partial<Record<Case, Figures>> = {}
  for (const each of chosen) {
    figures[each] = await measures[each]()
    process.stderr.write(`${each}: ${JSON.stringify(figures[each])}\n`)
  }
  if (json)
    process.stdout.write(`${JSON.stringify({ bench: 'gateway', figures, ratios: {}, sync: 'always' })}\n`)
  else process.stdout.write(table(figures))
}

const measures: Readonly<Record<Case, () => Promise<Figures>>> = { load, cost, idle, first_token: firstToken }

/** Many may call at once, and each sends more than a caller usually may. */
const config = { gateway: { port: 0, requests_per_second_max: 100_000 } }

/** Readers of one busy task, and requests at a fixed rate, whether the earlier ones were answered or not. */
async function load(): Promise<Figures> {
  const busy = await startTeamProvider(20)
  const beaver = await startBeaver(busy.url, config)
  try {
    await beaver.addProjector()
    const caller = await Caller.of(beaver)
    const followed = await caller.submit(teamTask('SequentialWorkflow', 500))
    let events = 0
    const readers = Array.from({ length: busyReaders }, () =>
      caller.read(`/api/v1/tasks/${followed}/events`, () => void events++),
    )
    const shown = await caller.submit('Say it.')
    await caller.known(shown)
    const sent: Record<Kind, () => Promise<unknown>> = {
      ping: () => caller.get('/api/ping'),
      query: () => caller.get(`/api/v1/tasks/${shown}`),
      chat: () => caller.ask('Say it.'),
    }
    await atRates(sent, 5_000) // what is only done once is done, and nothing waits from the start
    events = 0
    const times = await atRates(sent, loadMs)
    const seconds = loadMs / 1_000
    const heard = events / seconds
    for (const reader of readers) reader.close()
    return {
      ...quantiles('ping', times.ping),
      ...quantiles('query', times.query),
      ...quantiles('chat', times.chat),
      events_heard_per_second: Math.round(heard),
    }
  } finally {
    await beaver.stop()
    busy.stop()
  }
}

async function atRates(
  send: Readonly<Record<Kind, () => Promise<unknown>>>,
  ms: number,
): Promise<Record<Kind, number[]>> {
  const times: Record<Kind, number[]> = { ping: [], query: [], chat: [] }
  const open: Promise<void>[] = []
  const since = performance.now()
  const due = { ping: 0, query: 0, chat: 0 }
  for (let now = 0; now < ms; now = performance.now() - since) {
    for (const kind of Object.keys(due) as Kind[])
      for (; due[kind] < (now * perSecond[kind]) / 1_000; due[kind]++) {
        const begun = performance.now()
        open.push(send[kind]().then(() => void times[kind].push(performance.now() - begun)))
      }
    await sleep(2)
  }
  await Promise.all(open)
  return times
}

/**
 * The same task, one after the other, in turn over NATS and over HTTP. The model takes 20 ms, which is little
 * for a model.
 */
async function cost(): Promise<Figures> {
  const provider = await startTeamProvider(20)
  const beaver = await startBeaver(provider.url, config)
  try {
    const caller = await Caller.of(beaver)
    const ways = {
      nats: async (): Promise<void> => mustBeDone((await beaver.client.run({ task: 'Say it.' })).status),
      http: () => caller.ask('Say it.'),
    }
    const times: Record<keyof typeof ways, number[]> = { nats: [], http: [] }
    for (let i = -100; i < rounds; i++)
      for (const way of ['nats', 'http'] as const) {
        const begun = performance.now()
        await ways[way]()
        if (i >= 0) times[way].push(performance.now() - begun)
      }
    const [nats, http] = [at(times.nats, 0.5), at(times.http, 0.5)]
    return { nats_p50_ms: nats, http_p50_ms: http, more_ms: rounded(http - nats) }
  } finally {
    await beaver.stop()
    provider.stop()
  }
}

/** Readers of a task that waits for a person. */
async function idle(): Promise<Figures> {
  const provider = await startTeamProvider(0)
  const beaver = await startBeaver(provider.url, {
    ...config,
    permissions: { rules: [{ tool: 'echo', decision: 'ask' }] },
  })
  try {
    const port = await freePort()
    const caller = await Caller.of(beaver, [`--inspect-port=${port}`])
    const waiting = await caller.submit(toolTask('echo', { text: 'a' }))
    const readUntilIdle = async (readers: number): Promise<void> => {
      let heard = 0
      for (let i = 0; i < readers; i++)
        caller.read(`/api/v1/tasks/${waiting}/events`, (type) => void (type === 'task_suspended' && heard++))
      for (; heard < readers; await sleep(50));
    }
    await readUntilIdle(50)
    const before = await heapOf(caller.pid, port)
    await readUntilIdle(idleReaders)
    const after = await heapOf(caller.pid, port)
    return { readers: idleReaders, bytes_per_reader: Math.round((after - before) / idleReaders) }
  } finally {
    await beaver.stop()
    provider.stop()
  }
}

/**
 * From the moment in which the model's endpoint sends its first piece to the one in which the caller has it.
 */
async function firstToken(): Promise<Figures> {
  let sentAt = 0
  const endpoint = createServer((request, response) => {
    request.resume().on('end', () => {
      const chunk = (delta: object, finish: string | null): string =>
        `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      sentAt = performance.now()
      response.write(chunk({ role: 'assistant', content: 'First ' }, null))
      setTimeout(
        () => response.end(`${chunk({ content: 'and last.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`),
        20,
      )
    })
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  const beaver = await startBeaver(`http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`, config)
  try {
    const caller = await Caller.of(beaver)
    const [model] = ((await caller.get('/v1/models')) as { data: { id: string }[] }).data
    const times: number[] = []
    for (let i = -50; i < rounds / 3; i++) {
      const heardAt = await caller.firstPiece('/v1/chat/completions', {
        model: model?.id,
        stream: true,
        messages: [{ role: 'user', content: 'Say it.' }],
      })
      if (i >= 0) times.push(heardAt - sentAt)
    }
    return quantiles('first_token', times)
  } finally {
    await beaver.stop()
    endpoint.close()
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
function at(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN)
}
const quantiles = (name: string, values: readonly number[]): Figures => ({
  [`${name}_count`]: values.length,
  [`${name}_p50_ms`]: at(values, 0.5),
  [`${name}_p99_ms`]: at(values, 0.99),
})

function table({
  load: busy,
  cost: dear,
  idle: still,
  first_token: first,
}: Partial<Record<Case, Figures>>): string {
  const line = (title: string, value: number | undefined, unit: string, goal = ''): string =>
    `${title.padEnd(58)}${String(value).padStart(10)} ${unit}   ${goal}`.trimEnd()
  const kinds: Readonly<Record<Kind, string>> = { ping: 'ping', query: 'one task', chat: 'chat' }
  return [
    '',
    `What HTTP costs; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: always`,
    '',
    ...(busy === undefined
      ? []
      : [
          `${busyReaders} readers of one busy task, ${busy['events_heard_per_second']} events a second to all of them, and`,
          ...(Object.keys(kinds) as Kind[]).flatMap((kind) => [
            line(`  ${perSecond[kind]} × ${kinds[kind]} a second, p50`, busy[`${kind}_p50_ms`], 'ms'),
            line(
              `  ${perSecond[kind]} × ${kinds[kind]} a second, p99`,
              busy[`${kind}_p99_ms`],
              'ms',
              kind === 'query' ? '(goal ≤ 50 ms)' : '',
            ),
          ]),
        ]),
    ...(dear === undefined
      ? []
      : [
          line(
            'a task over HTTP, more than over NATS, at the median',
            dear['more_ms'],
            'ms',
            '(goal ≤ 1 ms)',
          ),
        ]),
    ...(still === undefined
      ? []
      : [
          line(
            `${still['readers']} readers of a task that waits, heap of each`,
            still['bytes_per_reader'],
            'bytes',
            '(goal ≤ 30,000)',
          ),
        ]),
    ...(first === undefined
      ? []
      : [
          line(
            'first piece of an answer, after the model sent it, p50',
            first['first_token_p50_ms'],
            'ms',
            '(goal ≤ 5 ms)',
          ),
        ]),
    '',
  ].join('\n')
}
