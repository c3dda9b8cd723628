import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, readFileSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Clock, type Logger, loggerOver, type LogLine, systemClock } from '@beaver/core'
import { toolContext, until, virtualClock } from '@beaver/testing'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { executeTool, type ToolResult } from '../execute-tool.ts'
import { loadTools } from '../load-tools.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { cellPrints } from './cell-end.ts'

let tools: readonly Tool[]
beforeAll(async () => {
  const loaded = await loadTools([], [fileURLToPath(new URL('../../../test/cell-tools.ts', import.meta.url))])
  expect(loaded.diagnostics).toEqual([])
  tools = loaded.tools
})

let workspace: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-cell-')))
})
afterEach(() => rm(workspace, { recursive: true }))

const contentOf = (file: string): string => {
  try {
    return readFileSync(join(workspace, file), 'utf8')
  } catch {
    return ''
  }
}
/** A pipe in the workspace, for a tool that runs on. `gone` resolves when nobody holds it open any more. */
function pipe(file: string): { readonly begun: Promise<unknown>; readonly gone: Promise<unknown> } {
  execFileSync('mkfifo', [join(workspace, file)])
  const stream = createReadStream(join(workspace, file))
  const [begun, gone] = [once(stream, 'data'), once(stream, 'end')]
  return { begun, gone }
}

interface Call {
  readonly size?: number
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  readonly clock?: Clock
  readonly logger?: Logger
  readonly progress?: ToolContext['progress']
  readonly trace?: ToolContext['trace']
}

function call(
  isolation: string,
  what: string,
  {
    size,
    timeoutMs = 60_000,
    signal = new AbortController().signal,
    clock = systemClock,
    logger,
    progress = () => {},
    trace,
  }: Call = {},
): Promise<ToolResult> {
  const tool = tools.find(({ name }) => name === `in_${isolation}`)
  const args = { what, ...(size === undefined ? {} : { size }) }
  const limits = { timeoutMs, signal, clock, logger }
  return executeTool(
    tool,
    { name: `in_${isolation}`, arguments: JSON.stringify(args) },
    toolContext({ workspace, progress, ...(trace === undefined ? {} : { trace }) }),
    limits,
  )
}

describe.each(['thread', 'process'])('a %s of its own', (isolation) => {
  it('gives the result, with the workspace and the ids and nothing else of the host', async () => {
    const { success, content } = await call(isolation, 'context')
    expect(success).toBe(true)
    const ids = { taskId: 'task1', sessionId: 'session1', runId: 'run1', callId: 'call1' }
    expect(JSON.parse(content)).toEqual({ aborted: false, skills: [], sharedState: null, workspace, ...ids })
    expect(await call(isolation, 'memory')).toMatchObject({ error: 'not_in_a_cell' })
  })

  it('has the trace of the call, a process also in its environment', async () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }
    const { content } = await call(isolation, 'trace', { trace })
    expect(JSON.parse(content)).toEqual({
      trace,
      ...(isolation === 'process' ? { variable: trace.traceparent } : {}),
    })
  })

  it('tells how far the call is, once for many', async () => {
    const heard: unknown[] = []
    expect(await call(isolation, 'progress', { progress: (update) => heard.push(update) })).toMatchObject({
      success: true,
      content: 'counted',
    })
    expect(heard).toEqual([{ progress: 1, total: 1_000, message: 'Counts.' }])
  })

  it('whose tool fails, whatever way, is a failed call and nothing more', async () => {
    const failures: Record<string, { error: string; words: string }> = {
      fail: { error: 'own_code', words: 'in its own words' },
      crash: { error: 'tool_crash', words: 'boom' },
      function: { error: 'invalid_result', words: 'a function' },
      exit: { error: 'tool_crash', words: 'ended with' },
      garbage: { error: 'tool_crash', words: 'it sent a message that is no answer' },
      uncaught: { error: 'tool_crash', words: 'ncaught|ended with' },
    }
    const results = await Promise.all(Object.keys(failures).map((what) => call(isolation, what)))
    expect(results).toEqual(
      Object.values(failures).map(
        ({ error, words }) =>
          expect.objectContaining({
            success: false,
            error,
            content: expect.stringMatching(words) as string,
          }) as ToolResult,
      ),
    )
  })

  // Filling 256 MB is all work of the processor: a busy machine takes many times as long.
  it('with a full heap is a failed call, too', { timeout: 90_000 }, async () => {
    expect(await call(isolation, 'fill the heap', { timeoutMs: 80_000 })).toMatchObject({
      success: false,
      error: 'out_of_memory',
      content: expect.stringContaining('256 MB') as string,
    })
  })

  it('refuses arguments that do not fit', async () => {
    expect(await call(isolation, 'x', { size: 'y' as never })).toMatchObject({
      error: 'invalid_arguments',
      content: expect.stringContaining('size') as string,
    })
  })

  it('cuts a result of 50 MB before it leaves the cell, once', async () => {
    const { content } = await call(isolation, 'large', { size: 50_000_000 })
    const [, kept = '', missing] = /^(x+)\n\[cut: (\d+) more characters\]$/.exec(content) ?? []
    expect(kept.length + Number(missing)).toBe(50_000_000)
  })

  it('that loops or hangs for ever is stopped at the deadline, and harms no other loop', async () => {
    const clock = virtualClock()
    const pipes = ['loop', 'hang'].map(pipe)
    const running = ['loop', 'hang'].map((what) => call(isolation, what, { timeoutMs: 1_000, clock }))
    // This loop hears of both while they run.
    await Promise.all(pipes.map(({ begun }) => begun))
    clock.advance(1_000)
    expect((await Promise.all(running)).map(({ error }) => error)).toEqual(['tool_timeout', 'tool_timeout'])
    await Promise.all(pipes.map(({ gone }) => gone))
  })

  it('hears of a cancel and may tidy up', async () => {
    const stop = new AbortController()
    const running = call(isolation, 'tidy', { signal: stop.signal })
    await until('it listens', () => contentOf('listens') !== '')
    stop.abort('enough')
    expect(await running).toMatchObject({ error: 'cancelled' })
    await until('it has tidied up', () => contentOf('tidied') === 'enough')
  })
})

