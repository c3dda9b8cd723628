// docs/reference/dialects.md, held to the fixtures it is made from.
import { dialects, overflowWordings } from '@beaver/testing'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { dialectsReference } from '../../scripts/lib/dialects-reference.ts'

const page = readFileSync(new URL('../../docs/reference/dialects.md', import.meta.url), 'utf8')

it('the committed page is what the generator makes', () => {
  expect(page === dialectsReference(), 'Run "pnpm docs:dialects" and commit the page.').toBe(true)
})

it('the page has every dialect and wording, and a source for each', () => {
  const rows = page.split('\n').filter((line) => line.includes('](https://'))
  for (const { name } of dialects) expect(rows.some((row) => row.startsWith(`| ${name} |`))).toBe(true)
  for (const { server } of overflowWordings) expect(rows.some((row) => row.startsWith(`| ${server} |`))).toBe(true)
})
