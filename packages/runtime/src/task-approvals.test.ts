import { BeaverError, type DomainEvent, event, type LogId } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import { until, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import type { ClientAnswers } from './client-answers.ts'
import {
  answerEvent,
  callWaiting,
  type Decision,
  decisionEvent,
  questionWaiting,
  type TaskSoFar,
  TaskApprovals,
} from './task-approvals.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const usage = { input_tokens: 0, output_tokens: 0, calls: 1 }

function run(id: string): DomainEvent[] {
  const start = {
    run_id: id,
    parent_run_id: null,
    attempt_index: 1,
    agent_name: id,
    team_run_id: null,
    node_id: null,
    source: 'test',
    max_tool_iterations: 5,
    tools: ['rm'],
  }
  const answer = {
    content: null,
    tool_calls: [{ id: 'c1', name: 'rm', arguments: '{}' }],
    finish_reason: 'tool_calls',
    usage,
  }
  return [
    event('run_started', start as never, id),
    event('user_message_added', { content: 'x' }, id),
    event(
      'assistant_message_added',
      { ...answer, provider_name: 'p', model: 'm', response_id: null, duration_ms: 1 },
      id,
    ),
    event('approval_requested', { call_id: 'c1', tool_name: 'rm', subject: '/', rule: null }, id),
  ]
}

function folded(...written: readonly DomainEvent[]): TaskSoFar {
  const events = written.map(
    (each, i) => ({ ...each, taskseq: i + 1, epoch: 1, time: '2026-01-01T00:00:00.000Z' }) as RecordedEvent,
  )
  return { state: foldTask(events), events }
}

function begin({
  unattended = 'wait' as 'wait' | 'refuse',
  runs = ['r1'],
  taken = new Map<string, number>(),
} = {}) {
  const clock = virtualClock()
  let loads = 0
  const faults = { failLoads: 0, cancelling: false }
  const gone: string[] = []
  const written: DomainEvent[] = runs.flatMap(run)
  const approvals = new TaskApprovals(log, {
    clock,
    unattended,
    waitMsMax: 1_000,
    askedAtMs: taken,
    clientGone: (reason) => void gone.push(reason),
    cancelling: () => faults.cancelling,
    judgeArguments: async ({ arguments: text }) => (text.includes('bad') ? 'It does not fit.' : null),
    async append(drafts) {
      const first = written.length + 1
      written.push(
        ...drafts.map(({ type, runId, dataJson }) => event(type, JSON.parse(dataJson) as never, runId)),
      )
      return first
    },
    load() {
      loads++
      if (faults.failLoads-- > 0) return Promise.reject(new BeaverError('unreachable', 'gone'))
      return Promise.resolve(folded(...written))
    },
  })
  return {
    clock,
    gone,
    written,
    approvals,
    faults,
    get loads() {
      return loads
    },
  }
}

const granted: Decision = { callId: 'c1', approved: true, by: 'ada', reason: '' }
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )

