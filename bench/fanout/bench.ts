// bench fanout: a team of independent nodes over a model with latency. How far is the team's time from the
// ideal, in which nothing but the model takes time: ceil(nodes / concurrency) × calls a node × latency? The
// time is the journal's: from `task_team_run_started` to `task_team_run_completed`, as the daemon stamped
// them.
import { cpus } from 'node:os'
import type { BeaverClient } from '@beaver/client'
import { type BenchedBeaver, startBeaver } from '../beaver.ts'
import { startTeamProvider, teamTask } from '../team-provider.ts'

const nodes = 100
const latencyMs = 50
const callsPerNode = 1
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 9)
const warmRounds = 25
const goal = 1.3
const sync = 'always'

/** Arguments are concurrencies: `pnpm bench fanout 16 50`. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const concurrencies = args.length === 0 ? [16, 50] : args.map(Number)
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const provider = await startTeamProvider(latencyMs)
  const beavers = new Map<number, BenchedBeaver>()
  const times = new Map<number, number[]>(concurrencies.map((each) => [each, []]))
  try {
    for (const each of concurrencies)
      beavers.set(each, await startBeaver(provider.url, { team: { concurrent_nodes_max: each } }))
    for (let round = 1 - warmRounds; round <= rounds; round++) {
      for (const [concurrency, { client }] of beavers) {
        const ms = await teamMs(client)
        if (round < 1) continue
        times.get(concurrency)?.push(ms)
        say(
          `round ${round}/${rounds}  ${nodes} nodes, ${concurrency} at a time  ${ms} ms, ideal ${idealMs(concurrency)} ms`,
        )
      }
    }
  } finally {
    for (const beaver of beavers.values()) await beaver.stop()
    provider.stop()
  }
  const figures = concurrencies.map((each) => figuresOf(each, times.get(each) ?? []))
  if (json) process.stdout.write(`${JSON.stringify(jsonOf(figures))}\n`)
  else process.stdout.write(table(figures))
}

async function teamMs(client: BeaverClient): Promise<number> {
  const { status, task_id, outputs } = await client.run({ task: teamTask('ConcurrentWorkflow', nodes) })
  if (status !== 'completed' || outputs.length !== nodes)
    throw new Error(`the task ended ${status} with ${outputs.length} outputs`)
  let begun = NaN
  for await (const { type, time } of client.watch(task_id)) {
    if (type === 'task_team_run_started') begun = Date.parse(time)
    if (type === 'task_team_run_completed') return Date.parse(time) - begun
  }
  throw new Error('the journal has no end of the team')
}

const idealMs = (concurrency: number): number => Math.ceil(nodes / concurrency) * callsPerNode * latencyMs

interface Figures {
  readonly concurrency: number
  readonly ideal_ms: number
  readonly team_ms: number
  readonly team_ms_min: number
  readonly team_ms_max: number
  readonly ratio: number
}

function figuresOf(concurrency: number, times: readonly number[]): Figures {
  const sorted = times.toSorted((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? NaN
  const ideal = idealMs(concurrency)
  return {
    concurrency,
    ideal_ms: ideal,
    team_ms: median,
    team_ms_min: sorted[0] ?? NaN,
    team_ms_max: sorted.at(-1) ?? NaN,
    ratio: Math.round((median / ideal) * 100) / 100,
  }
}

function jsonOf(all: readonly Figures[]): object {
  const figures = Object.fromEntries(all.map((each) => [`concurrency_${each.concurrency}`, each]))
  const ratios = Object.fromEntries(
    all.map(({ concurrency, ratio }) => [`team_vs_ideal_${concurrency}`, ratio]),
  )
  return { bench: 'fanout', figures, ratios, sync }
}

function table(all: readonly Figures[]): string {
  const lines = all.map((each) => {
    const cells = [
      `${each.ideal_ms}`,
      `${each.team_ms}`,
      `${each.team_ms_min}–${each.team_ms_max}`,
      each.ratio.toFixed(2),
    ]
    return `${`${nodes} nodes, ${each.concurrency} at a time`.padEnd(28)}${cells.map((cell) => cell.padStart(12)).join('')}`
  })
  return [
    '',
    `${nodes} independent nodes of ${callsPerNode} call each, ${latencyMs} ms a call; ${rounds} rounds in turn; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: ${sync}`,
    '',
    `${''.padEnd(28)}${['ideal ms', 'median ms', 'min–max', 'ratio'].map((cell) => cell.padStart(12)).join('')}`,
    ...lines,
    '',
    `Goal: a ratio below ${goal.toFixed(2)}`,
    '',
  ].join('\n')
}
