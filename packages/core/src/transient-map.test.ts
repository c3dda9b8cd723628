import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TransientMap } from './transient-map.ts'

const key = fc.integer({ min: 0, max: 5 })
const step = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), key, value: fc.nat() }),
  fc.record({ kind: fc.constant('delete' as const), key }),
  fc.record({ kind: fc.constant('clear' as const) }),
)

it('behaves like a Map, whatever the operations (T2)', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new Map<number, number>()
      const transient = new TransientMap<number, number>()
      for (const each of steps) {
        if (each.kind === 'set') {
          map.set(each.key, each.value)
          transient.set(each.key, each.value)
        } else if (each.kind === 'delete') expect(transient.delete(each.key)).toBe(map.delete(each.key))
        else {
          map.clear()
          transient.clear()
        }
        expect([...transient.values()]).toEqual([...map.values()])
        expect(transient.size).toBe(map.size)
        expect(transient.oldest()).toBe(map.keys().next().value)
        for (let k = 0; k <= 5; k++)
          expect([transient.get(k), transient.has(k)]).toEqual([map.get(k), map.has(k)])
      }
    }),
  )
})

it('allows entries to be deleted and set while the values are iterated, like a Map', () => {
  const transient = new TransientMap<string, number>()
  for (const [i, name] of ['a', 'b', 'c'].entries()) transient.set(name, i)
  const seen: number[] = []
  for (const value of transient.values()) {
    seen.push(value)
    if (value === 0) {
      transient.delete('b')
      transient.set('d', 3)
    }
  }
  expect(seen).toEqual([0, 2, 3])
})
