// What a model is told beside its task: the earlier tasks of the session, what was remembered, what other
// sessions said, and its tools. A memory that outlives its daemon is in daemon-crash.test.ts, and the order
// of the tasks of a session in two-daemons.test.ts.
import { estimateTokens } from '@beaver/core'
import { until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptSystem, type KeptSystem } from '../support/kept-system.ts'
import { only, type TestSystem } from '../support/system.ts'

let kept: KeptSystem
let system: TestSystem
beforeAll(async () => {
  kept = await keptSystem()
  system = kept.system
})
beforeEach(() => system.provider.forget())

const promptOf = (request: SeenRequest | undefined): string =>
  request?.messages.find(({ role }) => role === 'system')?.content ?? ''
/** Calls the tool once, then answers. */
const once =
  (tool: string, args: object) =>
  (request: SeenRequest): FakeReply =>
    request.messages.at(-1)?.role === 'tool' ? say('done') : use([tool, args])

it('a session whose first task fails goes on with the next, which is told', async () => {
  system.provider.answerBy(({ text }) => (text === 'first' ? { status: 401, body: '{}' } : say('ok')))
  const [first, second] = [
    await system.client.submit({ task: 'first', session_id: 'fails' }),
    await system.client.submit({ task: 'second', session_id: 'fails' }),
  ]
  expect((await system.ended(first.task_id)).at(-1)?.type).toBe('task_failed')
  expect((await system.ended(second.task_id)).at(-1)?.type).toBe('task_completed')
  const messages = system.provider
    .about('second')[0]
    ?.messages.slice(1)
    .map(({ content }) => content)
  expect(messages).toEqual(['first', expect.stringMatching(/^\[No answer: .*401/), 'second'])
})

it('the next task of a session is told what getVisibleHistory gives, also where that is bounded', async () => {
  system.provider.answerBy(({ text }) =>
    say(text === 'long' ? '好'.repeat(120_000) : `answer to ${text.slice(0, 20)}`),
  )
  const { client } = system
  const ask = (task: string) => client.run({ task, session_id: 'long' })
  for (const task of ['first', 'y'.repeat(60_000), 'second', 'long', 'third'])
    expect((await ask(task)).status).toBe('completed')
  const given = (await client.sessions.getVisibleHistory('long')).map(({ role, content }) => ({
    role,
    content,
  }))
  await ask('what was said?')
  const told = system.provider.about('what was said?')[0]?.messages.slice(1, -1)
  expect(told?.map(({ role, content }) => ({ role, content }))).toEqual(given)
  expect(given.map(({ content }) => content.length)).toEqual([6, 16, 4, 49_996, 5, 15])
})

describe('memory', () => {
  it('about a user is told to this user alone, and what is of the work to all (D-67)', async () => {
    const remember = once('memory', { action: 'add', target: 'user', content: 'Ada is deaf' })
    const note = once('memory', { action: 'add', target: 'memory', content: 'due in May' })
    system.provider.answerBy((request) =>
      request.text === 'remember me'
        ? remember(request)
        : request.text === 'note it'
          ? note(request)
          : say('ok'),
    )
    const asked = async (task: string, user_id?: string): Promise<void> => {
      const { status } = await system.client.run({ task, ...(user_id === undefined ? {} : { user_id }) })
      expect(status).toBe('completed')
    }
    await asked('remember me', 'Ada')
    await asked('note it', 'Bob')
    await asked('I am Ada', 'Ada')
    await asked('I am Bob', 'Bob')
    await asked('I am nobody')
    const prompts = ['I am Ada', 'I am Bob', 'I am nobody'].map((text) =>
      promptOf(system.provider.about(text)[0]),
    )
    expect(prompts.map((prompt) => prompt.includes('Ada is deaf'))).toEqual([true, false, false])
    expect(prompts.map((prompt) => prompt.includes('due in May'))).toEqual([true, true, true])
  })

  it('is changed by workers too: the next worker sees it, the one that changed it sees what it began with', async () => {
    const remember = once('memory', { action: 'add', target: 'memory', content: 'the report has nine pages' })
    system.provider.answerBy((request) =>
      request.messages.some(({ content }) => content?.includes('keep the date'))
        ? remember(request)
        : say('ok'),
    )
    const agents = [
      { name: 'first', instruction: 'keep the date' },
      { name: 'second', instruction: 'write the report' },
    ]
    const { status } = await system.client.run({
      workflow: { name: 'SequentialWorkflow', arguments: { task: 'report', agents } },
    })
    expect(status).toBe('completed')
    const first = system.provider.about('keep the date').map(promptOf)
    expect([first.length, first.some((prompt) => prompt.includes('nine pages'))]).toEqual([2, false])
    expect(promptOf(system.provider.about('write the report')[0])).toContain('the report has nine pages')
  })
})

describe('session_search', () => {
  it('finds what another session said, and not its own', async () => {
    await kept.projector()
    const search = once('session_search', { query: '销售额' })
    system.provider.answerBy((request) =>
      request.text.startsWith('find') ? search(request) : say('季度销售额共计四十二万元。'),
    )
    await system.ended((await system.client.submit({ task: '请统计季度销售额', session_id: '会话' })).task_id)
    await until('it is projected', async () => (await system.client.sessions.search('四十二')).length > 0, {
      everyMs: 10,
    })
    const found = async (session: string, user_id?: string): Promise<{ role: string }[]> => {
      const { task_id } = await system.client.submit({
        task: `find for ${session}`,
        session_id: session,
        user_id,
      })
      const result = only(await system.ended(task_id), 'tool_result_recorded')[0]?.data.content ?? ''
      return (JSON.parse(result) as { matches: { role: string }[] }).matches
    }
    expect((await found('elsewhere')).map(({ role }) => role).toSorted()).toEqual(['assistant', 'user'])
    expect(await found('会话')).toEqual([])
    expect(await found('of Ada', 'Ada'), 'a session of nobody in particular').toEqual([])
  })
})

it('the tools of a default root take at most 1,620 tokens, and they come before the messages', async () => {
  system.provider.answerBy(() => say('done'))
  await system.client.run({ task: 'Do it.', task_id: 'default-root' })
  const [request] = system.provider.requests
  const body = JSON.parse(request?.body ?? '{}') as { tools: { function: { name: string } }[] }
  const tools = body.tools.map((tool) => tool.function)
  expect(tools.map(({ name }) => name)).toContain('GraphWorkflow')
  expect(tools.length).toBeGreaterThan(12)
  expect(estimateTokens(JSON.stringify(tools))).toBeLessThanOrEqual(1_620)
  expect(Object.keys(body).at(-1)).toBe('messages')
})
