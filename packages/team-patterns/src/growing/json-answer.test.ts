import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { jsonIn, readJsonAnswer } from './json-answer.ts'

const schema = z.strictObject({ final: z.string() })
const finalOf = (answer: string): string | null => {
  const read = readJsonAnswer(answer, schema)
  return read.ok ? read.value.final : null
}

describe('the JSON in an answer', () => {
  it.each([
    ['alone', '{"final": "x"}'],
    ['in a fence', '```json\n{"final": "x"}\n```'],
    ['in prose', 'Here is my {honest} answer: {"final": "x"}. I hope it helps [1].'],
    ['behind thoughts', '<think>{"final": "no"}</think>{"final": "x"}'],
    ['behind an example', 'The form is {"final": "…"}; so {"final": "x"}'],
    ['behind an open brace', 'a { b {"final": "x"}'],
    ['with braces in its texts', '{"final": "x"} and {"other": "}"}'],
  ])('is found %s', (_, answer) => expect(finalOf(answer)).toBe('x'))

  it.each([
    ['cut off', '{"final": "x'],
    ['with a comma too many', '{"final": "x",}'],
    ['with single quotes', "{'final': 'x'}"],
    ['with another field', '{"final": "x", "note": 1}'],
  ])('is not repaired: %s', (_, answer) => expect(finalOf(answer)).toBeNull())

  it('tells what is wrong with it, or that there is none', () => {
    expect(readJsonAnswer('I cannot.', schema)).toEqual({
      ok: false,
      fault: 'The answer holds no JSON object.',
    })
    expect(readJsonAnswer('{"final": 3}', schema)).toMatchObject({
      fault: expect.stringContaining('"final"') as string,
    })
  })

  it('is looked for in bounded time, in any text', () => {
    expect(jsonIn('{['.repeat(100_000))).toEqual([])
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', '1', 'a', '\n', '```') }),
        (text) => {
          for (const found of jsonIn(text)) expect(typeof found).toBe('object')
        },
      ),
      { numRuns: 500 },
    )
  })

  it('survives prose on both sides, whatever it is', () => {
    const prose = fc.string().map((text) => text.replaceAll(/[{}[\]"]/g, ''))
    fc.assert(
      fc.property(prose, fc.string(), prose, (before, final, behind) => {
        expect(finalOf(`${before}${JSON.stringify({ final })}${behind}`)).toBe(final)
      }),
      { numRuns: 300 },
    )
  })
})
