// pnpm bench <name> [--json]: figures, side by side in one run. See bench/README.md for what each one measures.
import { parseArgs } from 'node:util'

const benches: Readonly<Record<string, () => Promise<{ run(options: { json: boolean; args: readonly string[] }): Promise<void> }>>> = {
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
  tokens: () => import('./tokens/bench.ts'),
}

const { values, positionals } = parseArgs({ allowPositionals: true, strict: false, options: { json: { type: 'boolean', default: false } } })
const [name = '', ...args] = positionals
const bench = benches[name]
if (bench === undefined) {
  process.stderr.write(`Usage: pnpm bench <name> [--json]   names: ${Object.keys(benches).join(', ')}\n`)
  process.exit(2)
}
const { run } = await bench()
await run({ json: values['json'] === true, args })
process.exit(0)
