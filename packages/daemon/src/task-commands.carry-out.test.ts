// Who carries out a command about a task, on the in-memory journal: the driver here, the owner elsewhere, or
// the next owner through the log.
import type { TaskCommand } from '@beaver/contracts'
import { BeaverError, event, type LogId, type TaskId } from '@beaver/core'
import { budgetDefault } from '@beaver/core/budget'
import { draft, emptyHead, joinBatch, sealer } from '@beaver/core/journal'
import { loadTask, type TaskSupervisor, TaskLog } from '@beaver/runtime'
import { memoryBlobStore, memoryJournal, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { type CarryingOut, carryOut } from './task-commands.ts'

const log = { tenant: 'local', session: 's', task: 't' as TaskId } as LogId
const asked: TaskCommand = { command: 'cancel', task_id: log.task, reason: 'enough', by: 'ada' }
const submitted = event('task_submitted', {
  task_id: log.task,
  session_id: log.session,
  tenant: log.tenant,
  previous_task_id: null,
  request: { text: 'do it', workspace: '/w', skill: null, source: 'test' },
})

/** The log of a task that `owner` claimed, as daemon `here` sees it. */
async function scene({ owner, ...how }: { owner: string | null } & Partial<CarryingOut>) {
  const [journal, blobs, clock] = [memoryJournal(), memoryBlobStore(), virtualClock()]
  const ports = {
    journal,
    blobs,
    clock,
    source: '/beaver/daemons/here',
    judgeArguments: async () => null,
    budgets: { budgets: [budgetDefault] },
  }
  const seal = sealer({
    epoch: 0,
    source: '/beaver/daemons/intake',
    subject: log.task,
    time: new Date(clock.now()).toISOString(),
  })
  const { record, head } = seal(emptyHead, draft(submitted))
  const accepted = await journal.accept({
    log,
    payloads: [joinBatch([record])],
    tail: { task: null, revision: 0 },
  })
  if (accepted.kind !== 'accepted') throw new Error(accepted.kind)
  if (owner !== null)
    await new TaskLog(log, { head, revision: accepted.revision, epoch: 1 }, ports).append([
      draft(event('task_claimed', { daemon: owner })),
    ])
  const told: string[] = []
  const by: CarryingOut = {
    daemonId: 'here',
    ports,
    driver: async () => null,
    askOwner: async (owner) => (told.push(`asked ${owner}`), true),
    wake: async () => void told.push('woken'),
    ...how,
  }
  const types = async (): Promise<string[]> => (await loadTask(log, ports)).events.map(({ type }) => type)
  return {
    ...{ told, types, clock },
    carryOut: (command: TaskCommand = asked) => carryOut(log, command, by),
  }
}

const driverOf = (told: string[]): TaskSupervisor =>
  ({ cancel: async (reason: string) => void told.push(`cancelled: ${reason}`) }) as unknown as TaskSupervisor

describe('a command', () => {
  it('about a task that is driven here goes to its driver', async () => {
    const told: string[] = []
    const here = await scene({ owner: 'here', driver: async () => driverOf(told) })
    await here.carryOut()
    expect([told, here.told, await here.types()]).toEqual([
      ['cancelled: enough'],
      [],
      ['task_submitted', 'task_claimed'],
    ])
  })

  it('about a task that is claimed here while its log is read goes to its driver, and not into the log behind its back', async () => {
    const told: string[] = []
    let looks = 0
    const here = await scene({ owner: 'here', driver: async () => (looks++ === 0 ? null : driverOf(told)) })
    await here.carryOut()
    expect([told, here.told, await here.types()]).toEqual([
      ['cancelled: enough'],
      [],
      ['task_submitted', 'task_claimed'],
    ])
  })

  it('that raises a budget goes into the log of a task that nobody drives, once, and wakes the task', async () => {
    const here = await scene({ owner: null })
    const raise: TaskCommand = {
      command: 'raise',
      task_id: log.task,
      more: { usd: 5 },
      request_id: 'r',
      by: 'ada',
    }
    await here.carryOut(raise)
    await here.carryOut(raise)
    expect([here.told, await here.types()]).toEqual([['woken'], ['task_submitted', 'budget_raised']])
    await expect(here.carryOut({ ...raise, request_id: 'q', node_id: 'write' })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('There is no limit of usd in the budget of the node write') as string,
    })
  })

  it('about a task of another daemon goes to that daemon', async () => {
    const here = await scene({ owner: 'there' })
    await here.carryOut()
    expect([here.told, await here.types()]).toEqual([['asked there'], ['task_submitted', 'task_claimed']])
  })

  it.each<[string, string | null]>([
    ['that nobody claimed', null],
    ['of a daemon that is gone', 'there'],
    ['that this daemon let go of', 'here'],
  ])('about a task %s is written to its log, and the task is woken', async (_, owner) => {
    const here = await scene({ owner, askOwner: async () => false })
    await here.carryOut()
    expect([here.told, (await here.types()).at(-1)]).toEqual([['woken'], 'task_cancel_requested'])
  })

  it('is tried again if the task changes hands, and given up after twenty tries', async () => {
    let looks = 0
    const gone = new BeaverError('fenced', 'This daemon released the task t.')
    const here = await scene({
      owner: 'here',
      driver: async () => (looks++, { cancel: () => Promise.reject(gone) } as unknown as TaskSupervisor),
    })
    let ended: unknown = null
    const carried = here.carryOut().catch((error: unknown) => (ended = error))
    while (ended === null) {
      await new Promise((resolve) => setImmediate(resolve))
      here.clock.advance(50)
    }
    await carried
    expect([ended, looks]).toEqual([gone, 20])
  })
})
