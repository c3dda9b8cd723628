import type { LiveProgress, LiveUpdate } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { askingCall } from '@beaver/core/task-view'
import { describe, expect, it } from 'vitest'
import { type TurnChange, TurnUpdates } from './turn-updates.ts'

let taskseq = 0
const happened = (type: string, data: object, runId?: string): RecordedEvent =>
  ({ type, data, runId, taskseq: ++taskseq }) as unknown as RecordedEvent
const submitted = happened('task_submitted', { request: { text: 'Do it.', workspace: '/w' } })
const began = happened('run_started', { run_id: 'root', team_run_id: null, agent_name: 'root' })
const said = (
  content: string | null,
  calls: readonly (readonly [id: string, name: string, args: object])[] = [],
  runId = 'root',
): RecordedEvent =>
  happened(
    'assistant_message_added',
    { content, tool_calls: calls.map(([id, name, args]) => ({ id, name, arguments: JSON.stringify(args) })) },
    runId,
  )
const piece = (call: number, offset: number, text: string): LiveUpdate => ({
  run_id: 'root',
  agent_name: 'root',
  node_id: null,
  call,
  offset,
  text,
})
const ended = (type = 'task_completed', final_output = ''): RecordedEvent =>
  happened(type, { final_output, failure: null })

function told(...inputs: readonly (RecordedEvent | LiveUpdate)[]): TurnChange[] {
  const updates = new TurnUpdates('t')
  return inputs.flatMap((each) => ('run_id' in each ? updates.live(each) : updates.event(each)))
}

/** The updates, each in a few words. */
const words = (all: readonly TurnChange[]): string[] =>
  all.map((each) => {
    if ('asked' in each) return `asked ${each.asked.toolCallId} as ${askingCall(each.asked)}`
    if ('decided' in each) return `decided ${each.decided.toolCallId}`
    if ('question' in each) return `question ${each.question.toolCallId} ${each.question.question.message}`
    if ('settled' in each) return `settled ${each.settled.taskseq}`
    if ('short' in each) return `short ${each.short.toolCallId}`
    if ('placed' in each) return `placed ${each.placed.toolCallId}`
    if ('end' in each) return each.end.type
    const { update } = each
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
      case 'user_message_chunk':
        return `${update.sessionUpdate.split('_')[0]} ${update.messageId}: ${update.content.type === 'text' ? update.content.text : ''}`
      case 'tool_call':
        return `call ${update.toolCallId} ${update.title}`
      case 'tool_call_update':
        return `${update.toolCallId} ${update.status ?? 'content'}`
      case 'plan':
        return `plan ${update.entries.map(({ content, status }) => `${content} ${status}`).join(', ')}`
      default:
        return update.sessionUpdate
    }
  })

