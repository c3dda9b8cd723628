// Core alone has the words for the states of tasks and agents, so that all screens call a state the same.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { statusWord } from '@beaver/core'

const root = fileURLToPath(new URL('../../', import.meta.url))
const home = 'packages/core/src/telling/status-words.ts'

/** A state and its word beside each other, as in a table. */
const isRow = /^\s*waiting_for_\w+: \[?'[^']* [^']*'/

it('no other file has a table of the words for states', () => {
  const files = globSync('{packages,apps}/*/src/**/*.{ts,tsx}', { cwd: root })
  const withTable = files.filter((path) =>
    readFileSync(`${root}${path}`, 'utf8')
      .split('\n')
      .some((line) => isRow.test(line)),
  )
  expect(withTable).toEqual([home])
})

it('the guide to the command line names the words', () => {
  const page = readFileSync(`${root}docs/reference/command-line.md`, 'utf8')
  for (const wait of ['person', 'provider', 'limit'])
    expect(page).toContain(`\`${statusWord(`waiting_for_${wait}`)}\``)
})
