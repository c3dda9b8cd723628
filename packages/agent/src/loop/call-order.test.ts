import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { type CallKind, callPhases } from './call-order.ts'

test.each<[CallKind[], (number | null)[]]>([
  [[], []],
  [
    ['reads', 'reads'],
    [0, 0],
  ],
  [
    ['writes', 'writes'],
    [0, 1],
  ],
  [
    ['reads', 'writes', 'reads', 'reads'],
    [0, 1, 2, 2],
  ],
  [
    ['workflow', 'workflow', 'writes'],
    [0, 0, 1],
  ],
  [
    ['writes', 'computes', 'reads'],
    [0, null, 1],
  ],
  [
    ['reads', 'workflow', 'reads'],
    [0, 1, 2],
  ],
])('%j have the phases %j', (kinds, phases) => expect(callPhases(kinds)).toEqual(phases))

it('lets a call that writes share its phase with none, and never puts a later call before an earlier one', () => {
  const kind = fc.constantFrom<CallKind>('computes', 'reads', 'workflow', 'writes')
  fc.assert(
    fc.property(fc.array(kind, { maxLength: 30 }), (kinds) => {
      const phases = callPhases(kinds)
      const placed = phases.filter((phase) => phase !== null)
      expect(placed).toEqual(placed.toSorted((a, b) => a - b))
      for (const [i, phase] of phases.entries())
        if (kinds[i] === 'writes') expect(placed.filter((each) => each === phase)).toHaveLength(1)
    }),
  )
})
