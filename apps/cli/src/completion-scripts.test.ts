import { expect, test } from 'vitest'
import { completionScript, shells } from './completion-scripts.ts'

test.each(shells)('the script for %s calls a command whose path has a space and a quote', (shell) => {
  expect(completionScript(shell, "/a b/it's")).toContain(String.raw`'/a b/it'\''s' __complete ${shell} `)
})
