// Tools of a user interface over AG-UI: the official client runs an agent that calls them, and brings the
// results in its next run, as CopilotKit does. And clients that bring something else.
import type { HttpAgent } from '@ag-ui/client'
import { type AGUIEvent, EventType, type Message, type Tool } from '@ag-ui/core'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  agUiAgent,
  contents,
  fresh,
  interruptsOf,
  lastOf,
  type Place,
  type Ran,
  ran,
  taskOf,
  textIn,
  types,
} from '../support/ag-ui-agent.ts'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, told } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => {
  // The client writes every failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  scene = await keptScene()
})
beforeEach(() => {
  scene.again()
  scene.system.provider.answerBy(answers)
})
const agentFor = (place: Place = {}): HttpAgent => agUiAgent(scene, place)

const tool = (name: string): Tool => ({
  name,
  description: `Reads a ${name}.`,
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
})
const tools = [tool('colour'), tool('size')]

/** What the model calls, by what the task is, and then it says what it has heard. */
function answers({ messages, results }: SeenRequest): FakeReply {
  const users = messages.flatMap(({ role, content }) => (role === 'user' ? [content ?? ''] : []))
  const steered = (text: string): string | undefined =>
    /<instruction[^>]*>\n(.*)\n<\/instruction/.exec(text)?.[1]
  const asked = users.findLast((each) => steered(each) === undefined) ?? ''
  const later = users.flatMap((each) => steered(each) ?? [])
  if (asked.startsWith('two') && results.length === 0)
    return use(['colour', { at: 'door' }], ['colour', { at: 'roof' }])
  if (asked.startsWith('one') && results.length === 0) return use(['colour', { at: 'door' }])
  if (asked.startsWith('twice') && results.length < 2)
    return use([results.length === 0 ? 'colour' : 'size', { at: 'door' }])
  if (asked.startsWith('mixed') && results.length === 0)
    return use(['colour', { at: 'door' }], ['echo', { text: 'hello' }])
  if (asked.startsWith('bad') && results.length === 0) return use(['colour', { at: 7 }])
  if (asked.startsWith('write') && results.length === 0)
    return use(['colour', { at: 'door' }], ['write_file', { path: `${fresh('agu')}.txt`, content: 'x' }])
  return say(
    [asked === 'hello' ? 'Hello.' : 'So:', ...results, ...later.map((each) => `(${each})`)].join(' '),
  )
}

const pendingIn = (run: Ran): readonly string[] => {
  const last = lastOf(run)
  return last.type === EventType.RUN_FINISHED && last.outcome?.type === 'success'
    ? (last.outcome.pendingToolCallIds ?? [])
    : []
}
const waitsIn = (run: Ran): unknown =>
  (lastOf(run).metadata?.['beaver'] as { waits_for_tool_call_ids?: unknown } | undefined)
    ?.waits_for_tool_call_ids
const result = (toolCallId: string, content: string, more: object = {}): Message =>
  ({ id: fresh('tool'), role: 'tool', toolCallId, content, ...more }) as Message
const startOf = (events: readonly AGUIEvent[]) =>
  events.flatMap((event) => (event.type === EventType.TOOL_CALL_START ? [event] : []))
/** The same thread, as another copy of the interface has it. */
const copyOf = (agent: HttpAgent, place: Place = {}): HttpAgent => {
  const copy = agentFor({ threadId: agent.threadId, ...place })
  copy.setMessages(structuredClone(agent.messages))
  return copy
}
const answeredIn = async (run: Ran) =>
  only(await scene.system.events(taskOf(run.events)), 'client_call_answered').map(({ data }) => data)

