import type { RecordedEvent } from '@beaver/core/journal'
import { expect, it } from 'vitest'
import { taskIn } from './mcp.ts'

const command = (words: string): string => `beaver ${words} --home /h`
let at = 0
const happened = (type: string, data: object): RecordedEvent =>
  ({ type, data, runId: 'r', time: `2026-01-01T00:00:0${at++}Z` }) as unknown as RecordedEvent
const submitted = (source = 'mcp'): RecordedEvent =>
  happened('task_submitted', { session_id: 's', request: { source } })
const asked = happened('approval_requested', { call_id: 'c', tool_name: 'write_file', subject: 'a.md' })
const asks = (tool_name: string): RecordedEvent => ({
  ...happened('question_asked', {
    call_id: 'c',
    tool_name,
    question_index: 0,
    question: { message: 'Why?' },
  }),
  taskseq: 7,
})
const answered = happened('question_answered', { call_id: 'c', answer: { action: 'decline' } })
const granted = happened('approval_granted', { call_id: 'c' })
const ended = happened('task_failed', {
  final_output: '',
  outputs: [],
  failure: { class: 'internal', message: 'It broke.' },
})

async function* log(...events: readonly RecordedEvent[]): AsyncGenerator<RecordedEvent> {
  yield* events
}

it('says which call waits for a person and where the person decides, while it waits', async () => {
  const where = 'A person decides with: beaver approve t --home /h, or: beaver deny t --home /h'
  const message = `An agent asks to call write_file: a.md. This call waits for an approval. ${where}`
  expect(await taskIn('t', log(submitted(), asked), command)).toMatchObject({ outcome: null, message })
  const two = { ...asked, data: { ...asked.data, call_id: 'd' } } as RecordedEvent
  expect((await taskIn('t', log(submitted(), asked, two), command)).message).toContain(
    'This call waits for an approval, and 1 more call waits.',
  )
  for (const settled of [granted, happened('run_cancelled', {})])
    expect((await taskIn('t', log(submitted(), asked, settled), command)).message).toBe(
      'The task was accepted.',
    )
})

it('says for which budget it waits and how a person gives more, until somebody gave it', async () => {
  const budget = { of: 'node', name: 'my node', per: 'run' }
  const exceeded = happened('budget_exceeded', {
    ...{ budget, measure: 'tokens', limit: 9, used: 8, needed: 2, spent_by: [], wait_ms: 60_000 },
  })
  expect((await taskIn('t', log(submitted(), exceeded), command)).message).toBe(
    "The task waits: the budget of the node my node has no place for the next call (used 8 of 9 tokens, needed up to 2 tokens). A person gives more with: beaver budget raise t --node 'my node' --tokens 2 --home /h, or stops the task with: beaver cancel t --home /h",
  )
  const raised = happened('budget_raised', { budget, more: { tokens: 5 } })
  expect((await taskIn('t', log(submitted(), exceeded, raised), command)).message).toBe(
    'The task was accepted.',
  )
})

it('says what is asked, while it waits, and gives its client what an agent asks', async () => {
  const message = 'An agent asks: Why? Answer with a text. Answer it with: beaver answer t --home /h'
  expect(await taskIn('t', log(submitted(), asks('ask_user')), command)).toMatchObject({
    message,
    questions: [{ id: '7', question: { message: 'Why?' } }],
  })
  expect(await taskIn('t', log(submitted(), asks('deploy')), command)).toMatchObject({
    message,
    questions: [],
  })
  expect(await taskIn('t', log(submitted(), asks('ask_user'), answered), command)).toMatchObject({
    message: 'The task was accepted.',
    questions: [],
  })
})

it('has the outcome of an ended task, and its times', async () => {
  const first = submitted()
  expect(await taskIn('t', log(first, ended), command)).toEqual({
    taskId: 't',
    createdAt: first.time,
    updatedAt: ended.time,
    message: 'The task has failed.',
    questions: [],
    outcome: {
      taskId: 't',
      sessionId: 's',
      status: 'failed',
      finalOutput: '',
      outputs: [],
      failure: 'It broke.',
    },
  })
})

it.each([
  ['no events', log()],
  ['a task of somebody else', log(submitted('cli'), ended)],
])('finds no task in %s', (_, events) =>
  expect(taskIn('t', events, command)).rejects.toMatchObject({ code: 'not_found' }),
)
