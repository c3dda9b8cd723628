// `pnpm conformance`: runs the conformance suite of MCP against a server that is built with @beaver/mcp.
// `pnpm conformance:client` runs it against the client of @beaver/mcp. Each scenario runs by its own protocol
// version, and those that 2026-07-28 shares with earlier ones by that one, too. Exit code 0 only if nothing
// fails but what test/conformance/expected-failures.yml lists, and all of that fails. Nothing leaves this
// machine: servers listen on loopback, and only they are asked.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startFixture } from '../test/conformance/fixture-server.ts'
import { root } from './lib/layout.mjs'
import { run } from './lib/run.mjs'

const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
const expected = join(root, 'test', 'conformance', 'expected-failures.yml')
const clientProgram = join(root, 'test', 'conformance', 'client-program.ts')
const serverMsMax = 85_000
const clientMsMax = 60_000
const newest = '2026-07-28'

interface Outcome {
  readonly passed: number
  readonly failed: number
  /** What a person reads if something is not as expected. */
  readonly wrong: string | null
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))

const what = process.argv[2] ?? 'server'
const outcomes = what === 'client' ? await clientOutcomes() : await serverOutcomes()
for (const { wrong } of outcomes) if (wrong !== null) process.stdout.write(`${wrong}\n`)
process.exitCode = outcomes.length > 0 && outcomes.every(({ wrong }) => wrong === null) ? 0 : 1
const sum = (of: 'passed' | 'failed'): number => outcomes.reduce((all, each) => all + each[of], 0)
const end = process.exitCode === 1 ? '' : ' as expected'
process.stdout.write(
  `MCP conformance of the ${what}: ${sum('passed')} checks passed, ${sum('failed')} failed${end}\n`,
)

/** The second run has no scenario that is expected to fail. */
async function serverOutcomes(): Promise<Outcome[]> {
  await using server = await startFixture()
  const outcomes: Outcome[] = []
  for (const options of [
    ['--suite', 'all', '--expected-failures', expected],
    ['--suite', 'all', '--spec-version', newest],
  ]) {
    const ran = await suiteWith(['server', '--url', server.url, ...options], serverMsMax)
    const total = /^Total: (\d+) passed, (\d+) failed$/m.exec(ran.output)
    const wrong =
      ran.code === 0 && total !== null
        ? null
        : `${ran.output.slice(ran.output.indexOf('=== SUMMARY ==='))}${lateness(ran.timedOut, serverMsMax)}`
    outcomes.push({ passed: Number(total?.[1] ?? 0), failed: Number(total?.[2] ?? 0), wrong })
  }
  return outcomes
}

/** The suite would start all clients at once. Here each processor has one. */
async function clientOutcomes(): Promise<Outcome[]> {
  const listed = await suiteWith(['list', '--client'], serverMsMax)
  const due = [...listed.output.matchAll(/^ {2}- (\S+) \[(.+)\]$/gm)].flatMap(
    ([, name = '', versions = '']) => {
      const known = versions.split(',')
      return [
        [name],
        ...(known.length > 1 && known.includes(newest) ? [[name, '--spec-version', newest]] : []),
      ]
    },
  )
  const outcomes: Outcome[] = []
  const next = async (): Promise<void> => {
    for (let scenario = due.shift(); scenario !== undefined && !stop.signal.aborted; scenario = due.shift())
      outcomes.push(await clientOutcome(scenario))
  }
  await Promise.all(Array.from({ length: availableParallelism() }, next))
  return outcomes
}

async function clientOutcome(scenario: readonly string[]): Promise<Outcome> {
  const command = `"${process.execPath}" "${clientProgram}"`
  const options = [
    'client',
    '--command',
    command,
    '--timeout',
    String(clientMsMax),
    '--expected-failures',
    expected,
    '--scenario',
    ...scenario,
  ]
  const ran = await suiteWith(options, clientMsMax + 5_000)
  const total = /^Passed: (\d+)\/\d+, (\d+) failed/m.exec(ran.output)
  const wrong =
    ran.code === 0
      ? null
      : `${scenario.join(' ')}\n${ran.output.slice(ran.output.indexOf('Test Results:'))}${lateness(ran.timedOut, clientMsMax)}`
  return { passed: Number(total?.[1] ?? 0), failed: Number(total?.[2] ?? 0), wrong }
}

function suiteWith(options: readonly string[], timeoutMs: number): ReturnType<typeof run> {
  return run(process.execPath, [suite, ...options], { cwd: root, signal: stop.signal, timeoutMs })
}

function lateness(timedOut: boolean, ms: number): string {
  return timedOut ? `\nIt did not end within ${ms / 1_000} s.\n` : ''
}
