// docs/reference/wire.md, held to the tables it is made from.
import { wireEntries } from '@beaver/contracts/wire'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { wireReference } from '../../scripts/lib/wire-reference.ts'

const page = readFileSync(new URL('../../docs/reference/wire.md', import.meta.url), 'utf8')

it('the committed page is what the generator makes', () => {
  expect(page === wireReference(), 'Run "pnpm docs:wire" and commit the page.').toBe(true)
})

it('the page has a section for every request, query, live message, event and command', () => {
  const titles = new Set([...page.matchAll(/^### (?:\w+ )?(\S+)$/gm)].map(([, name]) => name))
  expect(wireEntries().filter(({ name }) => !titles.has(name))).toEqual([])
})

it('the page tells what a client needs to decide about a call and to follow a task live', () => {
  for (const text of [
    '`beaver.<namespace>.service.<tenant>.<caller>.task.decide`',
    '`beaver.<namespace>.live.<tenant>.<session_id>.<task_id>`',
    '| `stream` |',
    '| `approvals` |',
  ])
    expect(page).toContain(text)
})
