import { TaskState } from '@a2a-js/sdk'
import type { Followed } from '@beaver/client'
import { type EventType, noUsage } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { evolveTaskView, newTaskView, type SeenTask } from '@beaver/core/task-view'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sightOf, stateOf, taskObject } from './task-object.ts'
import { taskUpdates } from './updates.ts'

let seq = 0
const event = (type: EventType, data: object, runId?: string): RecordedEvent =>
  ({
    type,
    data,
    runId,
    taskseq: ++seq,
    time: `2026-11-24T00:00:${String(seq).padStart(2, '0')}.000Z`,
  }) as RecordedEvent

const submitted = (): RecordedEvent => {
  seq = 0
  return event('task_submitted', { task_id: 't', session_id: 's', request: { text: 'ask' } })
}
const claimed = (): RecordedEvent => event('task_claimed', { daemon: 'd' })
const began = (runId = 'root', teamRunId: string | null = null): RecordedEvent =>
  event('run_started', { run_id: runId, team_run_id: teamRunId }, runId)
const said = (content: string, tools: readonly string[] = []): RecordedEvent =>
  event(
    'assistant_message_added',
    { content, tool_calls: tools.map((id) => ({ id, name: 'write_file', arguments: '{}' })) },
    'root',
  )
const asked = (callId: string, runId = 'root'): RecordedEvent =>
  event(
    'approval_requested',
    {
      call_id: callId,
      tool_name: 'write_file',
      subject: `${callId}.txt`,
      rule: null,
      call_hash: `hash ${callId}`,
    },
    runId,
  )
const granted = (callId: string, runId = 'root'): RecordedEvent =>
  event('approval_granted', { call_id: callId, by: 'ada' }, runId)
const result = (callId: string): RecordedEvent =>
  event('tool_result_recorded', { call_id: callId, success: true, content: 'ok' }, 'root')
const ended = (
  how: 'completed' | 'incomplete' | 'failed' | 'cancelled',
  text = '',
  failure: object | null = null,
): RecordedEvent =>
  event(`task_${how}`, {
    final_output: text,
    outputs: [],
    usage: noUsage,
    provider: null,
    model: null,
    simulated: false,
    failure,
  })

const asks = async (): Promise<boolean> => true
const everything = { calls: true, texts: true }

function progressOf(...events: readonly RecordedEvent[]): SeenTask {
  const view = newTaskView()
  for (const each of events) evolveTaskView(view, each)
  if (view.submitted === null) throw new Error('The task has no beginning.')
  return { submitted: view.submitted, view }
}

