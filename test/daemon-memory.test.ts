// Memory and session search as the agents of a daemon have them: kept over runs, sessions and daemons.
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, type SeenRequest, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { only, testSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const promptOf = (request: SeenRequest | undefined): string => request?.messages.find(({ role }) => role === 'system')?.content ?? ''
/** Calls the tool once, then answers. */
const once =
  (tool: string, args: object) =>
  (request: SeenRequest): FakeReply =>
    request.messages.at(-1)?.role === 'tool' ? say('done') : use([tool, args])

describe('memory', () => {
  it('is kept for later runs of any session on any daemon, and leaves the prompt of the run that changes it as it was', async () => {
    await using system = await testSystem(server)
    const first = await system.daemon()
    const remember = once('memory', { action: 'add', target: 'user', content: 'prefers tables, 中文也行' })
    system.provider.answerBy((request) => (request.text === 'remember this' ? remember(request) : say('ok')))
    const { task_id } = await system.client.submit({ task: 'remember this', session_id: 'one' })
    const events = await system.ended(task_id)
    expect(JSON.parse(only(events, 'tool_result_recorded')[0]?.data.content ?? '')).toEqual({
      target: 'user',
      changed: true,
      entries: ['prefers tables, 中文也行'],
      chars_used: 20,
      chars_max: 2_000,
    })
    const prompts = system.provider.about('remember this').map(promptOf)
    expect(prompts).toHaveLength(2)
    expect(prompts[1]).toBe(prompts[0])
    expect(prompts[0]).not.toContain('prefers tables')

    await system.kill(first)
    await system.daemon()
    await system.ended((await system.client.submit({ task: 'another day', session_id: 'two' })).task_id)
    expect(promptOf(system.provider.about('another day')[0])).toContain('prefers tables, 中文也行')
  })

  it('about a user is told to this user alone, and what is of the work to all (D-67)', async () => {
    await using system = await testSystem(server)
    await system.daemon()
    const remember = once('memory', { action: 'add', target: 'user', content: 'Ada is deaf' })
    const note = once('memory', { action: 'add', target: 'memory', content: 'due in May' })
    system.provider.answerBy((request) => (request.text === 'remember me' ? remember(request) : request.text === 'note it' ? note(request) : say('ok')))
    const asked = async (task: string, user_id?: string): Promise<void> => {
      const { status } = await system.client.run({ task, ...(user_id === undefined ? {} : { user_id }) })
      expect(status).toBe('completed')
    }
    await asked('remember me', 'Ada')
    await asked('note it', 'Bob')
    await asked('I am Ada', 'Ada')
    await asked('I am Bob', 'Bob')
    await asked('I am nobody')
    const prompts = ['I am Ada', 'I am Bob', 'I am nobody'].map((text) => promptOf(system.provider.about(text)[0]))
    expect(prompts.map((prompt) => prompt.includes('Ada is deaf'))).toEqual([true, false, false])
    expect(prompts.map((prompt) => prompt.includes('due in May'))).toEqual([true, true, true])
  })

  it('is changed by workers too: the next worker sees it, the one that changed it sees what it began with', async () => {
    await using system = await testSystem(server)
    await system.daemon()
    const remember = once('memory', { action: 'add', target: 'memory', content: 'the report is due in May' })
    system.provider.answerBy((request) => (request.messages.some(({ content }) => content?.includes('keep the date')) ? remember(request) : say('ok')))
    const agents = [
      { name: 'first', instruction: 'keep the date' },
      { name: 'second', instruction: 'write the report' },
    ]
    const { status } = await system.client.run({ workflow: { name: 'SequentialWorkflow', arguments: { task: 'report', agents } } })
    expect(status).toBe('completed')
    const first = system.provider.about('keep the date').map(promptOf)
    expect([first.length, first.some((prompt) => prompt.includes('due in May'))]).toEqual([2, false])
    expect(promptOf(system.provider.about('write the report')[0])).toContain('the report is due in May')
  })
})

describe('session_search', () => {
  it('finds what another session said, and not its own', async () => {
    await using system = await testSystem(server)
    await using _ = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
    await system.daemon()
    const search = once('session_search', { query: '销售额' })
    system.provider.answerBy((request) => (request.text.startsWith('find') ? search(request) : say('季度销售额共计四十二万元。')))
    await system.ended((await system.client.submit({ task: '请统计季度销售额', session_id: '会话' })).task_id)
    await until('it is projected', async () => (await system.client.sessions.search('四十二')).length > 0, { everyMs: 10 })
    const found = async (session: string, user_id?: string): Promise<{ role: string }[]> => {
      const { task_id } = await system.client.submit({ task: `find for ${session}`, session_id: session, user_id })
      const result = only(await system.ended(task_id), 'tool_result_recorded')[0]?.data.content ?? ''
      return (JSON.parse(result) as { matches: { role: string }[] }).matches
    }
    expect((await found('other')).map(({ role }) => role).toSorted()).toEqual(['assistant', 'user'])
    expect(await found('会话')).toEqual([])
    expect(await found('of Ada', 'Ada'), 'a session of nobody in particular').toEqual([])
  })
})