describe('an interface that brings tools', () => {
  it('is told the calls, makes them, and its next run tells the rest', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'two', { tools })
    const [door = '', roof = ''] = pendingIn(first)
    expect(types(first.events)).toEqual([
      'RUN_STARTED',
      ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'],
      ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'],
      'RUN_FINISHED',
    ])
    expect(startOf(first.events).map(({ toolCallId }) => toolCallId)).toEqual([door, roof])
    // One message of the agent has both calls.
    expect(agent.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        toolCalls: [
          { id: door, function: { name: 'colour', arguments: '{"at":"door"}' } },
          { id: roof, function: { name: 'colour', arguments: '{"at":"roof"}' } },
        ],
      },
    ])
    agent.addMessages([result(door, 'blue'), result(roof, 'nothing', { error: 'no ladder' })])
    const second = await ran(agent, null, { tools })
    expect(textIn(second.events)).toMatch(/^So: blue .*no ladder/)
    expect(types(second.events)).not.toContain('TOOL_CALL_RESULT')
    expect(lastOf(second)).toMatchObject({ outcome: { type: 'success' } })
    expect(pendingIn(second)).toEqual([])
    expect(taskOf(second.events)).toBe(taskOf(first.events))
    expect(await answeredIn(first)).toMatchObject([
      { content: 'blue', user_id: 'ann' },
      { content: 'nothing', error: 'no ladder' },
    ])
    // The thread goes on with a new task, which knows what was said.
    expect(textIn((await ran(agent, 'hello', { tools })).events)).toBe('Hello.')
    expect(scene.system.provider.requests.at(-1)?.body).toContain('no ladder')
  })

  it('calls one tool after the other, each in a run', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'twice', { tools })
    agent.addMessage(result(pendingIn(first)[0] ?? '', 'red'))
    const second = await ran(agent, null, { tools })
    expect(startOf(second.events).map(({ toolCallName }) => toolCallName)).toEqual(['size'])
    agent.addMessage(result(pendingIn(second)[0] ?? '', 'XL'))
    const third = await ran(agent, null, { tools })
    expect(textIn(third.events)).toBe('So: red XL')
    expect(agent.messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'],
    ])
  })

  it('brings results one by one, and each again, and gets nothing twice', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'two', { tools })
    const [door = '', roof = ''] = pendingIn(first)
    agent.addMessage(result(door, 'blue'))
    for (const copy of [copyOf(agent), copyOf(agent)]) {
      const part = await ran(copy, null, { tools })
      expect([types(part.events), waitsIn(part)]).toEqual([['RUN_STARTED', 'RUN_FINISHED'], [roof]])
    }
    agent.addMessage(result(roof, 'red'))
    const runId = fresh('run')
    const again = copyOf(agent)
    const whole = await ran(agent, null, { tools, runId })
    expect(textIn(whole.events)).toBe('So: blue red')
    expect(types((await ran(again, null, { tools, runId })).events)).toEqual(types(whole.events))
    expect(await answeredIn(first)).toHaveLength(2)
    const other = copyOf(agent)
    other.setMessages([...again.messages.slice(0, 2), result(door, 'green')])
    await expect(ran(other, null, { tools })).rejects.toThrow(
      /HTTP 409: .*already answered by .*To go on, send a new message of the user/,
    )
  })

  it('has the results of the tools of the system in the run, beside its own', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'mixed', { tools })
    const [colour] = startOf(first.events).filter(({ toolCallName }) => toolCallName === 'colour')
    expect(pendingIn(first)).toEqual([colour?.toolCallId])
    expect(types(first.events).filter((type) => type === 'TOOL_CALL_RESULT')).toHaveLength(1)
    expect(agent.messages.filter(({ role }) => role === 'assistant')).toHaveLength(1)
    agent.addMessage(result(colour?.toolCallId ?? '', 'blue'))
    const second = await ran(agent, null, { tools })
    expect(types(second.events)).not.toContain('TOOL_CALL_RESULT')
    expect(textIn(second.events)).toMatch(/^So: blue .*hello/)
  })

  it('is not asked for a call whose arguments do not fit', async () => {
    const agent = agentFor()
    const run = await ran(agent, 'bad', { tools })
    expect(pendingIn(run)).toEqual([])
    expect(types(run.events)).toContain('TOOL_CALL_RESULT')
    expect(textIn(run.events)).toContain('do not fit')
  })

  it('answers an interrupt and brings a result in one run', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'write', { tools })
    const [interrupt] = interruptsOf(lastOf(first))
    const [colour] = startOf(first.events).filter(({ toolCallName }) => toolCallName === 'colour')
    agent.addMessage(result(colour?.toolCallId ?? '', 'blue'))
    const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: true }]
    const second = await ran(agent, null, { tools, resume })
    expect(textIn(second.events)).toMatch(/^So: blue /)
    expect(types(second.events).filter((type) => type === 'TOOL_CALL_RESULT')).toHaveLength(1)
  })

  it('answers a question of a person when the person does, by a tool that waits for it', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'one', { tools })
    // The task waits for nobody in the inbox, and costs nothing.
    await scene.system.reached(taskOf(first.events), 'it is suspended', (all) =>
      told(all).includes('task_suspended'),
    )
    const reader = await fetch(`${scene.gateway.info.url}/api/v1/tasks/${taskOf(first.events)}/ag-ui`, {
      headers: { authorization: `Bearer ${scene.tokens.ann}` },
    })
    expect(await reader.text()).toContain('"pendingToolCallIds"')
    agent.addMessage(result(pendingIn(first)[0] ?? '', JSON.stringify({ approved: true })))
    expect(textIn((await ran(agent, null, { tools })).events)).toBe('So: {"approved":true}')
  })

  it('writes a text behind the results, and the agent reads both', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'one', { tools })
    agent.addMessage(result(pendingIn(first)[0] ?? '', 'blue'))
    const runId = fresh('run')
    const copy = copyOf(agent)
    const second = await ran(agent, 'and quickly', { tools, runId })
    expect(textIn(second.events)).toBe('So: blue (and quickly)')
    copy.setMessages(agent.messages.slice(0, 4))
    expect(textIn((await ran(copy, null, { tools, runId })).events)).toBe('So: blue (and quickly)')
    expect(taskOf(second.events)).toBe(taskOf(first.events))
  })

  it.each([
    ['with the calls', (messages: readonly Message[]) => messages],
    ['after it lost its messages', () => []],
  ])('writes a text instead of a result %s, and the agent goes on', async (_, kept) => {
    const agent = agentFor()
    const first = await ran(agent, 'two', { tools })
    await scene.system.reached(taskOf(first.events), 'it is suspended', (all) =>
      told(all).includes('task_suspended'),
    )
    await vi.waitFor(async () => {
      const filter = { session_id: agent.threadId, status: 'waiting_for_client' } as const
      expect((await scene.system.client.query('tasks', filter)).tasks).toHaveLength(1)
    })
    const next = copyOf(agent)
    next.setMessages([...kept(agent.messages)])
    const second = await ran(next, 'never mind', { tools })
    expect(textIn(second.events)).toMatch(/^So: .*wrote a new message.*\(never mind\)$/)
    expect(taskOf(second.events)).toBe(taskOf(first.events))
    agent.addMessages(pendingIn(first).map((id) => result(id, 'late')))
    await expect(ran(agent, null, { tools })).rejects.toThrow(/HTTP 409/)
  })

  it('sends its first run again, which tells the same and answers nothing', async () => {
    const agent = agentFor()
    agent.addMessage({ id: fresh('user'), role: 'user', content: 'one' })
    const copy = copyOf(agent)
    const runId = fresh('run')
    const first = await ran(agent, null, { tools, runId })
    const again = await ran(copy, null, { tools, runId })
    expect(again.events).toEqual(first.events)
    expect(await answeredIn(first)).toEqual([])
  })
})

