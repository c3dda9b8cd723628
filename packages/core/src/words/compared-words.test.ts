import { expect, test } from 'vitest'
import { comparedWords } from './compared-words.ts'

test.each<[string, readonly string[]]>([
  ['', []],
  ['  \n\t…!?', []],
  ['Days, days and a class', ['day', 'day', 'and', 'a', 'class']],
  ['ERR_4711: foo.bar()', ['err', '4711', 'foo', 'bar']],
  ['ｆｕｌｌ width', ['full', 'width']],
  ['休', ['休']],
  ['的', []],
  ['我的年假', ['年假']],
  ['Q3季度报告', ['q3', '季度', '度报', '报告']],
  ['한국어 문서', ['한국', '국어', '문서']],
  ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
  ['" OR * NEAR(a b) -c:d', ['or', 'near', 'a', 'b', 'c', 'd']],
])('%j has the words %j', (text, words) => expect([...comparedWords(text)]).toEqual(words))

test('a text without an end of a word takes linear time', () => {
  expect([...comparedWords('年'.repeat(100_000))]).toHaveLength(99_999)
  expect([...comparedWords('a'.repeat(1_000_000))]).toHaveLength(1)
})
