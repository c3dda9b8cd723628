// Under Linux the threads of a system's processes wake without interrupting each other (docs/decisions/0023).
import { readdirSync, readFileSync } from 'node:fs'
import { switchOff } from '@beaver/core'
import { scheduleAsBatch } from '@beaver/platform/scheduling'
import { afterEach, expect, inject, it } from 'vitest'
import { keptSystem } from '../support/kept-system.ts'
import { ownServer } from '../support/nats.ts'

const linux = process.platform === 'linux'

/**
 * The policies of a process's threads, as sched(7) numbers them: 0 SCHED_OTHER, 3 SCHED_BATCH. None where
 * there is no Linux.
 */
function policiesOf(pid: number): Set<number> {
  const threads = linux ? readdirSync(`/proc/${pid}/task`) : []
  return new Set(
    threads.map((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38])
    }),
  )
}

const batch = new Set(linux ? [3] : [])

it('nats-server, daemon and projector are scheduled as batch, every thread of them', async () => {
  const kept = await keptSystem()
  const projector = await kept.projector()
  for (const { pid } of [inject('sharedServer'), kept.daemon, projector])
    expect(policiesOf(pid)).toEqual(batch)
})

afterEach(() => switchOff(undefined))

it('a process keeps its policy where a bench has switched the optimisation off', async () => {
  switchOff('batch_scheduling')
  await using plain = await ownServer()
  expect(policiesOf(plain.pid)).toEqual(new Set(linux ? [0] : []))
})

it('a process that is not there is told of by false', async () => {
  expect(await scheduleAsBatch(2 ** 22 + 1)).toBe(false)
})
