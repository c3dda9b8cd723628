import { loggerOver, type LogLine, pause, silentLogger, systemClock } from '@beaver/core'
import { type MemoryHost, memoryHost, rootSpec, until } from '@beaver/testing'
import { afterAll, describe, expect, it, test } from 'vitest'
import {
  poolPolicy,
  type RunningLoop,
  startWorkerPool,
  type ThreadedPool,
  type WorkerPool,
} from './worker-pool.ts'

const moduleOf = (name: string): string => new URL(`../../test/${name}.ts`, import.meta.url).href
const pools: WorkerPool[] = []
afterAll(() => Promise.all(pools.map((pool) => pool.close())))

async function poolOf(
  threads: number,
  { policy = poolPolicy, logger = silentLogger } = {},
): Promise<ThreadedPool> {
  const pool = await startWorkerPool({
    filename: moduleOf('test-worker'),
    threads,
    heapMbMax: 32,
    data: {},
    policy,
    logger,
  })
  pools.push(pool)
  return pool
}

let runs = 0
function start(pool: WorkerPool, text: string): RunningLoop & { host: MemoryHost } {
  const host = memoryHost()
  const spec = rootSpec({ part: { text }, start: { run_id: `run${++runs}` as never } })
  return { ...pool.start(spec, host), host }
}

/** The thread is really in the loop: its events have come. */
const underWay = (loop: { host: MemoryHost }): Promise<unknown> =>
  until('the loop is under way', () => loop.host.types.includes('user_message_added'))

describe('a pool of two threads', async () => {
  const pool = await poolOf(2)

  it('runs loops to their end, many at once', async () => {
    const loops = Array.from({ length: 50 }, (_, i) => start(pool, `hello ${i}`))
    const outcomes = await Promise.all(loops.map((loop) => loop.outcome))
    expect(outcomes.map((outcome) => outcome.kind === 'ended' && outcome.end.facts.outputText)).toEqual(
      loops.map((_, i) => `said hello ${i}`),
    )
    expect(loops[0]?.host.types).toEqual([
      'run_started',
      'system_prompt_snapshotted',
      'user_message_added',
      'assistant_message_added',
      'run_completed',
    ])
    expect(pool.loops).toBe(0)
  })

  it('a cancel reaches a loop that waits, and no other', async () => {
    const [one, other] = [start(pool, 'wait'), start(pool, 'wait')]
    await Promise.all([underWay(one), underWay(other)])
    one.cancel('enough')
    expect(await one.outcome).toMatchObject({
      kind: 'ended',
      end: { status: 'cancelled', failure: { message: 'enough' } },
    })
    expect(pool.loops).toBe(1)
    other.cancel('enough')
    await other.outcome
  })

  it('a loop that is dropped ends as broken at once, is heard of no more, and takes no other with it', async () => {
    const [one, other] = [start(pool, 'wait'), start(pool, 'wait')]
    await Promise.all([underWay(one), underWay(other)])
    one.drop('The task only waits.')
    expect(await one.outcome).toEqual({ kind: 'broke', message: 'The task only waits.' })
    expect(pool.loops).toBe(1)
    expect((await start(pool, 'x').outcome).kind).toBe('ended')
    expect(one.host.types).toEqual(['run_started', 'system_prompt_snapshotted', 'user_message_added'])
    other.cancel('enough')
    await other.outcome
  })

  it('says which thread has a loop, and what the loop is doing', async () => {
    const [one, other] = [start(pool, 'wait'), start(pool, 'wait')]
    await Promise.all([underWay(one), underWay(other)])
    const run = `run${runs}`
    const {
      threads,
      losses,
      runs: placed,
    } = await until('the model is asked', async () => {
      const now = await pool.snapshot()
      return now.runs.get(run)?.status === 'thinking' && now
    })
    expect([threads.map(({ loops, answers }) => [loops, answers]), losses, placed.size]).toEqual([[[1, true], [1, true]], 0, 2]) // prettier-ignore
    expect(threads.map(({ thread }) => thread)).toContain(placed.get(run)?.thread)
    for (const loop of [one, other]) loop.cancel('enough')
    await Promise.all([one.outcome, other.outcome])
    expect((await pool.snapshot()).runs.size).toBe(0)
  })

  it('says that a thread does not answer, and does not wait until it does', async () => {
    const blocks = start(pool, 'block')
    await underWay(blocks)
    const run = `run${runs}`
    const now = await until('the thread is blocked', async () => {
      const told = await pool.snapshot()
      return told.threads.some(({ answers }) => !answers) && told
    })
    expect(now.threads.map(({ answers }) => Number(answers)).toSorted((a, b) => a - b)).toEqual([0, 1])
    expect(now.runs.get(run)).toEqual({ thread: now.threads.find(({ answers }) => !answers)?.thread, status: null }) // prettier-ignore
    blocks.cancel('enough')
    await blocks.outcome
  })

  it('a loop that breaks is told, and takes no other with it', async () => {
    const other = start(pool, 'wait')
    expect(await start(pool, 'break').outcome).toMatchObject({ kind: 'broke', message: 'a defect' })
    expect(await start(pool, 'x').outcome).toMatchObject({ kind: 'ended' })
    other.cancel('enough')
    expect((await other.outcome).kind).toBe('ended')
  })

  it('a host that refuses ends the loop as broken, with its reason', async () => {
    const host = { ...memoryHost(), append: () => Promise.reject(new Error('another daemon owns it')) }
    expect(await pool.start(rootSpec(), host).outcome).toEqual({
      kind: 'broke',
      message: 'another daemon owns it',
    })
  })

  it('asks no model when an append was answered late, before its host says that the task is still ours', async () => {
    const host = memoryHost()
    const asked: string[] = []
    const late = {
      ...host,
      append: async (...args: Parameters<typeof host.append>) => {
        const first = await host.append(...args)
        await pause(systemClock, 1_000, new AbortController().signal)
        return first
      },
      stillOurs: () => {
        asked.push(host.types.at(-1) as string)
        return Promise.reject(new Error('another daemon owns it'))
      },
    }
    expect(await pool.start(rootSpec({ part: { text: 'hello' } }), late).outcome).toEqual({
      kind: 'broke',
      message: 'another daemon owns it',
    })
    expect(asked).toEqual(['user_message_added'])
    expect(host.types).toEqual(['run_started', 'system_prompt_snapshotted', 'user_message_added'])
  })

  test.each([
    ['by process.exit', 'exit'],
    ['by an uncaught exception', 'throw'],
    ['by an unhandled rejection', 'reject'],
  ])(
    'a thread that dies %s: every loop on it is told lost, once; those on the other go on, and so does the pool',
    async (_, death) => {
      await until('both threads are there', () => pool.threads === 2)
      const waiting = Array.from({ length: 6 }, () => start(pool, 'wait'))
      await Promise.all(waiting.map(underWay))
      const told: string[] = []
      for (const loop of waiting) void loop.outcome.then((outcome) => told.push(outcome.kind))
      const killer = start(pool, death)
      expect(await killer.outcome).toMatchObject({
        kind: 'lost',
        message: expect.stringContaining('lost') as string,
      })
      await until('the loops of the dead thread are told', () => told.length >= 3)
      expect(told).toEqual(['lost', 'lost', 'lost'])
      expect(pool.loops).toBe(3)
      expect(await start(pool, 'after').outcome).toMatchObject({ kind: 'ended' })
      for (const loop of waiting) loop.cancel('enough')
      const outcomes = await Promise.all(waiting.map((loop) => loop.outcome))
      expect(outcomes.map((outcome) => outcome.kind).toSorted()).toEqual([
        'ended',
        'ended',
        'ended',
        'lost',
        'lost',
        'lost',
      ])
    },
  )

  // The last one: it closes the pool.
  it('closed, loses what runs, and starts nothing', async () => {
    const running = start(pool, 'wait')
    await underWay(running)
    await pool.close()
    expect((await running.outcome).kind).toBe('lost')
    expect((await start(pool, 'x').outcome).kind).toBe('gone')
  })
})

