import { framed } from '@beaver/core/fold'
import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { skill } from '../../test/skill-kit.ts'
import { choiceMessages, chosenMax, parseChoice } from './skill-assembler.ts'

const mark = 'bcdfghjk'
const offered = ['a', 'b', 'c', 'd']

describe('what an answer chooses', () => {
  test.each<[string, string, string[] | null]>([
    ['the object', '{"skills": ["b"]}', ['b']],
    ['none', '{"skills": []}', []],
    ['null', '{"skills": null}', []],
    ['one as a text', '{"skills": "a"}', ['a']],
    ['several, in their order', '{"skills": ["c", "a"]}', ['c', 'a']],
    ['a fenced block', '```json\n{"skills": ["a"]}\n```', ['a']],
    ['text around it', 'I think {this} fits: {"skills": ["a"]}. Good luck!', ['a']],
    ['objects with reasons', '{"skills": [{"name": "a", "reason": "{}"}]}', ['a']],
    ['an object inside another', '{"answer": {"skills": ["a"]}}', ['a']],
    ['braces in a text before', 'No "{" here. {"skills": ["a"]}', ['a']],
    ['names nobody offered', '{"skills": ["x", "a", "__proto__"]}', ['a']],
    ['a name twice', '{"skills": ["a", "a", " a "]}', ['a']],
    ['more than may be chosen', '{"skills": ["a", "b", "c", "d"]}', ['a', 'b', 'c']],
    ['numbers among them', '{"skills": [1, null, "b"]}', ['b']],
    ['nothing', '', null],
    ['words', 'None of them fits.', null],
    ['half an object', '{"skills": ["a"', null],
    ['another object', '{"skill": "a"}', null],
    ['a number', '{"skills": 3}', null],
    ['a list', '["a"]', null],
  ])('%s', (_, answer, chosen) => expect(parseChoice(answer, offered)).toEqual(chosen))

  it('is among what was offered, at most three, each once, whatever the answer', () => {
    const part = fc.constantFrom(
      '{',
      '}',
      '"',
      'skills',
      ':',
      '[',
      ']',
      'a',
      'b',
      'x',
      ',',
      '\\',
      ' ',
      '{"skills":["a"]}',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const chosen = parseChoice(parts.join(''), offered)
        if (chosen === null) return true
        return (
          chosen.every((name) => offered.includes(name)) &&
          new Set(chosen).size === chosen.length &&
          chosen.length <= chosenMax
        )
      }),
      { numRuns: 5_000 },
    )
  })

  it('of a megabyte of braces is found to be nothing in little time', async () => {
    expect(await ownMs(() => expect(parseChoice('{'.repeat(1_000_000), offered)).toBeNull())).toBeLessThan(
      500,
    )
  })
})

describe('the question', () => {
  it('begins with "Choose the skills", lists each candidate in one line and holds the task', () => {
    const [system, user] = choiceMessages(
      'Make a table',
      [skill('a', 'First.\nAnd more.'), skill('b', 'Second.')],
      mark,
    )
    expect(system).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^Choose the skills[\s\S]*\{"skills": \["name"\]\}/) as string,
    })
    expect(user).toEqual({
      role: 'user',
      content:
        framed('- a: First. And more.\n- b: Second.', { name: 'skills', mark }) +
        '\n\n' +
        framed('Make a table', { name: 'task', mark }),
    })
  })

  it('cuts a long task, never within a character', () => {
    const content =
      choiceMessages(`${'x'.repeat(3_999)}😀${'y'.repeat(9_000)}`, [skill('a', 'd')], mark)[1]?.content ?? ''
    expect(content.length).toBeLessThan(4_200)
    expect(content.isWellFormed()).toBe(true)
    expect(content).toContain('…\n</task ')
  })
})