describe('a call that waits', () => {
  it('hears of the decision once it is durable, with its place', async () => {
    const { approvals, written } = begin()
    const waiting = approvals.wait('r1', 'c1')
    await approvals.decide(granted)
    expect(await waiting).toMatchObject({
      event: { type: 'approval_granted', data: { by: 'ada' }, runId: 'r1' },
      taskseq: written.length,
    })
  })

  it('hears of a decision that came before it asked', async () => {
    const { approvals } = begin()
    await approvals.decide({ ...granted, approved: false, reason: 'no' })
    expect(await approvals.wait('r1', 'c1')).toMatchObject({
      event: { type: 'approval_denied', data: { reason: 'no' } },
    })
  })

  it('is decided with a hundred others, and the log is read twice at most', async () => {
    const runs = Array.from({ length: 100 }, (_, i) => `r${i}`)
    const task = begin({ runs })
    await Promise.all(runs.map((id) => task.approvals.decide({ ...granted, callId: `${id}/c1` })))
    expect(task.written.filter((each) => each.type === 'approval_granted').map((each) => each.runId)).toEqual(
      runs,
    )
    expect(task.loads).toBeLessThanOrEqual(2)
  })

  it('is not decided by a reading of the log that failed, and the next one reads again', async () => {
    const task = begin()
    task.faults.failLoads = 1
    expect(await code(task.approvals.decide(granted))).toBe('unreachable')
    expect(await code(task.approvals.decide(granted))).toBe('done')
  })

  it('is decided once, whoever answers at the same time', async () => {
    const { approvals, written } = begin()
    expect(
      await Promise.all([code(approvals.decide(granted)), code(approvals.decide({ ...granted, by: 'bo' }))]),
    ).toEqual(['done', 'conflict'])
    expect(written.filter((each) => each.type === 'approval_granted')).toHaveLength(1)
  })

  it('is refused at once where nobody can answer', async () => {
    const { approvals } = begin({ unattended: 'refuse' })
    expect(await approvals.wait('r1', 'c1')).toMatchObject({
      event: { type: 'approval_denied', data: { by: 'beaver' } },
    })
  })

  it('is refused when nobody answers in time, and a later answer is a conflict', async () => {
    const { approvals, clock } = begin()
    const waiting = approvals.wait('r1', 'c1')
    clock.advance(1_000)
    expect(await waiting).toMatchObject({
      event: { type: 'approval_denied', data: { reason: 'Nobody answered within 1 s.' } },
    })
    expect(await code(approvals.decide(granted))).toBe('conflict')
  })

  it('asked for before the task was taken over has what is left of its time', async () => {
    const { approvals, clock } = begin({ taken: new Map([['r1 c1', virtualClock().now() - 900]]) })
    const waiting = approvals.wait('r1', 'c1')
    clock.advance(100)
    expect(await waiting).toMatchObject({ event: { type: 'approval_denied' } })
  })

  it('leaves no deadline behind once it is decided', async () => {
    const { approvals, clock, written } = begin()
    const waiting = approvals.wait('r1', 'c1')
    await approvals.decide(granted)
    await waiting
    clock.advance(10_000)
    await until(
      'nothing more is written',
      () => written.filter((each) => each.type.startsWith('approval_')).length === 2,
    )
  })
})

describe('a question with a deadline of its own', () => {
  const expired = (reason: string) => ({
    event: { type: 'question_answered', data: { by: 'beaver', answer: { action: 'cancel' }, reason } },
  })
  const wait = ({ approvals }: ReturnType<typeof begin>, timeoutMs: number | undefined) =>
    approvals.waitForAnswer('r1', { callId: 'c1', index: 0, timeoutMs }, new AbortController().signal)

  it.each([
    ['waits that long', 200, 0.2],
    ['waits no longer than the daemon allows', 5_000, 1],
    ['and one without, as long as the daemon allows', undefined, 1],
  ])('%s', async (_, timeoutMs, seconds) => {
    const task = begin()
    const waiting = wait(task, timeoutMs)
    expect(task.approvals.waiting('r1')).toEqual([{ callId: 'c1', leftMs: seconds * 1_000 }])
    task.clock.advance(seconds * 1_000 - 1)
    expect(task.approvals.count()).toBe(1)
    task.clock.advance(1)
    expect(await waiting).toMatchObject(expired(`Nobody answered within ${seconds} s.`))
  })

  it('has what is left of it after the task was taken over', async () => {
    const task = begin({ taken: new Map([['r1 c1 0', virtualClock().now() - 150]]) })
    const waiting = wait(task, 200)
    task.clock.advance(50)
    expect(await waiting).toMatchObject(expired('Nobody answered within 0.2 s.'))
  })
})

it('a run that has ended waits for nothing: no decision is made in its name later', async () => {
  const { approvals, clock, written } = begin()
  void approvals.wait('r1', 'c1')
  approvals.ended('r1')
  const before = written.length
  clock.advance(10_000)
  await approvals.decide({ ...granted, callId: 'other' }).catch(() => {})
  expect(written).toHaveLength(before)
})

describe('which call is meant', () => {
  it('is said with its run where several runs have one of that id', async () => {
    const state = folded(...run('r1'), ...run('r2'))
    expect(() => callWaiting(log, state, 'c1')).toThrow('r1/c1, r2/c1')
    expect(callWaiting(log, state, 'r2/c1')).toMatchObject({ runId: 'r2' })
  })

  it('may hold a slash, alone and after its run', () => {
    const renamed = (id: string, call: string): DomainEvent[] =>
      JSON.parse(JSON.stringify(run(id)).replaceAll('"c1"', JSON.stringify(call))) as DomainEvent[]
    const state = folded(...renamed('r1', 'a/b'), ...run('r2'))
    for (const named of ['a/b', 'r1/a/b'])
      expect(callWaiting(log, state, named)).toMatchObject({ runId: 'r1', call: { id: 'a/b' } })
    expect(() => callWaiting(log, state, 'a/c1')).toThrow('No call a/c1')
  })

  it('a call nobody waits for is not found, and the message names those that wait', () => {
    expect(() => callWaiting(log, folded(...run('r1')), 'other')).toThrow('These do: c1.')
  })

  it('a call of an ended task is a conflict', () => {
    expect(() => callWaiting(log, folded(...run('r1'), cancelled), 'c1')).toThrow('has ended already')
  })
})

