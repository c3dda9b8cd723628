// bench loop: two chat calls and one tool, `concurrency` at a time, through three contenders in turn, against
// one provider.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Round, RoundResult } from './arm.ts'
import { langGraphPeers } from './peers.ts'

interface Arm {
  readonly key: string
  readonly title: string
  readonly file: URL
}

const here = (file: string): URL => new URL(file, import.meta.url)
const arms: readonly Arm[] = [
  { key: 'openai_client', title: '(a) openai client alone', file: here('./arm-openai.ts') },
  { key: 'beaver', title: '(b) Beaver, everything on', file: here('./arm-beaver.ts') },
  { key: 'langgraph', title: '(c) LangGraph.js, in-memory checkpointer', file: here('./arm-langgraph.ts') },
]

/** The Beaver of another checkout, which its own set-up has prepared. */
const besideArm = (folder: string): Arm => ({
  key: 'beside',
  title: `(d) Beaver of ${basename(resolve(folder))}`,
  file: pathToFileURL(resolve(folder, 'bench/loop/arm-beaver.ts')),
})

/** V8 compiles a daemon for some twenty seconds. */
const round: Round = {
  concurrency: 64,
  warmMs: 20_000,
  countedMs: Number(process.env['BENCH_COUNTED_MS'] ?? 6_000),
}
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const sync = 'always'

export async function run({
  json,
  args,
  beside,
}: {
  json: boolean
  args: readonly string[]
  beside: string | undefined
}): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const chosen = [
    ...(args.length === 0 ? arms : arms.filter((arm) => args.includes(arm.key))),
    ...(beside === undefined ? [] : [besideArm(beside)]),
  ]
  if (chosen.some((arm) => arm.key === 'langgraph')) langGraphPeers.install(say)
  const provider = start(here('./fake-provider.ts'), {})
  const [{ url }] = (await once(provider, 'message')) as [{ url: string }]
  const running: ChildProcess[] = [provider]
  const results = new Map<string, RoundResult[]>(chosen.map((arm) => [arm.key, []]))
  try {
    for (let i = 0; i < rounds; i++) {
      for (const arm of chosen) {
        const process_ = start(arm.file, { BENCH_PROVIDER_URL: url })
        running.push(process_)
        await once(process_, 'message')
        process_.send(round)
        const [result] = (await Promise.race([
          once(process_, 'message'),
          once(process_, 'exit').then(() => Promise.reject(new Error(`${arm.title} ended`))),
        ])) as [RoundResult]
        results.get(arm.key)?.push(result)
        say(
          `round ${i + 1}/${rounds}  ${arm.title.padEnd(44)} ${result.loopsPerSecond.toFixed(0).padStart(6)} loops/s`,
        )
        const gone = once(process_, 'exit')
        process_.disconnect()
        await gone
      }
    }
  } finally {
    for (const child of running) if (child.exitCode === null) child.kill()
  }
  const figures = Object.fromEntries(chosen.map(({ key }) => [key, figuresOf(results.get(key) ?? [])]))
  const rate = (key: string): number => figures[key]?.loops_per_second ?? Number.NaN
  const ratios = {
    beaver_vs_openai_client: rounded(rate('beaver') / rate('openai_client')),
    beaver_vs_langgraph: rounded(rate('beaver') / rate('langgraph')),
    beaver_vs_beside: rounded(besideRatio(results, (each) => each.loopsPerSecond)),
    beaver_vs_beside_cpu: rounded(besideRatio(results, (each) => each.cpuMsPerLoop)),
  }
  if (json) process.stdout.write(`${JSON.stringify({ bench: 'loop', figures, ratios, sync })}\n`)
  else process.stdout.write(table(chosen, figures, ratios))
}

function start(file: URL, env: Record<string, string>): ChildProcess {
  return fork(file, { env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

interface Figures {
  readonly loops_per_second: number
  readonly loops_per_second_min: number
  readonly loops_per_second_max: number
  readonly cpu_ms_per_loop: number
  readonly peak_mb: number
}

function figuresOf(results: readonly RoundResult[]): Figures {
  const rates = results.map((each) => each.loopsPerSecond).toSorted((a, b) => a - b)
  return {
    loops_per_second: Math.round(median(rates)),
    loops_per_second_min: Math.round(rates[0] ?? Number.NaN),
    loops_per_second_max: Math.round(rates.at(-1) ?? Number.NaN),
    cpu_ms_per_loop: rounded(median(results.map((each) => each.cpuMsPerLoop))),
    peak_mb: Math.round(Math.max(...results.map((each) => each.peakMb))),
  }
}

const rounded = (ratio: number): number => Math.round(ratio * 100) / 100

function table(
  chosen: readonly { key: string; title: string }[],
  figures: Readonly<Record<string, Figures>>,
  ratios: Readonly<
    Record<
      'beaver_vs_openai_client' | 'beaver_vs_langgraph' | 'beaver_vs_beside' | 'beaver_vs_beside_cpu',
      number
    >
  >,
): string {
  const lines = chosen.map(({ key, title }) => {
    const {
      loops_per_second: median,
      loops_per_second_min: min,
      loops_per_second_max: max,
      cpu_ms_per_loop,
      peak_mb,
    } = figures[key] as Figures
    return `${title.padEnd(44)} ${String(median).padStart(8)} ${`${min}–${max}`.padStart(12)} ${cpu_ms_per_loop.toFixed(2).padStart(12)} ${String(peak_mb).padStart(8)}`
  })
  return [
    '',
    `Two chat calls and one tool, ${round.concurrency} at a time; ${rounds} rounds in turn of ${round.countedMs / 1000} s, each after ${round.warmMs / 1000} s to warm up; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: ${sync}`,
    '',
    `${''.padEnd(44)} ${'loops/s'.padStart(8)} ${'min–max'.padStart(12)} ${'CPU ms/loop'.padStart(12)} ${'peak MiB'.padStart(8)}`,
    ...lines,
    '',
    ...ratioLine('Beaver / openai client ', ratios.beaver_vs_openai_client, '≥ 0.60'),
    ...ratioLine('Beaver / LangGraph.js  ', ratios.beaver_vs_langgraph, '≥ 4.00'),
    ...ratioLine('Beaver / beside, loops ', ratios.beaver_vs_beside, '≥ 0.98, the median of the rounds'),
    ...ratioLine('Beaver / beside, CPU   ', ratios.beaver_vs_beside_cpu, '≤ 1.02, the median of the rounds'),
    '',
  ].join('\n')
}

const ratioLine = (title: string, ratio: number, goal: string): string[] =>
  Number.isNaN(ratio) ? [] : [`${title} ${ratio.toFixed(2)}   (goal ${goal})`]

/**
 * The median of the ratios of each round: both run one after the other, so a machine that slows down slows
 * both.
 */
function besideRatio(
  results: ReadonlyMap<string, readonly RoundResult[]>,
  figure: (result: RoundResult) => number,
): number {
  const [mine = [], other = []] = [results.get('beaver'), results.get('beside')]
  return median(mine.flatMap((each, i) => (other[i] === undefined ? [] : [figure(each) / figure(other[i])])))
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
