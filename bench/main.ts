// pnpm bench <name> [--json] [--beside FOLDER]: figures, side by side in one run. See bench/README.md for
// what each one measures.
import { parseArgs } from 'node:util'

interface BenchOptions {
  readonly json: boolean
  readonly args: readonly string[]
  /** The folder of another checkout of Beaver that is measured too. Only `loop` does that. */
  readonly beside: string | undefined
}

const benches: Readonly<Record<string, () => Promise<{ run(options: BenchOptions): Promise<void> }>>> = {
  loop: () => import('./loop/bench.ts'),
  fanout: () => import('./fanout/bench.ts'),
  chain: () => import('./chain/bench.ts'),
  durable: () => import('./durable/bench.ts'),
  projection: () => import('./projection/bench.ts'),
  readers: () => import('./readers/bench.ts'),
  recover: () => import('./recover/bench.ts'),
  idle: () => import('./idle/bench.ts'),
  injection: () => import('./injection/bench.ts'),
  gateway: () => import('./gateway/bench.ts'),
  stream: () => import('./stream/bench.ts'),
  call: () => import('./call/bench.ts'),
  tokens: () => import('./tokens/bench.ts'),
  budgets: () => import('./budgets/bench.ts'),
  console: () => import('./console/bench.ts'),
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  strict: false,
  options: { json: { type: 'boolean', default: false }, beside: { type: 'string' } },
})
const [name = '', ...args] = positionals
const bench = benches[name]
if (bench === undefined) {
  process.stderr.write(
    `Usage: pnpm bench <name> [--json] [--beside FOLDER]   names: ${Object.keys(benches).join(', ')}\n`,
  )
  process.exit(2)
}
const { run } = await bench()
const beside = typeof values['beside'] === 'string' ? values['beside'] : undefined
if (beside !== undefined && name !== 'loop') {
  process.stderr.write('Only the bench loop measures another checkout beside this one.\n')
  process.exit(2)
}
await run({ json: values['json'] === true, args, beside })
process.exit()
