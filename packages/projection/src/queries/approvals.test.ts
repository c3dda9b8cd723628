import { type DomainEvent, event } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { approvalTask } from '../../test/approval-fixture.ts'
import {
  answer as said,
  type LogWriter,
  newStream,
  runStarted,
  submitted,
  toolResult,
  toolStarted,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel } from '../read-model.ts'

const call = (id: string): { id: string; name: string; arguments: string } => ({
  id,
  name: 'run_command',
  arguments: '{}',
})
const asked = (id: string): DomainEvent =>
  event('approval_requested', { call_id: id, tool_name: 'run_command', subject: id, rule: null }, 'r')
const begun = (log: LogWriter, ...ids: string[]): void =>
  void log.write(submitted(log.log), runStarted('r'), said('r', null, ids.map(call)))

describe('a call that a person is asked about', () => {
  test('is listed until it is decided, of one task or of all', async () => {
    using model = await modelOf((stream) => {
      approvalTask(stream.log('done'))
      approvalTask(stream.log('open'), { open: true })
    })
    const waiting = answer(model.sql, 'approvals', {})
    expect(waiting).toMatchObject({ task_id: null, more: false })
    expect(waiting.calls.map((each) => [each.task_id, each.call_id, each.subject, each.state])).toEqual([
      ['open', 'c1', 'ls -la', 'waiting'],
      ['open', 'c2', 'rm -rf build', 'waiting'],
    ])
    expect(waiting.calls[0]).toMatchObject({
      agent_name: 'Root agent',
      run_id: 'run-a',
      tool: 'run_command',
      arguments: '{"command":"ls -la"}',
      rule: 'run_command',
    })
    expect(answer(model.sql, 'approvals', { task_id: 'op', limit: 1 })).toMatchObject({
      task_id: 'open',
      calls: [{ call_id: 'c1' }],
      more: true,
    })
    expect(answer(model.sql, 'approvals', { task_id: 'done' })).toMatchObject({ calls: [] })
    expect(answer(model.sql, 'approvals', { tenant: 'other' })).toMatchObject({ calls: [] })
    expect(answer(model.sql, 'approvals', { session_id: 'other' })).toMatchObject({ calls: [] })
    expect(
      answer(model.sql, 'approvals', { session_id: waiting.calls[0]?.session_id ?? '' }).calls.length,
    ).toBeGreaterThan(0)
  })

  test('makes its task one that waits, found by that', async () => {
    using model = await modelOf((stream) => {
      approvalTask(stream.log('done'))
      approvalTask(stream.log('open'), { open: true })
    })
    const { tasks } = answer(model.sql, 'tasks', { status: 'waiting_for_approval' })
    expect(tasks).toMatchObject([
      { task_id: 'open', status: 'running', waiting: 2, waits_for: { call_id: 'c1', tool: 'run_command' } },
    ])
    expect(answer(model.sql, 'task', { task_id: 'done' })).toMatchObject({
      task: { waiting: 0, waits_for: null },
    })
  })

  test('is kept with who decided what, and why', async () => {
    using model = await modelOf((stream) => approvalTask(stream.log('t')))
    expect(answer(model.sql, 'task', { task_id: 't' })).toMatchObject({
      approvals: [
        { call_id: 'c1', state: 'granted', by: 'anna', reason: null },
        { call_id: 'c2', state: 'denied', by: 'ben', reason: 'not that folder' },
      ],
    })
  })

  test('is kept with the user on whose behalf it was decided or answered', async () => {
    using model = await modelOf((stream) => {
      const log = stream.log('t')
      begun(log, 'a', 'b')
      const of = { by: 'gateway', user_id: 'bob' }
      log.write(asked('a'), event('approval_granted', { call_id: 'a', ...of }, 'r'))
      log.write(
        event(
          'question_asked',
          { call_id: 'b', tool_name: 'run_command', question_index: 0, question: { message: 'Why?' } },
          'r',
        ),
      )
      log.write(
        event(
          'question_answered',
          { call_id: 'b', question_index: 0, answer: { action: 'decline' }, ...of },
          'r',
        ),
      )
    })
    const of = { by: 'gateway', user_id: 'bob' }
    expect(answer(model.sql, 'task', { task_id: 't' })).toMatchObject({
      approvals: [{ state: 'granted', ...of }],
      questions: [{ state: 'decline', ...of }],
    })
  })

  test('leaves the run at work while another call of it is', async () => {
    const stream = newStream()
    const log = stream.log('t')
    using model = openReadModel(':memory:', { readBlob: stream.readBlob })
    model.begin('S@1')
    const statusAfter = async (write: () => void): Promise<unknown> => {
      write()
      await model.apply(stream.messages)
      return model.sql.one<{ status: string }>('select status from runs').status
    }
    expect(await statusAfter(() => begun(log, 'a', 'b'))).toBe('acting')
    // Until the other call begins, it is held by the one that asks.
    expect(await statusAfter(() => log.write(asked('a')))).toBe('waiting_for_approval')
    expect(await statusAfter(() => log.write(toolStarted('r', 'b', 'run_command')))).toBe('acting')
    expect(await statusAfter(() => log.write(toolResult('r', 'b', 'x', { tool: 'run_command' })))).toBe(
      'waiting_for_approval',
    )
    expect(
      await statusAfter(() => log.write(event('approval_granted', { call_id: 'a', by: 'anna' }, 'r'))),
    ).toBe('acting')
    expect(await statusAfter(() => log.write(toolResult('r', 'a', 'x', { tool: 'run_command' })))).toBe(
      'thinking',
    )
  })

  test('counts its task as one that waits for a person, while a daemon drives it', async () => {
    using model = await modelOf((stream) => {
      const log = stream.log('t')
      begun(log, 'a')
      log.write(asked('a'))
      begun(stream.log('other'), 'a')
    })
    expect(answer(model.sql, 'status', {})).toMatchObject({
      tasks: 2,
      by_status: { submitted: 1, waiting_for_person: 1 },
    })
  })

  test('waits no more when its run or its task has ended', async () => {
    const usage = { input_tokens: 0, output_tokens: 0, calls: 0 }
    using model = await modelOf((stream) => {
      const log = stream.log('t')
      begun(log, 'a')
      log.write(asked('a'), event('run_cancelled', { reason: 'enough', tool_iterations: 0, usage }, 'r'))
    })
    expect(answer(model.sql, 'approvals', {})).toMatchObject({ calls: [] })
    expect(answer(model.sql, 'task', { task_id: 't' })).toMatchObject({
      task: { waiting: 0 },
      approvals: [{ state: 'left' }],
    })
    for (const status of ['waiting_for_approval', 'waiting_for_person'] as const)
      expect(answer(model.sql, 'tasks', { status })).toMatchObject({ tasks: [] })
  })

  test('that nobody asked for changes nothing', async () => {
    using model = await modelOf((stream) => {
      const log = stream.log('t')
      begun(log, 'a')
      log.write(
        asked('ghost'),
        event('approval_granted', { call_id: 'ghost', by: 'x' }, 'r'),
        event('approval_denied', { call_id: 'ghost', by: 'x', reason: '' }),
      )
    })
    expect(model.sql.all('select call_id, approval from tool_calls')).toEqual([
      { call_id: 'a', approval: null },
    ])
  })

  test('has an answer of bounded size, however long what it asks', async () => {
    using model = await modelOf((stream) => {
      const log = stream.log('t')
      log.write(submitted(log.log), runStarted('r'))
      const ids = Array.from({ length: 300 }, (_, n) => `c${n}`)
      log.write(
        said(
          'r',
          null,
          ids.map((id) => ({ ...call(id), arguments: '长'.repeat(5_000) })),
        ),
      )
      for (const id of ids)
        log.write(
          event(
            'approval_requested',
            { call_id: id, tool_name: 'x', subject: '长'.repeat(5_000), rule: '长'.repeat(5_000) },
            'r',
          ),
        )
    })
    for (const name of ['approvals', 'tasks', 'task'] as const) {
      const size = Buffer.byteLength(
        JSON.stringify(
          answer(
            model.sql,
            name,
            name === 'tasks' ? {} : { task_id: 't', ...(name === 'approvals' ? { limit: 200 } : {}) },
          ),
        ),
      )
      expect({ name, fits: size < 1024 * 1024 }).toEqual({ name, fits: true })
    }
  })
})