describe('a task', () => {
  it.each<[string, () => RecordedEvent[], TaskState, string, string]>([
    ['that nobody has taken', () => [submitted()], TaskState.TASK_STATE_SUBMITTED, '', ''],
    ['that runs', () => [submitted(), claimed(), began()], TaskState.TASK_STATE_WORKING, '', ''],
    [
      'with a call that waits',
      () => [submitted(), claimed(), began(), said('', ['a']), asked('a')],
      TaskState.TASK_STATE_AUTH_REQUIRED,
      '',
      'One call of a tool waits for an approval. write_file: a.txt',
    ],
    [
      'that waits for the client that brought its tools',
      () => [
        ...[submitted(), claimed(), began(), said('', ['a'])],
        event('client_call_requested', { call_id: 'a', tool_name: 'colour' }, 'root'),
      ],
      TaskState.TASK_STATE_INPUT_REQUIRED,
      '',
      'The task waits for the client that brought its tools, which makes the calls: colour. Their results come by that client, or by POST /api/v1/tasks/t/client-answers.',
    ],
    [
      'whose client has answered',
      () => [
        ...[submitted(), claimed(), began(), said('', ['a'])],
        event('client_call_requested', { call_id: 'a', tool_name: 'colour' }, 'root'),
        event('client_call_answered', { call_id: 'a', content: 'blue', by: 'x' }, 'root'),
      ],
      TaskState.TASK_STATE_WORKING,
      '',
      '',
    ],
    [
      'whose call was decided',
      () => [submitted(), claimed(), began(), said('', ['a']), asked('a'), granted('a')],
      TaskState.TASK_STATE_WORKING,
      '',
      '',
    ],
    [
      'whose waiting run ended',
      () => [submitted(), began(), began('w', 'team'), asked('a', 'w'), event('run_cancelled', {}, 'w')],
      TaskState.TASK_STATE_SUBMITTED,
      '',
      '',
    ],
    [
      'that completed',
      () => [submitted(), claimed(), began(), said('yes'), ended('completed', 'yes')],
      TaskState.TASK_STATE_COMPLETED,
      'yes',
      '',
    ],
    [
      'that failed while a call waited',
      () => [
        submitted(),
        began(),
        asked('a'),
        ended('failed', '', { class: 'timeout', message: 'too late' }),
      ],
      TaskState.TASK_STATE_FAILED,
      '',
      'timeout: too late',
    ],
    [
      'that is incomplete',
      () => [submitted(), began(), ended('incomplete', 'half')],
      TaskState.TASK_STATE_FAILED,
      'half',
      'The task ended: incomplete.',
    ],
    [
      'that was cancelled',
      () => [submitted(), began(), ended('cancelled')],
      TaskState.TASK_STATE_CANCELED,
      '',
      'The task ended: cancelled.',
    ],
  ])('%s', (_, events, state, answer, why) => {
    const seen = progressOf(...events())
    const task = taskObject(seen, { sight: everything })
    const parts = [task.artifacts[0]?.parts[0], task.status?.message?.parts[0]].map((part) =>
      part?.content?.$case === 'text' ? part.content.value : '',
    )
    expect([stateOf(seen.view), ...parts]).toEqual([state, answer, why])
  })

  it('shows its newest messages, or none', () => {
    const seen = progressOf(
      submitted(),
      began(),
      said('first', ['a']),
      event('task_steer_requested', { request_id: 'r', text: 'be brief' }),
      result('a'),
    )
    const texts = (historyLength?: number): unknown[] =>
      taskObject(seen, { sight: everything, historyLength }).history.map(({ messageId, parts: [part] }) => [
        messageId,
        part?.content?.value as unknown,
      ])
    expect(texts()).toEqual([
      ['t.1', 'ask'],
      ['t.3', 'first'],
      ['t.4', 'be brief'],
    ])
    expect([texts(1), texts(0), texts(10).length]).toEqual([[['t.4', 'be brief']], [], 3])
  })

  it('shows its texts to those who may read, and its calls to those who may decide', () => {
    const seen = progressOf(submitted(), began(), said('secret', ['a']), asked('a'))
    const shown = (...roles: ('submit' | 'approve' | 'read')[]): string =>
      JSON.stringify(taskObject(seen, { sight: sightOf({ name: 'x', roles }) }))
    expect(
      [shown('submit'), shown('approve'), shown('read')].map((text) => [
        text.includes('secret'),
        text.includes('a.txt'),
      ]),
    ).toEqual([
      [false, false],
      [false, true],
      [true, true],
    ])
    expect(
      JSON.stringify(taskObject(seen, { sight: sightOf({ name: 'x', roles: ['submit'] }, { own: true }) })),
    ).toContain('secret')
  })
})

const nameOf = (state: TaskState | undefined): string =>
  (TaskState[state ?? 0] ?? '').slice('TASK_STATE_'.length)

/** The messages that a reader gets, one word for each. */
async function told(
  upTo: number,
  ...followed: readonly (
    | RecordedEvent
    | { readonly piece: string; readonly offset: number; readonly call: number }
  )[]
): Promise<string[]> {
  const all = followed.map((each): Followed =>
    'piece' in each
      ? {
          delta: {
            run_id: 'root',
            agent_name: 'root',
            node_id: null,
            call: each.call,
            offset: each.offset,
            text: each.piece,
          },
        }
      : { event: each },
  )
  const words: string[] = []
  for await (const { payload } of taskUpdates(stream(all), { sight: everything, upTo, asks })) {
    if (payload?.$case === 'task')
      words.push(
        `task ${nameOf(payload.value.status?.state)} ${JSON.stringify(payload.value.artifacts[0]?.parts[0]?.content?.value ?? '')}`,
      )
    if (payload?.$case === 'statusUpdate')
      words.push(
        `${nameOf(payload.value.status?.state)} ${payload.value.status?.message?.parts[0]?.content?.value ?? ''}`.trim(),
      )
    if (payload?.$case === 'artifactUpdate')
      words.push(
        `${payload.value.append ? '+' : '='}${payload.value.artifact?.parts[0]?.content?.value ?? ''}${payload.value.lastChunk ? ' end' : ''}`,
      )
  }
  return words
}

