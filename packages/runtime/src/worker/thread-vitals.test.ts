import { expect, it } from 'vitest'
import { chargeFor } from './shard.ts'
import { newVitals, readVitals, writeVitals } from './thread-vitals.ts'

const tools = ['echo', 'fetch_page']
function thread() {
  const vitals = new Int32Array(newVitals())
  return { writer: writeVitals(vitals, tools), read: () => readVitals(vitals, tools) }
}
const tool = (name: string, own = true) => ({ kind: 'tool' as const, tool: name, timeoutMs: 1_000, own })

it('a call is listed from its beginning until it is over, whoever else comes and goes', () => {
  const { writer, read } = thread()
  const first = writer.begin(7, tool('fetch_page'))
  const second = writer.begin(8, tool('echo', false))
  expect(read().calls).toMatchObject([
    { loop: 7, tool: 'fetch_page', timeoutMs: 1_000, own: true },
    { loop: 8, tool: 'echo', own: false },
  ])
  first()
  const third = writer.begin(9, tool('fetch_page'))
  expect(read().calls.map(({ loop }) => loop)).toEqual([9, 8])
  expect(new Set(read().calls.map(({ number }) => number)).size).toBe(2)
  second()
  third()
  expect(read()).toMatchObject({ calls: [], reader: null })
})

it('a list that is full leaves calls out, and takes new ones when there is room', () => {
  const { writer, read } = thread()
  const overs = Array.from({ length: 600 }, (_, i) => writer.begin(i + 1, tool('echo')))
  expect(read().calls).toHaveLength(512)
  for (const over of overs) over()
  expect(read().calls).toEqual([])
  writer.begin(1, tool('echo'))
  expect(read().calls).toHaveLength(1)
})

it('its event loop shows that it turns', async () => {
  const { read } = thread()
  const before = read().beats
  await expect.poll(() => read().beats, { interval: 20 }).toBeGreaterThan(before)
})

it("a loss is charged to the user's tools before built-in ones, and to an answer that was read before both", () => {
  const { writer, read } = thread()
  expect(chargeFor(read())).toEqual({ loops: new Map(), ownTools: [] })
  writer.begin(1, tool('echo', false))
  expect(chargeFor(read())).toEqual({ loops: new Map([[1, ['echo']]]), ownTools: [] })
  writer.begin(2, tool('fetch_page'))
  writer.begin(2, tool('fetch_page'))
  expect(chargeFor(read())).toEqual({ loops: new Map([[2, ['fetch_page']]]), ownTools: ['fetch_page'] })
  const over = writer.begin(3, { kind: 'answer' })
  expect(chargeFor(read())).toEqual({ loops: new Map([[3, []]]), ownTools: [] })
  over()
  expect(chargeFor(read()).loops.has(3)).toBe(false)
})
