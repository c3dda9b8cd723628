import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

it('npm test says which of the given files is not there, and runs nothing', () => {
  const script = fileURLToPath(new URL('test.mjs', import.meta.url))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [script, 'pins', 'no-such-file', '-t', 'a name of a test'],
    { encoding: 'utf8' },
  )
  expect([status, stdout, stderr]).toEqual([2, '', 'No test file has "no-such-file" in its path.\n'])
})