const cancelled = event('task_cancelled', {
  final_output: '',
  outputs: [],
  usage,
  provider: null,
  model: null,
  simulated: false,
  failure: null,
})
const result = event(
  'tool_result_recorded',
  { call_id: 'c1', tool_name: 'rm', success: true, content: 'gone', error: null, duration_ms: 1 },
  'r1',
)
const runEnds = event('run_cancelled', { reason: 'enough', tool_iterations: 0, usage }, 'r1')
const bob = { by: 'gateway', userId: 'bob' }

describe('a second decision about a call', () => {
  const decision = decisionEvent('r1', { ...granted, ...bob })
  const conflict = {
    code: 'conflict',
    message: 'The call c1 was already allowed by bob (over gateway) at 2026-01-01T00:00:00.000Z.',
  }

  it.each([
    ['has begun', []],
    ['has its result', [result]],
    ['belongs to a run that has ended', [result, runEnds]],
    ['belongs to a task that has ended', [result, cancelled]],
  ])('is a conflict that says who was first, if the call %s', (_, since) => {
    for (const named of ['c1', 'r1/c1'])
      expect(() => callWaiting(log, folded(...run('r1'), decision, ...since), named)).toThrow(
        expect.objectContaining(conflict),
      )
  })

  it('is a conflict, if the run ended before anybody decided', () => {
    const left = {
      code: 'conflict',
      message: expect.stringContaining('it ended before anybody decided') as string,
    }
    expect(() => callWaiting(log, folded(...run('r1'), ...run('r2'), runEnds), 'r1/c1')).toThrow(
      expect.objectContaining(left),
    )
  })

  it('does not count for the call of another run with the same id, nor for a call that nobody made', () => {
    const task = folded(...run('r1'), ...run('r2'), decision, result)
    expect(callWaiting(log, task, 'c1')).toMatchObject({ runId: 'r2' })
    expect(() => callWaiting(log, task, 'c2')).toThrow(expect.objectContaining({ code: 'not_found' }))
  })
})

describe('a second answer to a question', () => {
  const asked = event(
    'question_asked',
    { call_id: 'c1', tool_name: 'rm', question_index: 0, question: { message: 'Which?' } },
    'r1',
  )
  const begun = [...run('r1').slice(0, 3), asked]
  const answer = { callId: 'c1', answer: { action: 'accept' as const, answers: ['a'] }, ...bob }
  const answered = answerEvent('r1', 0, answer)
  const conflict = {
    code: 'conflict',
    message:
      'The question of the call c1 was already answered by bob (over gateway) at 2026-01-01T00:00:00.000Z.',
  }

  it.each([
    ['goes on', []],
    ['has its result', [result]],
    ['belongs to a run that has ended', [result, runEnds]],
    ['belongs to a task that has ended', [result, cancelled]],
  ])('is a conflict that says who was first, if the call %s', (_, since) => {
    for (const index of [0, undefined])
      expect(() => questionWaiting(log, folded(...begun, answered, ...since), { ...answer, index })).toThrow(
        expect.objectContaining(conflict),
      )
  })

  it('is a conflict, if the call ended before anybody answered', () => {
    expect(() => questionWaiting(log, folded(...begun, result), answer)).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    )
  })

  it('is not found, if nobody asked', () => {
    expect(() => questionWaiting(log, folded(...begun), { ...answer, callId: 'c2' })).toThrow(
      expect.objectContaining({ code: 'not_found' }),
    )
  })
})