describe('what an editor is told of a task', () => {
  it('says that a call waits for the client of another protocol', () => {
    const all = told(
      ...[submitted, began, said(null, [['c1', 'colour', {}]])],
      happened('tool_call_started', { call_id: 'c1' }, 'root'),
      happened('client_call_requested', { call_id: 'c1', tool_name: 'colour' }, 'root'),
    )
    expect(JSON.stringify(all.at(-1))).toContain('This call waits for the client that brought the tool.')
  })

  it('is the text in its pieces, each call from its beginning to its end, and the end', () => {
    const all = told(
      submitted,
      began,
      piece(1, 0, 'I rea'),
      said('I read.', [['c1', 'read_file', { path: 'a.md' }]]),
      happened('tool_call_started', { call_id: 'c1' }, 'root'),
      happened('tool_result_recorded', { call_id: 'c1', success: true, content: 'text' }, 'root'),
      said('Done.'),
      ended('task_completed', 'Done.'),
    )
    expect(words(all)).toEqual([
      'agent t.0: I rea',
      'agent t.0: d.',
      'call t/1 read_file a.md',
      't/1 in_progress',
      't/1 completed',
      'agent t.2: Done.',
      'task_completed',
    ])
    expect(all[2]).toMatchObject({
      update: { kind: 'read', rawInput: { path: 'a.md' }, locations: [{ path: '/w/a.md' }] },
    })
  })

  it('is a question for each call that waits, until somebody decides', () => {
    const asked = { call_id: 'c1', tool_name: 'echo', subject: 'x', rule: null }
    const all = told(
      submitted,
      began,
      said(null, [['c1', 'echo', {}]]),
      happened('approval_requested', asked, 'root'),
      happened('approval_denied', { call_id: 'c1', by: 'ben', reason: 'no' }, 'root'),
    )
    expect(words(all)).toEqual(['call t/1 echo', 't/1 content', 'asked t/1 as root/c1', 'decided t/1'])
  })

  it('is the question of a call, until somebody answers it or its call ends', () => {
    const asks = (callId: string): RecordedEvent =>
      happened(
        'question_asked',
        { call_id: callId, tool_name: 'ask_user', question_index: 0, question: { message: 'Why?' } },
        'root',
      )
    const [first, second] = [asks('c1'), asks('c2')]
    const log = [
      submitted,
      began,
      said(null, [
        ['c1', 'ask_user', {}],
        ['c2', 'ask_user', {}],
      ]),
      first,
      second,
      happened(
        'question_answered',
        { call_id: 'c1', question_index: 0, answer: { action: 'decline' }, by: 'ben' },
        'root',
      ),
      happened('tool_result_recorded', { call_id: 'c2', success: false, content: '' }, 'root'),
    ]
    expect(words(told(...log))).toEqual([
      'call t/1 ask_user',
      'call t/2 ask_user',
      't/1 content',
      'question t/1 Why?',
      't/2 content',
      'question t/2 Why?',
      `settled ${first.taskseq}`,
      't/2 failed',
      `settled ${second.taskseq}`,
    ])
    const updates = new TurnUpdates('t')
    for (const each of log.slice(0, 5)) updates.event(each)
    expect(updates.questions.map(({ toolCallId }) => toolCallId)).toEqual(['t/1', 't/2'])
  })

  it('gives an end to the calls that have none when the task ends, and no second end', () => {
    const result = happened('tool_result_recorded', { call_id: 'c1', success: false, content: '' }, 'root')
    const all = told(
      submitted,
      began,
      said(null, [
        ['c1', 'echo', {}],
        ['c2', 'echo', {}],
      ]),
      result,
      result,
      ended('task_cancelled'),
    )
    expect(words(all)).toEqual([
      'call t/1 echo',
      'call t/2 echo',
      't/1 failed',
      't/2 failed',
      'task_cancelled',
    ])
  })

  it('names the workers of a team, tells their calls and how far the plan is', () => {
    const node = (node_id: string): object => ({ kind: 'agent', node_id, instruction: `Be the\n${node_id}.` })
    const of = (node_id: string): object => ({ team_run_id: 'team', node_id })
    const all = told(
      submitted,
      happened('task_team_run_started', { team_run_id: 'team', graph: { nodes: [node('a'), node('b')] } }),
      happened('run_started', { run_id: 'r1', team_run_id: 'team', agent_name: 'reader' }),
      happened('node_started', of('a')),
      said('Not told.', [['c1', 'web_search', { query: 'two\nlines' }]], 'r1'),
      happened('node_failed', { ...of('a'), failure: { message: 'late' } }),
      happened('node_completed', of('nobody')),
    )
    expect(words(all)).toEqual([
      'plan a: Be the a. pending, b: Be the b. pending',
      'plan a: Be the a. in_progress, b: Be the b. pending',
      'call t/1 reader: web_search two lines',
      'plan [failed] a: Be the a. completed, b: Be the b. pending',
    ])
  })

  it('counts the nodes of a large team that the plan does not list', () => {
    const nodes = Array.from({ length: 512 }, (_, i) => ({
      kind: 'code',
      node_id: `n${i}`,
      operation: 'join',
    }))
    const [plan] = told(
      submitted,
      happened('task_team_run_started', { team_run_id: 'team', graph: { nodes } }),
    )
    const entries =
      plan !== undefined && 'update' in plan && plan.update.sessionUpdate === 'plan'
        ? plan.update.entries
        : []
    expect(entries).toHaveLength(101)
    expect(entries.at(-1)).toMatchObject({ content: '412 more, 0 of them ended', status: 'pending' })
  })

  it('leaves out what a retry copied, and knows the calls in it', () => {
    const copied = [began, said(null, [['c1', 'echo', {}]])]
    const log = [submitted, happened('task_log_copied', { events: copied.length }), ...copied].map(
      (event, i) => ({ ...event, taskseq: i + 1 }),
    )
    const rest = happened('tool_result_recorded', { call_id: 'c1', success: true, content: '' }, 'root')
    expect(words(told(...(log as RecordedEvent[]), { ...rest, taskseq: 5 } as RecordedEvent))).toEqual([
      't/1 completed',
    ])
  })

  it('has the texts that steered the task', () => {
    const steered = happened('user_message_added', { content: 'Faster.', steer_request_id: 'r1' }, 'root')
    expect(
      words(told(submitted, began, happened('user_message_added', { content: 'Do it.' }, 'root'), steered)),
    ).toEqual(['user t.r1: Faster.'])
  })

  it('has the final text of a task that has no root agent', () => {
    expect(words(told(submitted, ended('task_completed', 'A report.')))).toEqual([
      'agent t.0: A report.',
      'task_completed',
    ])
  })
})

describe('the progress of a call', () => {
  const progress = (call_id: string, done: number, message: string | null = null): LiveProgress => ({
    ...{ run_id: 'root', agent_name: 'root', node_id: null, call_id, tool_name: 'deploy' },
    ...{ progress: done, total: 4, message },
  })
  const called = said(null, [['c1', 'deploy', {}]])
  const started = happened('tool_call_started', { call_id: 'c1' }, 'root')
  const result = happened(
    'tool_result_recorded',
    { call_id: 'c1', success: true, content: 'deployed' },
    'root',
  )
  const texts = (all: readonly TurnChange[]): string[] =>
    all.flatMap((each) => {
      if (!('update' in each) || each.update.sessionUpdate !== 'tool_call_update') return []
      const [content] = each.update.content ?? []
      return content?.type === 'content' && content.content.type === 'text' ? [content.content.text] : []
    })

  it('is the content of the call until it has a result', () => {
    const all = told(
      submitted,
      began,
      called,
      started,
      progress('c1', 1, 'Builds.'),
      progress('c1', 2),
      result,
      progress('c1', 3),
    )
    expect(texts(all)).toEqual(['25% · Builds.', '50%', 'deployed'])
  })

  it('that comes before its call waits for it, and that of an unknown call is left out', () => {
    expect(
      texts(told(submitted, began, progress('c1', 1), progress('c9', 3), called, started, result)),
    ).toEqual(['25%', 'deployed'])
  })

  it('leaves a question of the call where it is', () => {
    const asked = happened(
      'question_asked',
      { call_id: 'c1', tool_name: 'deploy', question_index: 0, question: { message: 'Where to?' } },
      'root',
    )
    expect(texts(told(submitted, began, called, started, asked, progress('c1', 2))).join()).not.toContain(
      '50%',
    )
  })
})
