import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { commandLine, permissionOf, startGroup, ToolFailure, ToolInputError } from '@beaver/agent/tool-kit'
import { toolContext, until } from '@beaver/testing'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { type CommandResult, runCommand } from './run-command.ts'

const toolKit = createRequire(import.meta.url).resolve('@beaver/agent/tool-kit')

let workspace: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-command-')))
})
afterEach(() => rm(workspace, { recursive: true }))

const tool = (timeoutMs = 60_000, outputBytesMax = 65_536) =>
  runCommand({ enabled: true, timeoutMs, outputBytesMax, tmpBytesMax: 67_108_864, network: [] })
async function run(
  command: string,
  args: readonly string[] = [],
  { of = tool(), signal = new AbortController().signal } = {},
): Promise<CommandResult> {
  return JSON.parse(await of.invoke({ command, args }, toolContext({ workspace, signal }))) as CommandResult
}
const sh = (script: string, options?: Parameters<typeof run>[2]): Promise<CommandResult> =>
  run('sh', ['-c', script], options)

const written = (file: string): number | null => {
  try {
    return Number(readFileSync(join(workspace, file), 'utf8')) || null
  } catch {
    return null
  }
}
/** Neither running nor waiting to be collected by somebody who is gone. */
const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}
/** They sleep for longer than a test may take. */
const childAndGrandchild =
  'echo $$ > child; (trap "" TERM; echo started; sleep 600 & echo $! > grandchild; wait) & sleep 600 & wait'

describe('a command', () => {
  it('runs in the workspace, and its outcome is told', async () => {
    const { duration_ms, ...result } = await sh('pwd; echo trouble >&2; exit 3')
    expect(result).toEqual({
      command: "sh -c 'pwd; echo trouble >&2; exit 3'",
      exit_code: 3,
      signal: null,
      stdout: `${workspace}\n`,
      stderr: 'trouble\n',
    })
    expect(duration_ms).toBeGreaterThanOrEqual(0)
    expect(await sh('kill -SEGV $$')).toMatchObject({ exit_code: null, signal: 'SIGSEGV' })
  })

  it('gets its arguments as they are: no shell looks at them', async () => {
    const args = ['$HOME', '`id`', '; rm -rf .', '*', '', "it's", '\n', '--', '你好']
    expect((await run('printf', ['%s|', ...args])).stdout).toBe(args.map((arg) => `${arg}|`).join(''))
  })

  it('may be a file of the workspace', async () => {
    await writeFile(join(workspace, 'mine.sh'), '#!/bin/sh\necho "mine: $1"\n', { mode: 0o755 })
    expect((await run('./mine.sh', ['x'])).stdout).toBe('mine: x\n')
  })

  it('that is not there is told by exit code 127', async () => {
    expect(await run('no-such-program')).toMatchObject({
      exit_code: 127,
      stderr: expect.stringContaining('no-such-program') as string,
    })
  })

  it('has an empty standard input and knows nothing of our environment', async () => {
    process.env['BEAVER_TEST_KEY'] = 'secret'
    try {
      const { stdout } = await sh('cat; env')
      expect([stdout.includes('PATH='), stdout.includes('BEAVER'), stdout.includes('secret')]).toEqual([
        true,
        false,
        false,
      ])
      // Its output and its errors, and not the pipe of the guard.
      expect((await run('ls', ['-l', '/proc/self/fd'])).stdout.match(/socket/g)).toHaveLength(2)
    } finally {
      delete process.env['BEAVER_TEST_KEY']
    }
  })

  it('that says a lot is told by its beginning and its end', async () => {
    const { stdout } = await sh('echo first; head -c 30000000 /dev/zero | tr "\\0" x; echo; echo last', {
      of: tool(60_000, 2_000),
    })
    expect(stdout).toMatch(/^first\nx+\n\[… 29\d+ bytes left out …\]\nx+\nlast\n$/)
    expect(stdout.length).toBeLessThan(1_100)
  })

  test.each([
    ['', []],
    ['a\0b', []],
    ['sh', ['\0']],
    ['x'.repeat(40_000), []],
    ['sh', Array.from({ length: 257 }, () => 'x')],
  ])('of %j is refused', async (command, args) => {
    await expect(run(command, args)).rejects.toBeInstanceOf(ToolInputError)
  })

  it('may not write a file of more than a gigabyte', async () => {
    const { exit_code, signal } = await sh('ulimit -f; ulimit -t; ulimit -c')
    expect([exit_code, signal]).toEqual([0, null])
    expect((await sh('ulimit -f; ulimit -t; ulimit -c')).stdout).toBe('2097152\n61\n0\n')
  })
})

