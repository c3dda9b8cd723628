// bench chain: a long chain of nodes over a model without latency. Does a node late in the chain cost what an
// early one costs? Anything quadratic in the size of the graph or of the log shows in the last quarter. The
// times are the journal's.
import { cpus } from 'node:os'
import { startBeaver } from '../beaver.ts'
import { startTeamProvider, teamTask } from '../team-provider.ts'

const nodes = Number(process.env['BENCH_NODES'] ?? 2_000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const goal = 1.5
const sync = 'always'

export async function run({ json }: { json: boolean }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const provider = await startTeamProvider(0)
  const beaver = await startBeaver(provider.url, { team: { agents_max: nodes } })
  const chains: Chain[] = []
  try {
    for (let round = 0; round <= rounds; round++) {
      const warm = round === 0
      const { task_id, status } = await beaver.client.run({
        task: teamTask('SequentialWorkflow', warm ? Math.min(nodes, 200) : nodes),
      })
      if (status !== 'completed') throw new Error(`the task ended ${status}`)
      if (warm) continue
      const starts: number[] = []
      for await (const { type, time } of beaver.client.watch(task_id))
        if (type === 'node_started') starts.push(Date.parse(time))
      const chain = chainOf(starts)
      chains.push(chain)
      say(
        `round ${round}/${rounds}  ${nodes} nodes, ms a node by quarter: ${chain.quarters.map((ms) => ms.toFixed(1)).join(' ')}`,
      )
    }
  } finally {
    await beaver.stop()
    provider.stop()
  }
  const figures = {
    nodes,
    ms_per_node: median(chains.map((each) => each.ms)),
    ms_per_node_min: Math.min(...chains.map((each) => each.ms)),
    ms_per_node_max: Math.max(...chains.map((each) => each.ms)),
    ms_per_node_first_quarter: median(chains.map((each) => each.quarters[0] ?? NaN)),
    ms_per_node_last_quarter: median(chains.map((each) => each.quarters.at(-1) ?? NaN)),
  }
  const ratios = {
    last_vs_first_quarter: rounded(figures.ms_per_node_last_quarter / figures.ms_per_node_first_quarter),
  }
  if (json) process.stdout.write(`${JSON.stringify({ bench: 'chain', figures, ratios, sync })}\n`)
  else
    process.stdout.write(
      [
        '',
        `A chain of ${nodes} nodes of one call each, no latency; ${rounds} rounds; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: ${sync}`,
        '',
        `ms a node                    ${figures.ms_per_node}   (${figures.ms_per_node_min}–${figures.ms_per_node_max})`,
        `first quarter, last quarter  ${figures.ms_per_node_first_quarter}, ${figures.ms_per_node_last_quarter}`,
        `last / first                 ${ratios.last_vs_first_quarter.toFixed(2)}   (goal < ${goal.toFixed(2)})`,
        '',
      ].join('\n'),
    )
}

interface Chain {
  readonly ms: number
  readonly quarters: readonly number[]
}

function chainOf(starts: readonly number[]): Chain {
  const perNode = (from: number, to: number): number =>
    rounded(((starts[to] ?? NaN) - (starts[from] ?? NaN)) / (to - from))
  const last = starts.length - 1
  const marks = [0, 1, 2, 3, 4].map((quarter) => Math.round((last * quarter) / 4))
  return { ms: perNode(0, last), quarters: marks.slice(1).map((to, i) => perNode(marks[i] ?? 0, to)) }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
