// The table of `pnpm mutations`, held to what is: every rule has an edit, and every edit can be made.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { mutations, rules } from '../mutations/table.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

it('has an edit for every rule, and for no other', () => {
  expect([...new Set(mutations.map((each) => each.rule))].toSorted()).toEqual(rules.toSorted())
})

it.each(mutations.map((each) => [each.rule, each.without, each] as const))(
  '%s (%s): its snippet stands in its file once',
  (_, __, mutation) => {
    const text = readFileSync(`${root}${mutation.package}/${mutation.file}`, 'utf8')
    expect(text.split(mutation.snippet).length - 1).toBe(1)
    expect(mutation.replacement).not.toBe(mutation.snippet)
  },
)
