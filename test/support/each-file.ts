// What each test file begins with: the seed of the gate, a folder of its worker's own for temporary files, and the switches as a process has them.
// A file that leaves something behind (leftovers.ts) fails with the names of what it left.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { switchOff } from '@beaver/core'
import { until } from '@beaver/testing'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, inject } from 'vitest'
import { lastWordsOfDaemons } from './daemon.ts'
import { present } from './leftovers.ts'
import { startedBy } from './processes.ts'

// A gate tests a change, so it draws the same cases each time. `pnpm properties` draws others.
fc.configureGlobal({ seed: 20_261_127 })
switchOff(undefined)

const folder = join(inject('runFolder'), `worker-${process.env['VITEST_POOL_ID'] ?? '0'}`)
mkdirSync(folder, { recursive: true })
process.env['TMPDIR'] = folder

afterEach(({ task }) => {
  const said = task.result?.state === 'fail' ? lastWordsOfDaemons() : ''
  if (said !== '') process.stderr.write(`${task.name} failed while these daemons lived.\n${said}\n`)
})

beforeAll(async () => {
  const atFirst = await present()
  // What the hooks of a file return tidies up after its `afterAll`; that of the first hook comes last.
  return async () => {
    let left: string[] = []
    const look = async (): Promise<boolean> => {
      left = [...(await present())].filter(([name]) => !atFirst.has(name)).map(([name, more]) => `${name} ${more}`.trim())
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
