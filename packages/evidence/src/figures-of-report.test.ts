import { expect, it } from 'vitest'
import { figurePlaces, figureStands } from './figures-of-report.ts'

it.each([
  ['It took 12 s, 3.5 of them for input.', ['12', '3.5']],
  [
    'The year ended 31 December 2024: HK$14,260 million, 27.0%',
    ['31 December 2024', 'HK$14,260 million', '27.0%'],
  ],
  ['beaver-simulated-1 wrote sha256 and UTF-8 in v1.2', []],
  ['2–1, and again 2', ['2', '1', '2']],
])('%s', (text, shown) => {
  expect(figurePlaces(text).map(({ from, to }) => text.slice(from, to))).toEqual(shown)
})

it.each([
  ['14,260', 'HK$ million', '{"revenue":"14,260"}', true],
  ['1.2 million', '', 'There were 1,200,000 of them.', true],
  ['12亿', '', '1,200 million', true],
  ['27.0%', '', 'a margin of 27 %', true],
  ['23', '', '{"total":1234}', false],
  ['', '', '{"total":1234}', false],
])('%s of "%s" stands in %s: %s', (figure, report, result, stands) => {
  expect(figureStands(figure, { report, result })).toBe(stands)
})