describe('calls that wait for the client', () => {
  const never = new AbortController().signal
  function atClient(options: Parameters<typeof begin>[0] = {}) {
    const task = begin(options)
    task.written.splice(
      2,
      Infinity,
      event(
        'assistant_message_added',
        {
          content: null,
          tool_calls: ['c1', 'c2'].map((id) => ({ id, name: 'colour', arguments: '{}' })),
          finish_reason: 'tool_calls',
          usage,
          ...{ provider_name: 'p', model: 'm', response_id: null, duration_ms: 1 },
        },
        'r1',
      ),
      ...['c1', 'c2'].map((id) => event('client_call_requested', { call_id: id, tool_name: 'colour' }, 'r1')),
    )
    const waits = ['c1', 'c2'].map((id) => task.approvals.waitForClient('r1', id, never))
    const answers = (...given: readonly [string, string][]) =>
      code(
        task.approvals.answerForClient({
          answers: given.map(([callId, content]) => ({ callId, content })),
          by: 'web',
          userId: 'ada',
        }),
      )
    const answered = () => task.written.filter(({ type }) => type === 'client_call_answered')
    return { ...task, waits, answers, answered }
  }

  it('hear of the answers, which are recorded together', async () => {
    const { waits, answers, answered } = atClient()
    expect(await answers(['c2', 'red'], ['c1', 'blue'])).toBe('done')
    expect(await Promise.all(waits)).toMatchObject([
      { event: { data: { call_id: 'c1', content: 'blue', by: 'web', user_id: 'ada' } }, taskseq: 7 },
      { event: { data: { call_id: 'c2', content: 'red' } }, taskseq: 6 },
    ])
    expect(answered()).toHaveLength(2)
  })

  it('carry the choice of the client, which names tools that the run has', async () => {
    const { approvals, answered } = atClient()
    const say = (toolChoice: ClientAnswers['toolChoice']) =>
      code(approvals.answerForClient({ answers: [{ callId: 'c1', content: 'blue' }], toolChoice, by: 'web' }))
    expect(await say({ mode: 'required', names: ['nothing'] })).toBe('invalid_arguments')
    expect(await say({ mode: 'auto', except: ['nothing'] })).toBe('invalid_arguments')
    expect(answered()).toEqual([])
    expect(await say('required')).toBe('done')
    expect(answered()).toMatchObject([{ data: { call_id: 'c1', tool_choice: 'required' } }])
  })

  it('have one answer: the same again changes nothing, another one is refused with all beside it', async () => {
    const { answers, answered } = atClient()
    expect(await Promise.all([answers(['c1', 'blue']), answers(['c1', 'blue'])])).toEqual(['done', 'done'])
    expect(await answers(['c1', 'red'], ['c2', 'red'])).toBe('conflict')
    expect(answered()).toHaveLength(1)
    expect(await Promise.all([answers(['c2', 'one']), answers(['c2', 'two'])])).toEqual(['done', 'conflict'])
    expect(answered()).toHaveLength(2)
  })

  it('are the only ones that a client answers', async () => {
    const { answers, written } = atClient()
    expect(await answers(['c9', 'blue'])).toBe('not_found')
    const result = { tool_name: 'colour', success: false, content: '', error: 'cancelled', duration_ms: 1 }
    written.push(event('tool_result_recorded', { call_id: 'c1', ...result }, 'r1'))
    expect(await answers(['c1', 'blue'])).toBe('conflict')
  })

  it('have no answer once they are stopped, also if the log was read before that', async () => {
    const { answers, answered, faults, approvals, written } = atClient()
    expect(await answers(['c1', 'blue'])).toBe('done')
    const late = answers(['c2', 'blue'])
    faults.cancelling = true
    expect(await late).toBe('conflict')
    expect(await answers(['c1', 'blue'])).toBe('done')
    faults.cancelling = false
    const later = answers(['c2', 'blue'])
    approvals.ended('r1')
    expect(await later).toBe('conflict')
    const next = atClient()
    next.written.push(event('task_cancel_requested', { reason: 'enough' }))
    expect(await next.answers(['c1', 'blue'])).toBe('conflict')
    expect([answered(), next.answered()].map(({ length }) => length)).toEqual([1, 0])
    expect(written.at(-1)?.type).toBe('client_call_answered')
  })

  it('tell that the client is gone when their time is over, also if nobody attends the task', async () => {
    const { clock, gone, approvals } = atClient({ unattended: 'refuse' })
    expect(approvals.waiting('r1')).toMatchObject([{ atClient: true, leftMs: 1_000 }, { atClient: true }])
    clock.advance(999)
    expect(gone).toEqual([])
    clock.advance(1)
    expect(gone).toEqual(Array(2).fill('Its client did not answer within 1 s.'))
  })

  it('have the time that was left when the task was taken over', () => {
    const { clock, gone } = atClient({ taken: new Map([['r1 c1 client', -600]]) })
    clock.advance(400)
    expect(gone).toHaveLength(1)
  })

  it('do not take an answer whose secrets are masked for another one', async () => {
    const { answers, answered } = atClient()
    const key = `sk-proj-${'a1B2'.repeat(12)}`
    expect([await answers(['c1', key]), await answers(['c1', key])]).toEqual(['done', 'done'])
    expect(JSON.stringify(answered())).not.toContain(key)
  })
})
