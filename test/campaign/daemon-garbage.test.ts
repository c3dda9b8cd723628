// What a task leaves behind dies young: V8 counts what its young collections move to the old generation
// (docs/decisions/0022).
import { expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { testServer } from '../support/nats.ts'
import { testSystem } from '../support/system.ts'

interface YoungCollection {
  readonly isolate: string
  readonly allocated: number
  readonly promoted: number
}

/** Of what V8 reports with `--trace-gc-nvp`. */
function youngCollections(stdout: string): YoungCollection[] {
  return stdout.split('\n').flatMap((line) => {
    const [, isolate = '', report = ''] = /^\[\d+:(\w+):\d+\].* GC: (\{.*\})$/.exec(line) ?? []
    if (report === '') return []
    const { gc, allocated, promoted } = JSON.parse(report) as {
      gc: string
      allocated: number
      promoted: number
    }
    return gc === 's' ? [{ isolate, allocated, promoted }] : []
  })
}

it('of what tasks allocate next to nothing grows old in the worker thread, and little in the main thread', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'a' }]) : say('done'),
  )
  const daemon = await system.daemon({}, ['--trace-gc', '--trace-gc-nvp', '--max-semi-space-size=16'])
  const ask = async (requests: number, request: () => Promise<unknown>): Promise<void> => {
    let left = requests
    const client = async (): Promise<void> => {
      while (left-- > 0) await request()
    }
    await Promise.all(Array.from({ length: 32 }, client))
  }
  const task = (): Promise<unknown> => system.client.run({ task: 'say a' })
  // An endpoint drops what comes too often, so some of these get no answer.
  const status = (): Promise<unknown> =>
    system.nc.request(system.subjects.service('status'), '', { timeout: 200 }).catch(() => null)
  await ask(500, task)
  await ask(15_000, status) // what stays for good is there, and while no task comes it grows old
  const before = youngCollections(daemon.stdout).length
  await ask(1_000, task)
  const threads = Object.entries(
    Object.groupBy(youngCollections(daemon.stdout).slice(before), ({ isolate }) => isolate),
  ).map(([isolate, all = []]) => ({
    isolate,
    collections: all.length,
    shareGrownOld:
      all.reduce((sum, { promoted }) => sum + promoted, 0) /
      all.reduce((sum, { allocated }) => sum + allocated, 0),
  }))
  expect(threads).toHaveLength(2)
  for (const { collections } of threads) expect(collections).toBeGreaterThan(3)
  // The Maps of the main thread keep what they had: 7 %.
  const [least, most] = threads.map(({ shareGrownOld }) => shareGrownOld).toSorted((a, b) => a - b)
  expect(least).toBeLessThan(0.02)
  expect(most).toBeLessThan(0.1)
}, 180_000)
