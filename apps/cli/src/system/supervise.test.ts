import { BeaverError, type Clock } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { type ChildSpec, type ChildStatus, type RunningChild, supervise } from './supervise.ts'

/** Children settled by hand, and a clock whose pauses end at once. */
function stage(starts: readonly ('ok' | 'refuse')[] = []) {
  let now = 0
  const clock: Clock = {
    now: () => now,
    after: (ms, act) => {
      now += ms
      queueMicrotask(act)
      return { cancel: () => {} }
    },
  }
  const children: { die: (reason: string) => void; stopped: boolean }[] = []
  const statuses: ChildStatus[] = []
  const spec: ChildSpec = {
    name: 'projector',
    logFile: '/home/logs/projector.log',
    async start() {
      const how = starts[children.length] ?? 'ok'
      const { promise: gone, resolve: die } = Promise.withResolvers<string>()
      const child = { die, stopped: false }
      children.push(child)
      if (how === 'refuse') throw new BeaverError('start_failed', 'no port')
      const running: RunningChild = {
        pid: 100 + children.length,
        info: { n: children.length },
        gone,
        async stop() {
          child.stopped = true
          die('exit code 0')
        },
        kill: () => die('killed by SIGKILL'),
      }
      return running
    },
  }
  const begin = () => supervise(spec, { clock, signal: new AbortController().signal, onStatus: (status) => statuses.push(status) })
  return { begin, children, statuses, pass: (ms: number) => (now += ms) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a supervised child', () => {
  test('is started again when it dies, and its new pid is known', async () => {
    const { begin, children, statuses } = stage()
    const child = await begin()
    expect(child.pid).toBe(101)
    children[0]?.die('exit code 1')
    await settled()
    expect(child.pid).toBe(102)
    expect(statuses.map((status) => (status.kind === 'ready' ? `ready ${status.restarted}` : `died ${status.reason}`))).toEqual([
      'ready false',
      'died exit code 1',
      'ready true',
    ])
  })

  test('a first start that fails is told, not retried', async () => {
    const { begin, children } = stage(['refuse'])
    await expect(begin()).rejects.toThrow('no port')
    expect(children).toHaveLength(1)
  })

  test('a restart that fails counts as a death and is tried again', async () => {
    const { begin, children } = stage(['ok', 'refuse', 'ok'])
    const child = await begin()
    children[0]?.die('exit code 1')
    await settled()
    expect(child.pid).toBe(103)
  })

  test('is given up on after six deaths within a minute, with a sentence that names the log', async () => {
    const { begin, children } = stage()
    const child = await begin()
    for (let death = 0; death < 6; death++) {
      children.at(-1)?.die('killed by SIGKILL')
      await settled()
    }
    await expect(child.failed).rejects.toThrow(/The projector died 6 times within 60 s \(last: killed by SIGKILL\).*projector\.log/)
    expect(children).toHaveLength(6)
  })

  test('nothing is started after a stop', async () => {
    const { begin, children } = stage()
    const child = await begin()
    await child.stop()
    await settled()
    expect(children).toHaveLength(1)
    expect(children[0]?.stopped).toBe(true)
    expect(child.pid).toBeNull()
  })
})
