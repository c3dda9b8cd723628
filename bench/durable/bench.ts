// bench durable: a chain of durable steps, each one call of a model without latency, through Beaver and
// through Restate in turn. Both are as they come: Beaver appends each fact to JetStream, which syncs every
// write; Restate writes its log to RocksDB, whose write-ahead log it syncs. Beaver's step is an agent with a
// prompt, a journaled answer and its evidence gate; Restate's is `ctx.run`.
import { cpus } from 'node:os'
import { type BenchedBeaver, startBeaver } from '../beaver.ts'
import { startTeamProvider } from '../team-provider.ts'
import { type BenchedRestate, restatePeers, restateVersion, startRestate } from './restate.ts'

const cases = [
  {
    key: 'chain_1_caller',
    title: 'three steps, 1 caller',
    steps: 3,
    callers: 1,
    figure: 'p50_ms',
    goal: 'Beaver / Restate ≤ 1.00',
  },
  {
    key: 'chain_64_callers',
    title: 'three steps, 64 callers',
    steps: 3,
    callers: 64,
    figure: 'per_second',
    goal: 'Beaver / Restate ≥ 2.00',
  },
  {
    key: 'five_steps_64_callers',
    title: 'five steps, 64 callers',
    steps: 5,
    callers: 64,
    figure: 'per_second',
    goal: 'Beaver / Restate ≥ 2.00',
  },
  {
    key: 'chain_256_callers',
    title: 'three steps, 256 callers',
    steps: 3,
    callers: 256,
    figure: 'p99_over_p50',
    goal: "Beaver's p99 ≤ 2.00 × its p50",
  },
] as const
type Case = (typeof cases)[number]

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const countedMs = Number(process.env['BENCH_COUNTED_MS'] ?? 4_000)
const warmMs = Number(process.env['BENCH_WARM_MS'] ?? 8_000)
const products = ['beaver', 'restate'] as const
type Product = (typeof products)[number]
type Call = (steps: number) => Promise<void>

/** Arguments are keys of cases. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const chosen = args.length === 0 ? cases : cases.filter(({ key }) => args.includes(key))
  restatePeers.install(say)
  const provider = await startTeamProvider(0)
  let beaver: BenchedBeaver | null = null
  let restate: BenchedRestate | null = null
  const samples = new Map<string, Sample[]>()
  try {
    beaver = await startBeaver(provider.url)
    restate = await startRestate(provider.url)
    const calls = { beaver: beaverCall(beaver), restate: restateCall(restate) }
    for (const product of products) await measure(calls[product], { steps: 3, callers: 64, ms: warmMs })
    for (let round = 1; round <= rounds; round++) {
      for (const each of chosen) {
        for (const product of round % 2 === 0 ? products.toReversed() : products) {
          const sample = await measure(calls[product], { ...each, ms: countedMs })
          const key = `${each.key} ${product}`
          samples.set(key, [...(samples.get(key) ?? []), sample])
          say(
            `round ${round}/${rounds}  ${each.title.padEnd(26)} ${product.padEnd(8)} ${sample.perSecond.toFixed(0).padStart(6)}/s  p50 ${sample.p50Ms.toFixed(1)} ms`,
          )
        }
      }
    }
  } finally {
    await beaver?.stop()
    await restate?.stop()
    provider.stop()
  }
  const figures = Object.fromEntries(chosen.map((each) => [each.key, figuresOf(each, samples)]))
  if (json) {
    const ratios = Object.fromEntries(chosen.map(({ key }) => [key, figures[key]?.ratio]))
    process.stdout.write(
      `${JSON.stringify({ bench: 'durable', figures, ratios, sync: 'always', restate: restateVersion })}\n`,
    )
  } else process.stdout.write(table(chosen, figures))
}

function beaverCall({ client }: BenchedBeaver): Call {
  return async (steps) => {
    const agents = Array.from({ length: steps }, (_, i) => ({
      name: `agent ${i}`,
      instruction: `Do part ${i}.`,
    }))
    const { status, outputs } = await client.run({
      workflow: { name: 'SequentialWorkflow', arguments: { task: 'A bench.', agents } },
    })
    if (status !== 'completed' || outputs.length !== 1)
      throw new Error(`the task ended ${status} with ${outputs.length} outputs`)
  }
}

function restateCall({ call }: BenchedRestate): Call {
  return async (steps) => {
    const { outputs } = await call({ steps })
    if (outputs.length !== steps || outputs.includes(''))
      throw new Error(`Restate gave ${outputs.length} outputs`)
  }
}

interface Sample {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

async function measure(
  call: Call,
  { steps, callers, ms }: { steps: number; callers: number; ms: number },
): Promise<Sample> {
  const times: number[] = []
  const since = performance.now()
  const caller = async (): Promise<void> => {
    while (performance.now() - since < ms) {
      const begun = performance.now()
      await call(steps)
      times.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? NaN
  return { perSecond: (times.length * 1_000) / (performance.now() - since), p50Ms: at(0.5), p99Ms: at(0.99) }
}

type Figures = Readonly<
  Record<Product, { readonly per_second: number; readonly p50_ms: number; readonly p99_ms: number }>
> & { readonly ratio: number }

function figuresOf({ key, figure }: Case, samples: ReadonlyMap<string, readonly Sample[]>): Figures {
  const of = (product: Product): { per_second: number; p50_ms: number; p99_ms: number } => {
    const all = samples.get(`${key} ${product}`) ?? []
    return {
      per_second: rounded(median(all.map(({ perSecond }) => perSecond))),
      p50_ms: rounded(median(all.map(({ p50Ms }) => p50Ms))),
      p99_ms: rounded(median(all.map(({ p99Ms }) => p99Ms))),
    }
  }
  const both = { beaver: of('beaver'), restate: of('restate') }
  const { beaver, restate } = both
  return {
    ...both,
    ratio: rounded(
      figure === 'p99_over_p50' ? beaver.p99_ms / beaver.p50_ms : beaver[figure] / restate[figure],
    ),
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

const names = { p50_ms: 'p50', per_second: 'rate', p99_over_p50: 'p99 / p50' } as const

function table(chosen: readonly Case[], figures: Readonly<Record<string, Figures>>): string {
  const lines = chosen.flatMap(({ key, title, figure, goal }) => {
    const all = figures[key] as Figures
    return [
      ...products.map((product) => {
        const { per_second, p50_ms, p99_ms } = all[product]
        return `${`${title}, ${product}`.padEnd(36)}${[per_second, p50_ms, p99_ms].map((value) => String(value).padStart(10)).join('')}`
      }),
      `${''.padEnd(36)}${`${names[figure]}: ${all.ratio.toFixed(2)}`.padStart(30)}   (goal: ${goal})`,
    ]
  })
  return [
    '',
    `Durable steps of one model call each, no latency; medians of ${rounds} rounds of ${countedMs / 1_000} s in turn; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; Restate ${restateVersion}`,
    '',
    `${''.padEnd(36)}${['a second', 'p50 ms', 'p99 ms'].map((cell) => cell.padStart(10)).join('')}`,
    ...lines,
    '',
  ].join('\n')
}
