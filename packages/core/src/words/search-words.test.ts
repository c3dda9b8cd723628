import { expect, it } from 'vitest'
import { searchWords } from './search-words.ts'

it.each([
  ['Zürich  zurich\n1984', ['Zurich', 'zurich', '1984']],
  ['a\u0001b a', ['a', 'b']],
  ['\u0301', []],
  ['\u0085 \u0001', []],
])('%j has the words %j', (text, words) => expect(searchWords(text)).toEqual(words))
