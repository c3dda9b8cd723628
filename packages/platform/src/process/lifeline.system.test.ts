import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterEach, expect, it } from 'vitest'
import { threadSeen } from './silent-time.ts'

const entry = new URL('../../test/stubborn-child.ts', import.meta.url).pathname
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Child {
  readonly process: ChildProcess
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>
}

/** Waits for the next messages of the child until one of them is the one. */
function heard(child: ChildProcess, isIt: (message: unknown) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('The child ended.'))
    child.on('message', (message) => isIt(message) && resolve())
    child.once('exit', ended)
    if (child.exitCode !== null || child.signalCode !== null) ended()
  })
}

async function start(way: string, env: NodeJS.ProcessEnv = {}): Promise<Child> {
  const child = spawn(process.execPath, [entry, way], {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, ...env },
  })
  children.push(child)
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const silent = new Promise((resolve) => child.stderr?.once('end', resolve))
  const ended = new Promise<Awaited<Child['ended']>>((resolve) =>
    child.once('exit', (code, signal) => void silent.then(() => resolve({ code, signal, stderr }))),
  )
  await heard(child, (message) => message !== 'beat')
  return { process: child, ended }
}

/** Waits for so many beats of the child's main thread: a tenth of a second each. */
function beaten({ process: child }: Child, times: number): Promise<void> {
  let beats = 0
  return heard(child, (message) => message === 'beat' && ++beats === times)
}

/** The processor time that the child's main thread has used, in ms; 0 when the child has ended. */
function mainMs({ process: { pid } }: Child): number {
  try {
    return threadSeen(readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8')).ms
  } catch {
    return 0
  }
}

it('writes its compiled code while it runs, because it may be killed, and ends when its parent is gone', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'beaver-cache-'))
  try {
    const child = await start('at once', { NODE_COMPILE_CACHE: cache })
    const files = (): string[] => readdirSync(cache, { recursive: true, encoding: 'utf8' })
    await until('files in the cache', () => files().length > 1, { everyMs: 100 })
    child.process.disconnect()
    expect(await child.ended).toMatchObject({ code: 0 })
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})

it('a stop that hangs ends with a line that says what did not end', async () => {
  const child = await start('a stop that hangs')
  child.process.kill('SIGTERM')
  const { code, stderr } = await child.ended
  expect(code).toBe(1)
  expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
    level: 'error',
    event: 'process_stopped_late',
    process: 'child',
    still: 'the journal',
  })
})

it('a start that hangs does not keep a process that is told to end', async () => {
  const child = await start('a start that hangs')
  child.process.kill('SIGTERM')
  const { code, stderr } = await child.ended
  expect(code).toBe(1)
  expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
    event: 'process_stopped_late',
    process: 'child',
    still: 'the start',
  })
})

it.each(['a stop that blocks', 'a stuck thread'])('%s does not keep the process', async (way) => {
  const child = await start(way)
  child.process.kill('SIGTERM')
  expect(await child.ended).toMatchObject({ signal: 'SIGKILL' })
})

it('a main thread that is held up ends with a line that says so, told to or not', async () => {
  const child = await start('a blocked main thread')
  const { signal, stderr } = await child.ended
  expect(signal).toBe('SIGKILL')
  expect(stderr).toMatch(
    /"process_killed","message":"The child is killed: its main thread did not respond for 1\.\d s\."/,
  )
})

it('a main thread that shares the processors with others is ended for the time that it had, not for that of the clock', async () => {
  const child = await start('a loop among many')
  const before = mainMs(child)
  let used = 0
  const look = setInterval(() => (used = Math.max(used, mainMs(child) - before)), 20)
  child.process.send('block')
  expect(await child.ended).toMatchObject({ signal: 'SIGKILL' })
  clearInterval(look)
  // The bound is 1,500 ms.
  expect(used).toBeGreaterThan(1_000)
})

it('a process that was stopped for longer, while its main thread was blocked, goes on, and ends when it is told to, with code 0', async () => {
  const [child, other] = [await start('a main thread that reads'), await start('a main thread that reads')]
  const turns = [await start('a stop that reads'), await start('a stop that reads')]
  /**
   * The watchdogs of other processes take turns until they kill them. Meanwhile that of the child, which
   * cannot report, takes one too.
   */
  const turn = async (): Promise<void> => {
    const last = turns.pop()
    last?.process.kill('SIGTERM')
    expect(await last?.ended).toMatchObject({ signal: 'SIGKILL' })
  }
  // The threads of the watchdogs start meanwhile.
  await Promise.all([beaten(child, 15), beaten(other, 15)])
  const blocked = [child, other].map(({ process: each }) => heard(each, (message) => message === 'blocked'))
  for (const each of [child, other]) each.process.send('block')
  await Promise.all(blocked)
  await turn()
  child.process.kill('SIGSTOP')
  // The other child is blocked for as long, and not stopped.
  expect(await other.ended).toMatchObject({ signal: 'SIGKILL' })
  child.process.kill('SIGCONT')
  await turn()
  child.process.stdin?.write('\n')
  // The watchdog looks again during these beats.
  await beaten(child, 5)
  child.process.kill('SIGTERM')
  expect(await child.ended).toMatchObject({ code: 0, signal: null })
})
