import { expect, it } from 'vitest'
import { figuresIn, hasFigure } from './figures.ts'

it.each([
  ['It took 12 s, 3.5 of them for input.', [12, 3.5]],
  ['1,234.50 and 1234.5 and 1’234.5 and 1\u202F234,5', [1234.5, 1234.5, 1234.5, 1234.5]],
  ['12,5 %', [12.5]],
  ['on 2026.1.2 nothing', []],
])('%s', (text, values) => {
  const figures = figuresIn(text)
  expect(figures.map(({ value }) => value)).toEqual(values)
  for (const { from, to } of figures) expect(text.slice(from, to)).toMatch(/^\d.*\d$|^\d$/)
})

it('a part of a figure is another figure', () => {
  expect(hasFigure('{"total":1234}', 1234)).toBe(true)
  expect(hasFigure('{"total":1234}', 23)).toBe(false)
})
