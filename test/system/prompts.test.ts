// What the read model says that a run sent, held against what a provider received: of a root with a history, of
// its team, and of each turn. And the run and the spans of the same task.
import type { QueryOutput } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { refuse, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptSystem } from '../support/kept-system.ts'
import { only, type TestSystem } from '../support/system.ts'

const task = 'prompts-of-a-team'
const session = 'session-of-prompts'
let system: TestSystem

type Prompt = QueryOutput<'prompt'>

/** All messages of a request, read in small pages. */
async function promptAt(run_id: string, taskseq: number): Promise<Prompt> {
  const page = (after: number): Promise<Prompt> =>
    system.client.query('prompt', { task_id: task, run_id, taskseq, after, limit: 2 })
  const first = await page(0)
  const messages = [...first.messages]
  for (let { next } = first; next !== null;) {
    const further = await page(next)
    messages.push(...further.messages)
    next = further.next
  }
  return { ...first, messages }
}

const shown = ({ messages, tools }: Prompt): unknown => ({
  messages: messages.map(({ role, content, content_chars, calls = [], call_id }) => {
    expect(content?.length ?? 0).toBe(content_chars)
    return [role, content, calls.map((call) => [call.call_id, call.tool, call.arguments]), call_id]
  }),
  tools: tools.toSorted(),
})

const received = ({ messages, tools }: SeenRequest): unknown => ({
  messages: messages.map(({ role, content, tool_calls = [], tool_call_id }) => [
    role,
    content,
    tool_calls.map((call) => [call.id, call.function.name, call.function.arguments]),
    tool_call_id,
  ]),
  tools: tools.toSorted(),
})

beforeAll(async () => {
  const kept = await keptSystem()
  system = kept.system
  await kept.projector()
  const agents = [
    { name: 'finder', instruction: 'Find it.' },
    { name: 'writer', instruction: 'Write it.' },
  ]
  let refused = 0
  system.provider.answerBy(({ text, results }) => {
    if (text === 'Before.') return say('That was before.')
    if (text.includes('Find it.'))
      return results.length === 0 ? use(['echo', { text: 'a' }], ['echo', { text: 'b' }]) : say('Found.')
    if (text.includes('Write it.')) return say('Written.')
    if (results.length === 0) return use(['SequentialWorkflow', { task: 'Report.', agents }])
    if (results.length === 1) return use(['echo', { text: '"quoted" 世界' }])
    refused++
    return refused === 1 ? refuse(503) : say('Done.')
  })
  await system.client.submit({ task: 'Before.', task_id: 'prompts-before', session_id: session })
  await system.ended('prompts-before')
  system.provider.forget()
  await system.client.submit({ task: 'Make a report.', task_id: task, session_id: session, skills: [] })
  await system.ended(task)
  await until('the read model has it', async () => {
    const { tasks } = await system.client.query('tasks', { session_id: session })
    return tasks.length === 2 && tasks.every(({ status }) => status === 'completed')
  })
})

it('what each answer and each failed try was given is what the provider received', async () => {
  const events = await system.events(task)
  const asked = events.filter(
    ({ type }) => type === 'assistant_message_added' || type === 'provider_call_failed',
  )
  const prompts = await Promise.all(asked.map(({ runId, taskseq }) => promptAt(runId ?? '', taskseq)))
  const requests = system.provider.requests.map(received)
  expect(requests).toHaveLength(7)
  const inOrder = (all: readonly unknown[]): string[] => all.map((each) => JSON.stringify(each)).toSorted()
  expect(inOrder(prompts.map(shown))).toEqual(inOrder(requests))
  expect(prompts.map(({ unreadable_events }) => unreadable_events)).toEqual(asked.map(() => 0))
  const root = prompts.filter(({ run_id }) => run_id === prompts[0]?.run_id)
  expect(root.map(({ same_until, message_count }) => [same_until, message_count])).toEqual([
    [null, 4],
    [4, 6],
    [6, 8],
    [6, 8],
  ])
  expect(root[0]?.messages.map(({ task_id }) => task_id)).toEqual([
    undefined,
    'prompts-before',
    'prompts-before',
    undefined,
  ])
  expect(root[0]?.context?.map(({ part }) => part)).toContain('history')
})

it('the run of the root and the spans of the task tell the same calls', async () => {
  const [root] = only(await system.events(task), 'run_started')
  const run_id = root?.data.run_id ?? ''
  const run = await system.client.query('run', { task_id: task, run_id })
  const { spans } = await system.client.query('spans', { task_id: task, run_ids: [run_id] })
  expect(run).toMatchObject({ input: 'Make a report.', output: 'Done.', run: { teams: [{ nodes: [] }] } })
  expect(run.calls.map((call) => [call.kind, call.taskseq])).toEqual(
    spans.filter(({ kind }) => kind !== 'wait').map(({ kind, taskseq }) => [kind, taskseq]),
  )
  expect(spans.map(({ kind, name, ok }) => [kind, kind === 'model' ? '' : name, ok])).toEqual([
    ['model', '', true],
    ['tool', 'SequentialWorkflow', true],
    ['model', '', true],
    ['tool', 'echo', true],
    ['model', '', false],
    ['wait', 'retry', null],
    ['model', '', true],
  ])
})