it('a process cell takes along what it started, and has no keys in its environment', async () => {
  process.env['BEAVER_TEST_KEY'] = 'secret'
  try {
    const names = JSON.parse((await call('process', 'environment')).content) as string[]
    // bash sets SHLVL, if it must close what the parent of the tests left open (programs.ts in @beaver/platform).
    expect(names.filter((name) => name !== 'SHLVL')).toEqual(
      [
        'HOME',
        'LANG',
        'LC_ALL',
        'NODE_CHANNEL_FD',
        'NODE_CHANNEL_SERIALIZATION_MODE',
        'PATH',
        'PWD',
        'TMPDIR',
        'TZ',
      ].filter((name) => process.env[name] !== undefined || name === 'PWD'),
    )
  } finally {
    delete process.env['BEAVER_TEST_KEY']
  }
  const { gone } = pipe('child')
  expect((await call('process', 'child')).content).toBe('left behind')
  await gone
})

it('more calls than there may be cells wait for their turn', async () => {
  const results = await Promise.all(Array.from({ length: 10 }, (_, i) => call('thread', `call ${i}`)))
  expect(results.map(({ content }) => content)).toEqual(Array.from({ length: 10 }, (_, i) => `call ${i}`))
})

describe('what a cell prints', () => {
  const listen = () => {
    const lines: LogLine[] = []
    return { lines, logger: loggerOver((line) => lines.push(line)) }
  }

  it.each(['thread', 'process'])(
    'in a %s is a line of the log each, with the ids of the call',
    async (isolation) => {
      const { lines, logger } = listen()
      await call(isolation, 'print', { logger })
      await until('its outputs have ended', () => lines.length === 2)
      const fields = { task_id: 'task1', run_id: 'run1', call_id: 'call1', tool: `in_${isolation}` }
      expect(lines).toEqual(
        ['to stdout', 'without an end'].map((message) => ({
          level: 'info',
          event: 'tool_printed',
          message,
          fields,
        })),
      )
    },
  )

  it('is bounded in bytes', () => {
    const { lines, logger } = listen()
    const { hear } = cellPrints(logger)
    for (let i = 0; i < 100; i++) hear(Buffer.alloc(10_000, 'x'))
    expect(lines.map(({ event, message }) => [event, event === 'tool_printed' ? message.length : 0])).toEqual(
      [
        ['tool_printed', 65_536],
        ['tool_print_cut', 0],
      ],
    )
  })

  it('is bounded in lines', () => {
    const { lines, logger } = listen()
    const { hear } = cellPrints(logger)
    for (let i = 0; i < 1_000; i++) hear(Buffer.from('x\n'))
    expect([lines.length, lines.at(-2)?.event, lines.at(-1)?.event]).toEqual([
      201,
      'tool_printed',
      'tool_print_cut',
    ])
  })
})