describe('what is refused', () => {
  it.each([
    [
      'a name of a tool of the system',
      [tool('read_file')],
      /body\.tools\.0\.name|Give your tool another name/,
    ],
    ['a name that no model can call', [tool('a b')], /body\.tools\.0\.name/],
    ['two tools of one name', [tool('a'), tool('a')], /body\.tools/],
  ])('%s', async (_, given, words) => {
    await expect(ran(agentFor(), 'one', { tools: given })).rejects.toThrow(words)
  })

  it('a result of another user, of another thread or agent, of no call, or with an image', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'one', { tools })
    const [id = ''] = pendingIn(first)
    const bring = async (place: Place, message: Message): Promise<unknown> => {
      const other = copyOf(agent, place)
      other.addMessage(message)
      return ran(other, null, { tools }).catch((error: unknown) => (error as Error).message)
    }
    const unknown = /HTTP 400: .*messages\.2\.toolCallId/
    expect(await bring({ who: 'bob' }, result(id, 'bob'))).toMatch(unknown)
    expect(await bring({ threadId: fresh('thread') }, result(id, 'x'))).toMatch(unknown)
    expect(await bring({ agent: 'clerk' }, result(id, 'x'))).toMatch(unknown)
    expect(await bring({}, result(id.replace('call_', 'call_9'), 'x'))).toMatch(unknown)
    expect(await bring({}, result('call_1_nothing', 'x'))).toMatch(unknown)
    expect(await bring({}, result('their own', 'x'))).toMatch(/HTTP 400: .*results of calls/)
    expect(await bring({ who: 'reader' }, result(id, 'x'))).toMatch(/HTTP 403/)
    expect(await bring({}, result(id, 'x'.repeat(500_001)))).toMatch(/HTTP 400: .*messages\.2\.content/)
    const image = [{ type: 'image', source: { type: 'data', value: 'aGVsbG8=', mimeType: 'image/png' } }]
    expect(await bring({}, { ...result(id, ''), content: image } as Message)).toMatch(
      /HTTP 400: .*messages\.2\.content has a part of type \\?"image/,
    )
    expect(await answeredIn(first)).toEqual([])
    agent.addMessage(result(id, 'blue'))
    expect(textIn((await ran(agent, null, { tools })).events)).toBe('So: blue')
  })

  it('a result for a task that was cancelled, and a text goes on', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'one', { tools })
    await scene.system.client.cancel(taskOf(first.events), 'enough', { userId: 'ann' })
    await scene.system.ended(taskOf(first.events))
    const late = copyOf(agent)
    late.addMessage(result(pendingIn(first)[0] ?? '', 'blue'))
    await expect(ran(copyOf(late), null, { tools })).rejects.toThrow(
      /HTTP 409: .*has ended already: cancelled.*send a new message of the user/,
    )
    const next = await ran(late, 'hello', { tools })
    expect(taskOf(next.events)).not.toBe(taskOf(first.events))
    expect(contents(late.messages).at(-1)).toBe('assistant: Hello.')
  })
})
