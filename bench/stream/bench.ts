// bench stream: how long a piece of an answer takes from the model's endpoint to a client on NATS, a few
// streams at a time and 200 at once. The daemon and the nats-server are processes of their own. The model's
// endpoint and the clients are this process, so both times are of one clock.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus } from 'node:os'
import { submitAndFollow } from '@beaver/client'
import { startBeaver } from '../beaver.ts'

/** V8 compiles a daemon for some twenty seconds. */
const warmMs = 20_000
const [few, atOnce, rounds] = [200, 200, 5]
/** Pieces of an answer, and the time between two of them: as fast as a fast model writes. */
const [pieces, pieceMs] = [20, 50]

interface Heard {
  /** From the first piece that the endpoint sends to the first that the client has. */
  readonly first: number
  /** The same for each later piece of text. */
  readonly later: readonly number[]
}

export async function run({ json }: { json: boolean }): Promise<void> {
  const endpoint = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let sent = 0
      const next = (): void => {
        if (sent === pieces) return void response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
        response.write(chunk({ content: `${performance.now().toFixed(3)} piece ${sent++}; ` }, null))
        setTimeout(next, pieceMs)
      }
      next()
    })
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  const beaver = await startBeaver(`http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`, {
    daemon: { tasks_max: 2 * atOnce },
  })
  const stream = async (): Promise<Heard> => {
    const late: number[] = []
    for await (const each of submitAndFollow(beaver.client, { task: 'Say it.' })) {
      if (!('delta' in each)) continue
      const now = performance.now()
      for (const [, sentAt] of each.delta.text.matchAll(/(\d+\.\d+) piece/g)) late.push(now - Number(sentAt))
    }
    if (late.length !== pieces) throw new Error(`A stream has ${late.length} of ${pieces} pieces.`)
    return { first: late[0] ?? NaN, later: late.slice(1) }
  }
  try {
    const begun = performance.now()
    await overlapping(stream, () => performance.now() - begun < warmMs)
    const one: Heard[] = []
    for (let i = 0; i < few; i += 4) one.push(...(await inTurn(stream, 4)))
    const many = await overlapping(stream, (done) => done < rounds)
    const burst: Heard[] = []
    for (let i = 0; i < rounds; i++)
      burst.push(...(await Promise.all(Array.from({ length: atOnce }, stream))))
    const figures = { ...quantiles('one', one), ...quantiles('at_once', many), ...quantiles('burst', burst) }
    if (json)
      process.stdout.write(`${JSON.stringify({ bench: 'stream', figures, ratios: {}, sync: 'always' })}\n`)
    else process.stdout.write(table(figures))
  } finally {
    await beaver.stop()
    endpoint.close()
  }
}

/** Streams that begin a quarter of a piece after one another, so that they do not wait for each other. */
async function inTurn(stream: () => Promise<Heard>, count: number): Promise<Heard[]> {
  const heard: Promise<Heard>[] = []
  for (let i = 0; i < count; i++) {
    heard.push(stream())
    await new Promise((resolve) => setTimeout(resolve, pieceMs / count + 7))
  }
  return Promise.all(heard)
}

/**
 * 200 clients follow one stream after another. They begin one after the other over the length of a stream, so
 * that their streams overlap evenly.
 */
async function overlapping(
  stream: () => Promise<Heard>,
  goesOn: (done: number) => boolean,
): Promise<Heard[]> {
  const client = async (index: number): Promise<Heard[]> => {
    await new Promise((resolve) => setTimeout(resolve, (index * pieces * pieceMs) / atOnce))
    const heard: Heard[] = []
    while (goesOn(heard.length)) heard.push(await stream())
    return heard
  }
  return (await Promise.all(Array.from({ length: atOnce }, (_, index) => client(index)))).flat()
}

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

type Figures = Readonly<Record<string, number>>

function quantiles(name: string, heard: readonly Heard[]): Figures {
  const at = (values: readonly number[], part: number): number => {
    const sorted = values.toSorted((a, b) => a - b)
    return (
      Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN) * 100) / 100
    )
  }
  const [first, later] = [heard.map((each) => each.first), heard.flatMap((each) => each.later)]
  return {
    [`${name}_streams`]: heard.length,
    [`${name}_first_p50_ms`]: at(first, 0.5),
    [`${name}_first_p99_ms`]: at(first, 0.99),
    [`${name}_later_p50_ms`]: at(later, 0.5),
    [`${name}_later_p99_ms`]: at(later, 0.99),
  }
}

function table(figures: Figures): string {
  const row = (title: string, name: string, goal: string): string =>
    `${title.padEnd(34)}${['first_p50_ms', 'first_p99_ms', 'later_p50_ms', 'later_p99_ms'].map((each) => String(figures[`${name}_${each}`]).padStart(12)).join('')}   ${goal}`.trimEnd()
  return `${[
    '',
    `From the model to a client on NATS, in ms; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: always`,
    '',
    `${''.padEnd(34)}${['first p50', 'first p99', 'later p50', 'later p99'].map((each) => each.padStart(12)).join('')}`,
    row(`${figures['one_streams']} streams, a few at a time`, 'one', '(goal: first p50 ≤ 3 ms)'),
    row(`${figures['at_once_streams']} streams, ${atOnce} at once`, 'at_once', '(goal: first p50 ≤ 3 ms)'),
    row(`${figures['burst_streams']} streams, ${atOnce} in one instant`, 'burst', ''),
  ].join('\n')}\n`
}