describe('nothing of a command is left', () => {
  it('when it has ended and left something behind', async () => {
    await sh('sleep 60 >/dev/null 2>&1 & echo $! > child; trap "" TERM; sleep 60 & echo $! > grandchild')
    for (const file of ['child', 'grandchild'])
      await until(`${file} is gone`, () => isGone(written(file) ?? 0))
  })

  it('at the deadline, with whatever it started, also what ignores the request to end', async () => {
    const thrown: unknown = await sh(`trap '' TERM; ${childAndGrandchild}`, { of: tool(400) }).catch(
      (error: unknown) => error,
    )
    expect(thrown).toBeInstanceOf(ToolFailure)
    expect(thrown).toMatchObject({
      code: 'tool_timeout',
      message: expect.stringContaining('{"stdout":"started\\n"') as string,
    })
    for (const file of ['child', 'grandchild'])
      await until(`${file} is gone`, () => isGone(written(file) ?? 0))
  })

  it('when the run is cancelled', async () => {
    const stop = new AbortController()
    const running = sh(childAndGrandchild, { signal: stop.signal })
    const grandchild = await until('it has started', () => written('grandchild'))
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    await until('the grandchild is gone', () => isGone(grandchild))
  })

  it('when what started it is gone: the thread', async () => {
    const source = `import { startGroup } from ${JSON.stringify(pathToFileURL(toolKit).href)}
      startGroup('sh', ['-c', ${JSON.stringify(childAndGrandchild)}], { cwd: ${JSON.stringify(workspace)}, env: { PATH: ${JSON.stringify(process.env['PATH'])} } })`
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`))
    const grandchild = await until('it has started', () => written('grandchild'))
    await worker.terminate()
    await until('the grandchild is gone', () => isGone(grandchild))
  })

  it('when what started it is gone: the process, killed', async () => {
    const source = `import { startGroup } from ${JSON.stringify(toolKit)}
      startGroup('sh', ['-c', ${JSON.stringify(childAndGrandchild)}], { cwd: ${JSON.stringify(workspace)}, env: { PATH: ${JSON.stringify(process.env['PATH'])} } })`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: 'ignore' })
    const grandchild = await until('it has started', () => written('grandchild'))
    parent.kill('SIGKILL')
    await until('the grandchild is gone', () => isGone(grandchild))
  })

  it('when it cannot be started at all', async () => {
    const { ended } = startGroup('true', [], { cwd: join(workspace, 'absent'), env: {} })
    expect((await ended).error?.message).toContain('ENOENT')
  })
})

describe('rules and people', () => {
  it('see the command as one would type it, and are asked', () => {
    const rules = [{ tool: 'run_command', pattern: 'git status*', decision: 'allow' }] as const
    expect(permissionOf(tool(), { command: 'git', args: ['status', '-s'] }, rules).decision).toBe('allow')
    expect(permissionOf(tool(), { command: 'git', args: ['push'] }, rules)).toEqual({
      decision: 'ask',
      subject: 'git push',
      rule: null,
    })
    expect(permissionOf(tool(), { command: 'git status' }, rules)).toEqual({
      decision: 'ask',
      subject: "'git status'",
      rule: null,
    })
  })

  it('hold for what the command would start, too', () => {
    const rules = [{ tool: 'run_command', pattern: 'git push*', decision: 'deny' }] as const
    const of = (command: string, ...args: string[]) => permissionOf(tool(), { command, args }, rules)
    expect(of('env', 'git', '-C', '.', 'push')).toEqual({
      decision: 'deny',
      subject: 'env git -C . push',
      rule: 'deny run_command git push* (this could be: git push)',
    })
    expect(
      [of('sh', '-c', 'ls; g""it  push'), of('git', '-c', 'alias.x=!id', 'x'), of('git', 'status')].map(
        ({ decision }) => decision,
      ),
    ).toEqual(['deny', 'ask', 'ask'])
  })

  it('see a line that a shell reads back as just these arguments', () => {
    const printable = fc.string({
      unit: fc.constantFrom('a', ' ', "'", '"', '\\', '$', '`', '*', '\n', ';', '-', '你'),
    })
    fc.assert(
      fc.property(fc.array(printable, { maxLength: 4 }), (args) => {
        const read = execFileSync('sh', ['-c', `printf '%s\\0' ${commandLine(['x', ...args])}`], {
          encoding: 'utf8',
        })
        expect(read).toBe(['x', ...args].map((arg) => `${arg}\0`).join(''))
      }),
      { numRuns: 15 },
    )
  })
})

it('tells a program the trace of the call, and never one of the daemon', async () => {
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }
  const said = async (over: object): Promise<string> => {
    const args = ['-c', 'echo "$TRACEPARENT $TRACESTATE"']
    const result = await tool().invoke({ command: 'sh', args }, toolContext({ workspace, ...over }))
    return (JSON.parse(result) as CommandResult).stdout.trim()
  }
  process.env['TRACEPARENT'] = 'of the daemon'
  try {
    expect(await said({ trace })).toBe(`${trace.traceparent} a=1`)
    expect(await said({})).toBe('')
  } finally {
    delete process.env['TRACEPARENT']
  }
})
