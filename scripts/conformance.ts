// `pnpm conformance`: runs the conformance suite of MCP against a server that is built with @beaver/mcp.
// C1. Each scenario runs by its own protocol version, and those that 2026-07-28 shares with earlier ones by that one, too.
// C2. Exit code 0 only if nothing fails but what test/conformance/expected-failures.yml lists, and all of that fails.
// C3. Nothing leaves this machine: the server listens on loopback, and the suite asks it alone.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startFixture } from '../test/conformance/fixture-server.ts'
import { root } from './lib/layout.mjs'
import { run } from './lib/run.mjs'

const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
const expected = join(root, 'test', 'conformance', 'expected-failures.yml')
const timeoutMs = 85_000

/** Each run, and how many checks failed or passed in it. The second run has no scenario that is expected to fail. */
const runs: readonly (readonly string[])[] = [
  ['--suite', 'all', '--expected-failures', expected],
  ['--suite', 'all', '--spec-version', '2026-07-28'],
]

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))

await using server = await startFixture()
let passed = 0
let failed = 0
for (const options of runs) {
  const ran = await run(process.execPath, [suite, 'server', '--url', server.url, ...options], { cwd: root, signal: stop.signal, timeoutMs })
  const total = /^Total: (\d+) passed, (\d+) failed$/m.exec(ran.output)
  if (ran.code !== 0 || total === null) {
    process.stdout.write(`${ran.output.slice(ran.output.indexOf('=== SUMMARY ==='))}\n${ran.timedOut ? `It did not end within ${timeoutMs / 1_000} s.\n` : ''}`)
    process.exitCode = 1
  }
  passed += Number(total?.[1] ?? 0)
  failed += Number(total?.[2] ?? 0)
}
process.stdout.write(`MCP conformance: ${passed} checks passed, ${failed} failed${process.exitCode === 1 ? '' : ' as expected'}\n`)
