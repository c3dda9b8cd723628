// Sentences as financial reports have them, in English and Chinese. Each has claims that it bears out, and
// claims that differ from it.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { call, factsWith, passes } from '../test/evidence.ts'

const borneOut = (claim: string, text: string): boolean =>
  passes(
    { kind: 'numbers_from_tools', tools: ['web_fetch'] },
    factsWith(claim, { tools: [call(5, 'web_fetch', text)] }),
  )

const entry = z.strictObject({
  language: z.enum(['en', 'zh']),
  text: z.string(),
  match: z.array(z.string()).min(1),
  differ: z.array(z.string()).min(1),
})
const corpus = readFileSync(new URL('../test/figures-corpus.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => entry.parse(JSON.parse(line)))

const claims = corpus.flatMap(({ language, text, match, differ }) => [
  ...match.map((claim) => ({ language, text, claim, expected: true })),
  ...differ.map((claim) => ({ language, text, claim, expected: false })),
])

it('a claim passes if its source has the figure, and only then', () => {
  const wrong = claims.filter(({ text, claim, expected }) => borneOut(claim, text) !== expected)
  const of = (language: string): string =>
    `${corpus.filter((each) => each.language === language).length} ${language}`
  const borne = claims.filter(({ expected }) => expected).length
  process.stdout.write(
    `Figures: ${corpus.length} sentences (${of('en')}, ${of('zh')}), ${borne} claims that match, ${claims.length - borne} that differ; ${wrong.length} judged wrongly.\n`,
  )
  expect(
    wrong.map(({ text, claim, expected }) => `${claim} must ${expected ? '' : 'not '}pass for: ${text}`),
  ).toEqual([])
  expect(corpus.length).toBeGreaterThanOrEqual(120)
})

it('a sentence bears itself out, and one with a changed digit differs', () => {
  expect(corpus.filter(({ text }) => !borneOut(text, text)).map(({ text }) => text)).toEqual([])
  const changed = corpus.flatMap(({ text }) =>
    [...text.matchAll(/\d/g)].map(({ 0: digit, index }) => ({
      text,
      claim: `${text.slice(0, index)}${(Number(digit) + 1) % 10}${text.slice(index + 1)}`,
    })),
  )
  const missed = changed.filter(({ text, claim }) => borneOut(claim, text))
  process.stdout.write(
    `Figures: ${changed.length - missed.length} of ${changed.length} changed digits found.\n`,
  )
  // A name (GPT-4.2), and a figure that the sentence has in another place (2024 for 2023).
  expect(missed.length / changed.length).toBeLessThan(0.015)
})
