import { expect, it } from 'vitest'
import { cellSlots } from './in-cell.ts'

const never = new AbortController().signal

it('gives as many slots as there are, the next when one is free, in order', async () => {
  const slots = cellSlots(2, 10)
  const [first, second] = [await slots.take(never), await slots.take(never)]
  const begun: string[] = []
  const [third, fourth] = ['third', 'fourth'].map((name) =>
    slots.take(never).then((free) => (begun.push(name), free)),
  )
  await Promise.resolve()
  expect(begun).toEqual([])
  first()
  ;(await third)?.()
  ;(await fourth)?.()
  second()
  expect(begun).toEqual(['third', 'fourth'])
  expect(await Promise.all([slots.take(never), slots.take(never)])).toHaveLength(2)
})

it('refuses who comes when the queue is full', async () => {
  const slots = cellSlots(1, 1)
  await slots.take(never)
  void slots.take(never)
  await expect(slots.take(never)).rejects.toMatchObject({ code: 'cells_busy' })
})

it('who stops waiting leaves the queue and takes no slot', async () => {
  const slots = cellSlots(1, 1)
  const free = await slots.take(never)
  const stop = new AbortController()
  const left = slots.take(stop.signal)
  stop.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  const waiting = slots.take(never)
  free()
  ;(await waiting)()
  await expect(slots.take(stop.signal)).rejects.toThrow('enough')
})
