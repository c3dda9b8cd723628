// What each test file begins with: the seed of the gate, a folder of its worker's own for temporary files,
// and the switches and the workflows as a process has them. A file that leaves something behind (leftovers.ts) fails with the
// names of what it left.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { switchOff } from '@beaver/core'
import { teamPatterns } from '@beaver/team-patterns'
import { until } from '@beaver/testing'
import { addWorkflows } from '@beaver/workflows'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, inject, type RunnerTestSuite } from 'vitest'
import { takeLastWordsOfDaemons } from './daemon.ts'
import { present } from './leftovers.ts'
import { startedBy } from './processes.ts'

// A gate tests a change, so it draws the same cases each time. `pnpm properties` draws others.
fc.configureGlobal({ seed: 20_261_127 })
switchOff(undefined)
addWorkflows(teamPatterns)

const folder = join(inject('runFolder'), `worker-${process.env['VITEST_POOL_ID'] ?? '0'}`)
mkdirSync(folder, { recursive: true })
process.env['TMPDIR'] = folder

function tellDaemons(failed: string | null): void {
  const said = takeLastWordsOfDaemons()
  if (failed !== null && said !== '')
    process.stderr.write(`${failed} failed. Its daemons said last:\n${said}\n`)
}

afterEach(({ task }) => tellDaemons(task.result?.state === 'fail' ? task.name : null))

/** The first group of tests in the file, or the file, whose hook failed. */
const failedHook = (suite: RunnerTestSuite): string | null =>
  (suite.result?.errors ?? []).length > 0
    ? suite.name
    : (suite.tasks.flatMap((each) => (each.type === 'suite' ? (failedHook(each) ?? []) : []))[0] ?? null)

// oxlint-disable-next-line no-empty-pattern -- the file is the second argument
beforeAll(async ({}, file) => {
  const atFirst = await present()
  // What the hooks of a file return tidies up after its `afterAll`; that of the first hook comes last.
  return async () => {
    tellDaemons(failedHook(file))
    let left: string[] = []
    const look = async (): Promise<boolean> => {
      left = [...(await present())]
        .filter(([name]) => !atFirst.has(name))
        .map(([name, more]) => `${name} ${more}`.trim())
      return left.length === 0
    }
    await until('nothing is left behind', look, { withinMs: 15_000 }).catch(() => {})
    // The next file does not answer for it.
    for (const name of left) if (name.startsWith('process ')) endProcess(Number(name.split(' ')[1]))
    expect(left, `${expect.getState().testPath ?? 'The file'} leaves something behind`).toEqual([])
  }
})

function endProcess(pid: number): void {
  for (const each of [...startedBy(pid).map((child) => child.pid), pid]) {
    try {
      process.kill(each, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}
