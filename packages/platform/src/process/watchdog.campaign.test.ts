// The watchdog on a machine that has no time: ten busy loops beside a process kill nothing, and an endless
// loop in it is still ended.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'

const entry = new URL('../../test/stubborn-child.ts', import.meta.url).pathname
const loops: ChildProcess[] = []
beforeAll(() => {
  for (let i = 0; i < 10; i++) loops.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
})
afterAll(async () => {
  await Promise.all(
    loops.map(async (loop) => {
      const gone = once(loop, 'exit')
      loop.kill('SIGKILL')
      await gone
    }),
  )
})

/** The child gets less of a processor than each of the loops if `nice` is above 0. */
function child(way: string, nice = 0): { readonly it: ChildProcess; readonly ended: Promise<unknown[]> } {
  const started = spawn('nice', ['-n', String(nice), process.execPath, entry, way], {
    stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
  })
  return { it: started, ended: once(started, 'exit') }
}

it('a process that gets hardly any time goes on', async () => {
  const { it: started, ended } = child('a main thread that reads', 19)
  let beats = 0
  await new Promise<void>((resolve, reject) => {
    started.on('message', (message) => message === 'beat' && ++beats === 100 && resolve())
    started.once('exit', () => reject(new Error('The child ended.')))
  })
  started.kill('SIGKILL')
  await ended
}, 300_000)

it('a process whose main thread never ends its work is killed', async () => {
  const { ended } = child('a blocked main thread')
  expect(await ended).toEqual([null, 'SIGKILL'])
}, 300_000)
