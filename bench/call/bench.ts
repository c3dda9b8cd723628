// bench call: the processor time of one request to a model, by each way to send it. One local provider, no
// latency, 32 requests at a time.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { OpenAI } from 'openai'
import { httpPost, openAiEndpoint } from '@beaver/providers/endpoint'

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 7)
const requests = 4_000
const atOnce = 32
const apiKey = 'key of the bench'
const body = JSON.stringify({
  model: 'bench-model',
  messages: Array.from({ length: 6 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: 'word '.repeat(40),
  })),
})

type Way = (signal: AbortSignal) => Promise<unknown>

function waysTo(baseURL: string): Readonly<Record<string, Way>> {
  const timeoutMs = 60_000
  const { post } = openAiEndpoint({
    name: 'bench',
    baseURL,
    apiKey,
    model: 'bench-model',
    timeoutMs,
    http: httpPost(),
  })
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: timeoutMs, logLevel: 'off' })
  const headers = { 'content-type': 'application/json' }
  return {
    by_hand: async (signal) =>
      JSON.parse(await (await post('/chat/completions', { body }, signal)).text()) as unknown,
    by_client: async (signal) =>
      JSON.parse(await (await post('/responses', { body }, signal)).text()) as unknown,
    by_client_and_fetch: async (signal) =>
      JSON.parse(
        await (await client.post('/chat/completions', { body, headers, signal }).asResponse()).text(),
      ) as unknown,
  }
}

const titles: Readonly<Record<string, string>> = {
  by_hand: 'plain chat completions: sent by hand on undici',
  by_client: 'all others: the client, with our `fetch` on undici',
  by_client_and_fetch: 'the client with the `fetch` of Node.js',
}

/** In microseconds of this process for one request. */
async function costOf(way: Way): Promise<number> {
  let left = requests
  const before = process.cpuUsage()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await way(new AbortController().signal)
    }),
  )
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

export async function run({ json }: { json: boolean }): Promise<void> {
  const provider = fork(new URL('../loop/fake-provider.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [{ url }] = (await once(provider, 'message')) as [{ url: string }]
  const ways = Object.entries(waysTo(url))
  const costs = new Map<string, number[]>(ways.map(([name]) => [name, []]))
  for (const [, way] of ways) await costOf(way)
  for (let i = 0; i < rounds; i++) for (const [name, way] of ways) costs.get(name)?.push(await costOf(way))
  provider.kill()
  const figures = Object.fromEntries(
    [...costs].map(([name, all]) => [name, { us: Math.round(median(all)), all: all.map(Math.round) }]),
  )
  if (json) return void process.stdout.write(`${JSON.stringify({ bench: 'call', figures })}\n`)
  process.stdout.write('processor time of a request, medians\n')
  for (const [name, { us, all }] of Object.entries(figures))
    process.stdout.write(
      `${(titles[name] ?? name).padEnd(56)}${String(us).padStart(5)} µs   ${Math.min(...all)}–${Math.max(...all)}\n`,
    )
}
