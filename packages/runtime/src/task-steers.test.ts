import { BeaverError, type LogId } from '@beaver/core'
import { newTask, type TaskState } from '@beaver/core/fold'
import type { Draft } from '@beaver/core/journal'
import type { Steer } from '@beaver/agent'
import { describe, expect, it } from 'vitest'
import { steerEvent, type SteerRequest, steersMax, TaskSteers } from './task-steers.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const asked = (requestId: string, text = requestId): SteerRequest => ({ requestId, text, by: 'ada' })
const task = (over: Partial<TaskState> = {}): TaskState => ({ ...newTask(), ...over })
const steers = (count: number): Map<string, string> =>
  new Map(Array.from({ length: count }, (_, i) => [`s${i}`, `text ${i}`]))

function begin(of: TaskState = task()) {
  const heard: Steer[] = []
  const waiting: { drafts: readonly Draft[]; done: PromiseWithResolvers<number> }[] = []
  const state = { ended: false }
  const given = new TaskSteers(log, of, {
    append: (drafts) => {
      const done = Promise.withResolvers<number>()
      waiting.push({ drafts, done })
      return done.promise
    },
    ended: () => state.ended,
    tell: (steer) => void heard.push(steer),
  })
  return { given, heard, waiting, state }
}

describe('a request to steer a task', () => {
  it('is an event with its author', () => {
    expect(steerEvent(log, task(), { requestId: 's', text: 'x', by: 'program', user_id: 'ada' })).toEqual({
      type: 'task_steer_requested',
      data: { request_id: 's', text: 'x', by: 'program', user_id: 'ada' },
    })
  })

  it('that the log has already is no event, also after the end of the task', () => {
    const known = { steers: new Map([['s', 'x']]) }
    expect(steerEvent(log, task(known), asked('s', 'x'))).toBe(null)
    expect(
      steerEvent(log, task({ ...known, status: 'completed', ended: {} as never }), asked('s', 'x')),
    ).toBe(null)
    expect(() => steerEvent(log, task(known), asked('s', 'y'))).toThrow(
      'steers the task t already, with another text',
    )
  })

  it('whose text has a secret is compared as it is recorded', () => {
    const secret = ['my id is AKIA', 'IOSFODNN7EXAMPLE.'].join('')
    const made = steerEvent(log, task(), asked('s', secret))
    expect(made).not.toBe(null)
    const { given, waiting } = begin()
    void given.steer(asked('s', secret), null)
    const recorded = JSON.parse(waiting[0]?.drafts[0]?.dataJson ?? '') as { text: string }
    expect(recorded.text).not.toContain('AKIA')
    expect(steerEvent(log, task({ steers: new Map([['s', recorded.text]]) }), asked('s', secret))).toBe(null)
  })

  it.each([
    ['has ended', { ended: {} as never, status: 'failed' as const }, 'The task t has ended already: failed.'],
    ['is being cancelled', { cancelReason: 'x' }, 'The task t is being cancelled.'],
    [
      'has no root agent',
      { submitted: { request: { workflow: { name: 'W', arguments: {} } } } as never },
      'It has no root agent',
    ],
    ['took as many as it may', { steers: steers(steersMax) }, `The task t was steered ${steersMax} times.`],
  ])('is refused if the task %s', (_, over, message) =>
    expect(() => steerEvent(log, task(over), asked('new'))).toThrow(message),
  )
})

describe('the texts of a task that a daemon drives', () => {
  it('reach the loop when they are durable, in order', async () => {
    const { given, heard, waiting } = begin(task({ steers: steers(1) }))
    const both = Promise.all([given.steer(asked('a'), null), given.steer(asked('b'), null)])
    expect([heard, given.all.map(({ requestId }) => requestId)]).toEqual([[], ['s0']])
    for (const each of waiting) each.done.resolve(1)
    await both
    expect(heard.map(({ requestId }) => requestId)).toEqual(['a', 'b'])
    expect(given.all.map(({ requestId }) => requestId)).toEqual(['s0', 'a', 'b'])
  })

  it('are written once if a request is repeated while it is on its way, and each repetition waits until it is durable', async () => {
    const { given, waiting } = begin()
    const done: string[] = []
    const first = given.steer(asked('a'), null)
    const second = given.steer(asked('a'), null).then(() => done.push('second'))
    expect(waiting).toHaveLength(1)
    await Promise.resolve()
    expect(done).toEqual([])
    waiting[0]?.done.resolve(1)
    await Promise.all([first, second])
    expect(done).toEqual(['second'])
  })

  it('count from when they are accepted, so that many at once do not pass the bound', async () => {
    const { given } = begin(task({ steers: steers(steersMax - 1) }))
    void given.steer(asked('a'), null)
    await expect(given.steer(asked('b'), null)).rejects.toThrow('takes no more texts')
  })

  it('hold up the end of the root until it was told of each', async () => {
    const { given, waiting } = begin()
    expect(given.untilTold([])).toBe(null)
    const accepted = given.steer(asked('a'), null)
    const told = given.untilTold([])
    expect(told).not.toBe(null)
    waiting[0]?.done.resolve(1)
    await Promise.all([told, accepted])
    expect(given.untilTold([])).not.toBe(null)
    expect(given.untilTold(['a'])).toBe(null)
  })

  it('are refused once the end is decided, and once the task is being cancelled', async () => {
    const { given, state } = begin()
    await expect(given.steer(asked('a'), 'enough')).rejects.toThrow('is being cancelled')
    state.ended = true
    await expect(given.steer(asked('a'), null)).rejects.toThrow(
      new BeaverError('conflict', 'The task t has ended already.'),
    )
  })
})
