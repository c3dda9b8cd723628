// For the tests of connections: a folder of its own for each, the fixture server as a program, and nothing
// left behind.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Clock, loggerOver, type LogLine, systemClock } from '@beaver/core'
import { until as untilOf } from '@beaver/testing'
import type { McpProgramSpec, McpServerSpec } from '../src/client/server-spec.ts'
import { type McpConnections, type McpOptions, startMcpServers } from '../src/client/start-mcp-servers.ts'

export const fixture = fileURLToPath(new URL('./fixture-server.ts', import.meta.url))
const rawFixture = fileURLToPath(new URL('./raw-server.ts', import.meta.url))

export interface Bench {
  readonly folder: string
  readonly pinsFile: string
  /** What was logged. */
  readonly logged: LogLine[]
  program(mode: string, changes?: Partial<McpProgramSpec>): McpProgramSpec
  /** The server of raw-server.ts. */
  raw(env: Readonly<Record<string, string>>, changes?: Partial<McpProgramSpec>): McpProgramSpec
  start(
    servers: Readonly<Record<string, McpServerSpec>>,
    options?: Partial<McpOptions>,
  ): Promise<McpConnections>
  /** The lines of a file the fixture writes. */
  lines(name: 'starts' | 'calls' | 'children'): string[]
}

/** @param test what vitest gives a test: those that run at the same time each have their own */
export function bench({ onTestFinished }: { onTestFinished(act: () => Promise<void>): void }): Bench {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-mcp-'))
  const open: McpConnections[] = []
  const logged: LogLine[] = []
  onTestFinished(async () => {
    await Promise.all(open.map((each) => each.close()))
    rmSync(folder, { recursive: true, force: true })
  })
  const pinsFile = join(folder, 'home', 'mcp-pins.json')
  const program: Bench['program'] = (mode, changes) => ({
    command: process.execPath,
    args: [fixture, mode],
    env: { FIXTURE_DIR: folder },
    permission: 'allow',
    timeout_ms: 30_000,
    restarts_max: 5,
    ...changes,
  })
  return {
    folder,
    pinsFile,
    logged,
    program,
    raw: (env, changes) =>
      program('', { args: [rawFixture], env: { FIXTURE_DIR: folder, ...env }, ...changes }),
    async start(servers, options) {
      const started = await startMcpServers(servers, {
        environment: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
        pinsFile,
        version: '0.0.0',
        random: () => 0,
        leaveMsMax: 300,
        logger: loggerOver((line) => logged.push(line)),
        ...options,
      })
      open.push(started)
      return started
    },
    lines(name) {
      try {
        return readFileSync(join(folder, name), 'utf8').trim().split('\n')
      } catch {
        return []
      }
    },
  }
}

export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Time that runs `times` as fast. */
export const quickClock = (times: number): Clock => ({
  now: systemClock.now,
  after: (delayMs, act) => systemClock.after(delayMs / times, act),
})

/** Many of these wait at the same time: they look now and then, and leave the processor to the servers. */
export const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

const never = (): AbortSignal => new AbortController().signal

export const call = (
  connections: McpConnections,
  name: string,
  args: Record<string, number> = {},
  signal: AbortSignal = never(),
) => connections.call({ name, callId: 'call_1', arguments: args }, signal)
