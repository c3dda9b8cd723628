import { expect, it } from 'vitest'
import { mixRanks } from './mix-ranks.ts'

it.each<[readonly (readonly number[])[], readonly number[]]>([
  [[], []],
  [[[], []], []],
  [[[1, 2, 3]], [1, 2, 3]],
  [
    [
      [1, 2],
      [3, 4],
    ],
    [1, 3, 2, 4],
  ],
  [
    [[1, 2, 3], [3]],
    [3, 1, 2],
  ],
])('%j becomes %j', (rankings, mixed) => expect(mixRanks(rankings)).toEqual(mixed))