async function* stream<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

describe('a reader', () => {
  it('has the answer at the end, in pieces', async () => {
    expect(
      await told(
        1,
        submitted(),
        claimed(),
        began(),
        { piece: 'a', offset: 0, call: 1 },
        { piece: 'b', offset: 1, call: 1 },
        said('abc'),
        ended('completed', 'abc'),
      ),
    ).toEqual(['task SUBMITTED ""', 'WORKING', '=a', '+b', '+c end', 'COMPLETED'])
  })

  it('has another text replaced by the answer, and is told it as a message', async () => {
    const events = [
      submitted(),
      claimed(),
      began(),
      said('I write.', ['a']),
      asked('a'),
      granted('a'),
      result('a'),
      said('done'),
      ended('completed', 'done'),
    ]
    expect(await told(1, ...events)).toEqual([
      'task SUBMITTED ""',
      'WORKING',
      '=I write.',
      'WORKING I write.',
      'WORKING Calls write_file.',
      'AUTH_REQUIRED One call of a tool waits for an approval. write_file: a.txt',
      'WORKING',
      '=done end',
      'COMPLETED',
    ])
  })

  it('is told of each call that waits besides', async () => {
    const lines = await told(
      1,
      submitted(),
      claimed(),
      began(),
      said('', ['a', 'b']),
      asked('a'),
      asked('b'),
      granted('a'),
    )
    expect(lines.slice(-3).map((line) => line.split('. ')[0])).toEqual([
      'AUTH_REQUIRED One call of a tool waits for an approval',
      'AUTH_REQUIRED 2 calls of tools wait for an approval',
      'AUTH_REQUIRED One call of a tool waits for an approval',
    ])
  })

  it('who comes later begins with the task as it is, also in the middle of a text', async () => {
    const before = [submitted(), claimed(), began()]
    expect(
      await told(3, ...before, { piece: 'a', offset: 0, call: 1 }, said('ab'), ended('completed', 'ab')),
    ).toEqual(['task WORKING ""', '=a', '+b end', 'COMPLETED'])
    expect(
      await told(
        4,
        ...[submitted(), claimed(), began()],
        { piece: 'a', offset: 0, call: 1 },
        event('task_released', {}),
        { piece: 'b', offset: 1, call: 1 },
      ),
    ).toEqual(['task WORKING "a"', '+b'])
  })

  it('of a task that has ended is told how', async () => {
    expect(await told(3, submitted(), began(), ended('completed', 'yes'))).toEqual(['task COMPLETED "yes"'])
  })
})

it('gives every reader the answer, wherever the reader begins and whatever pieces are lost', async () => {
  const textAndLosses = fc.record({
    texts: fc.array(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
    lost: fc.array(fc.boolean()),
    from: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(textAndLosses, async ({ texts, lost, from }) => {
      const events: Followed[] = [submitted(), claimed(), began()].map((each) => ({ event: each }))
      let pieces = 0
      for (const [i, text] of texts.entries()) {
        const isLast = i === texts.length - 1
        for (const [offset, letter] of [...text.split('')].entries())
          if (lost[pieces++] !== true)
            events.push({
              delta: { run_id: 'root', agent_name: 'root', node_id: null, call: i + 1, offset, text: letter },
            })
        events.push({ event: said(text, isLast ? [] : [`c${i}`]) })
        if (!isLast) events.push({ event: result(`c${i}`) })
      }
      events.push({ event: ended('completed', texts.at(-1)) })
      let held = ''
      for await (const { payload } of taskUpdates(stream(events), {
        sight: everything,
        upTo: 1 + (from % seq),
        asks,
      })) {
        const artifact =
          payload?.$case === 'task'
            ? payload.value.artifacts[0]
            : payload?.$case === 'artifactUpdate'
              ? payload.value.artifact
              : undefined
        const keeps =
          payload?.$case === 'statusUpdate' || (payload?.$case === 'artifactUpdate' && payload.value.append)
        held = `${keeps ? held : ''}${String(artifact?.parts[0]?.content?.value ?? '')}`
      }
      expect(held).toBe(texts.at(-1))
    }),
  )
})