describe('a pool of one thread, which may die twice', async () => {
  const lines: LogLine[] = []
  const policy = { ...poolPolicy, intensity: { ...poolPolicy.intensity, restartsMax: 2 } }
  const pool = await poolOf(1, { policy, logger: loggerOver((line) => lines.push(line)) })

  it('whose heap is full loses its loops as out of memory, and goes on', async () => {
    const innocent = start(pool, 'wait')
    await underWay(innocent)
    const killer = start(pool, 'fill the heap')
    expect([await killer.outcome, await innocent.outcome]).toMatchObject([
      { kind: 'lost', failureClass: 'out_of_memory', message: expect.stringMatching(/memory/i) as string },
      { kind: 'lost', failureClass: 'out_of_memory' },
    ])
    expect(await start(pool, 'after').outcome).toMatchObject({ kind: 'ended' })
    expect(lines).toMatchObject([
      { level: 'warn', event: 'thread_lost', fields: { runs: 2, charged: 0, suspect_tools: [] } },
    ])
  })

  it('a loop started while no thread is there waits for the next one: it is not lost, and a cancel holds for it', async () => {
    await start(pool, 'exit').outcome
    expect(await pool.snapshot()).toMatchObject({ threads: [], losses: 2 })
    const [next, cancelled] = [start(pool, 'straight after'), start(pool, 'wait')]
    cancelled.cancel('enough')
    expect(await next.outcome).toMatchObject({
      kind: 'ended',
      end: { facts: { outputText: 'said straight after' } },
    })
    expect(await cancelled.outcome).toMatchObject({ kind: 'ended', end: { status: 'cancelled' } })
  })

  // The last one: it is the third death.
  it('threads that die too often make the pool fail: its supervisor decides', async () => {
    const failed = pool.failed.catch((error: Error) => error.message)
    expect((await start(pool, 'exit').outcome).kind).toBe('lost')
    expect(await failed).toContain('Worker threads died 3 times')
    const waiting = start(pool, 'x')
    waiting.cancel('enough')
    expect(await waiting.outcome).toEqual({ kind: 'gone', message: 'No worker thread is running.' })
  })
})

describe('a pool that cannot start says so at once', () => {
  test.each([
    [
      'a module that throws at import',
      { filename: moduleOf('broken-worker'), data: {} },
      'a module is missing',
    ],
    ['a module that is not there', { filename: moduleOf('no-such-worker'), data: {} }, 'no-such-worker'],
    [
      'a shard that fails each time',
      { filename: moduleOf('test-worker'), data: { fails: true } },
      'the skills cannot be read',
    ],
  ])('%s', async (_, options, words) => {
    await expect(startWorkerPool({ ...options, threads: 1, heapMbMax: 32 })).rejects.toMatchObject({
      message: expect.stringContaining(words) as string,
    })
  })
})
