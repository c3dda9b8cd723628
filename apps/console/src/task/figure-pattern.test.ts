import { expect, it } from 'vitest'
import { figurePattern } from './figure-pattern.ts'

const found = (shown: string, text: string): string[] => text.match(figurePattern(shown) ?? /(?!)/) ?? []

it.each([
  ['14,260', '| Net revenue | 14,260 | 114,260 | 14,260,000', ['14,260']],
  ['1,250', '{"apples": 1250, "pears": 12505}', ['1250']],
  ['27.0%', 'margin 27,0 and 127.0', ['27,0']],
  ['FY2024', '| FY2024 | FY20245', ['FY2024']],
  ['2024 年', 'year 2024.', ['2024']],
  ['640', '640.5 640', ['640']],
  ['a (b', 'a (b', ['a (b']],
  [' ', '1', []],
])('%j in %j', (shown, text, expected) => expect(found(shown, text)).toEqual(expected))
