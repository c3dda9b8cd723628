// The official client of AG-UI against the gateway on a real port, in front of a real daemon. The client
// checks each event and the order of all.
import type { HttpAgent } from '@ag-ui/client'
import { type AGUIEvent, EventType, type Interrupt, type ResumeEntry } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import {
  agUiAgent,
  contents,
  fresh,
  interruptsOf,
  lastOf,
  type Place,
  ran,
  taskOf,
  textIn,
  types,
  type Who,
} from '../support/ag-ui-agent.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => {
  // The client writes every failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  scene = await keptScene()
})
const agentFor = (place: Place = {}): HttpAgent => agUiAgent(scene, place)

describe('a run', () => {
  it('tells its start, the text and its end', async () => {
    const agent = agentFor({ threadId: 'thread of ann' })
    const run = await ran(agent, 'pieces', { runId: 'run one' })
    expect(run.events[0]).toMatchObject({
      type: 'RUN_STARTED',
      threadId: 'thread of ann',
      runId: 'run one',
      protocolVersion: '1.0',
    })
    expect(lastOf(run)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'success' },
      result: 'Word by word.',
      usage: [{ totalTokens: expect.any(Number) as number }],
    })
    expect(textIn(run.events)).toBe('Word by word.')
    expect(contents(agent.messages)).toEqual(['user: pieces', 'assistant: Word by word.'])
    const [submitted] = only(await scene.system.events(taskOf(run.events)), 'task_submitted')
    expect(submitted?.data).toMatchObject({
      session_id: 'thread of ann',
      request: { text: 'pieces', user_id: 'ann', source: 'ag-ui:ann' },
    })
  })

  it('tells calls of tools with their results, as messages that belong together', async () => {
    const agent = agentFor()
    const run = await ran(agent, 'say and look')
    expect(types(run.events).filter((type) => !type.startsWith('TEXT'))).toEqual([
      'RUN_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'RUN_FINISHED',
    ])
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(agent.messages[1]).toMatchObject({
      content: 'I look.',
      toolCalls: [{ function: { name: 'list_files', arguments: '{"path":"."}' } }],
    })
    expect(agent.messages[2]?.content).toContain('clerk.json')
  })

  it('shows results of tools to those who may read, and to nobody a call without a result', async () => {
    const agent = agentFor({ who: 'writer' })
    await ran(agent, 'look')
    expect(contents(agent.messages)).toContainEqual(
      'tool: The call succeeded. The token does not have the role read, so the result is not shown.',
    )
  })

  it('goes on with the thread, and gives the agent only what it does not know yet', async () => {
    const agent = agentFor()
    await ran(agent, 'My name is Ann.')
    agent.addMessage({ id: fresh('user'), role: 'user', content: 'Forget that.' })
    agent.addMessage({ id: fresh('other'), role: 'assistant', content: 'I will.' })
    expect(textIn((await ran(agent, 'all')).events)).toBe(
      'user: My name is Ann. | assistant: You said: My name is Ann. | user: Forget that. | assistant: I will. | user: all',
    )
  })

  it('goes on from where the interface went back to', async () => {
    const agent = agentFor()
    await ran(agent, 'one')
    const back = structuredClone(agent.messages)
    await ran(agent, 'two')
    agent.setMessages(back)
    expect(textIn((await ran(agent, 'all')).events)).toBe('user: one | assistant: You said: one | user: all')
  })

  it('gives the agent the context and the messages of the system as instructions', async () => {
    const agent = agentFor({ agent: 'clerk' })
    agent.addMessage({ id: fresh('system'), role: 'system', content: 'Speak like a pirate.' })
    const said = textIn(
      (await ran(agent, 'system', { context: [{ description: 'The page', value: 'Invoices' }] })).events,
    )
    expect(said).toContain('You are the clerk.')
    expect(said).toMatch(/Speak like a pirate\.\n\nThe page: Invoices/)
  })

  it('leaves out what is no text, and is refused if nothing is left', async () => {
    const agent = agentFor()
    const image = {
      type: 'image',
      source: { type: 'data', value: 'aGVsbG8=', mimeType: 'image/png' },
    } as const
    agent.addMessage({
      id: fresh('user'),
      role: 'user',
      content: [{ type: 'text', text: 'look at this' }, image],
    })
    expect(textIn((await ran(agent, null)).events)).toBe('You said: look at this')
    const silent = agentFor()
    silent.addMessage({ id: fresh('user'), role: 'user', content: [image] })
    await expect(ran(silent, null)).rejects.toThrow(/HTTP 400: .*must end with a message of the user/)
  })

  it('asks a workflow by its text', async () => {
    const run = await ran(agentFor({ agent: 'workflow:sum_up' }), 'a long text')
    expect([lastOf(run).type, textIn(run.events)]).toEqual([
      'RUN_FINISHED',
      expect.stringContaining('a long text'),
    ])
    await expect(ran(agentFor({ agent: 'workflow:two' }), 'one')).rejects.toThrow(/needs more than one text/)
    await expect(ran(agentFor({ agent: 'nobody' }), 'one')).rejects.toThrow(/HTTP 422: .*unknown_profile/)
  })

  it('that fails says why', async () => {
    const events: AGUIEvent[] = []
    const agent = agentFor()
    agent.addMessage({ id: fresh('user'), role: 'user', content: 'fail' })
    await agent
      .runAgent({}, { onEvent: ({ event }) => void events.push(EventSchemas.parse(event) as AGUIEvent) })
      .catch(() => {})
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      message: expect.stringContaining('no such model') as string,
      code: 'provider_refused',
    })
  })
})

describe('a call that waits for a person', () => {
  const answer = (interrupt: Interrupt | undefined, payload: unknown): ResumeEntry => ({
    interruptId: interrupt?.id ?? '',
    status: 'resolved',
    payload,
  })

  it('interrupts the run, and the next run answers it and tells the rest', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'write seven')
    const [interrupt] = interruptsOf(lastOf(first))
    const start = first.events.find((event) => event.type === EventType.TOOL_CALL_START)
    expect(interrupt).toMatchObject({
      reason: 'tool_call',
      toolCallId: start?.toolCallId,
      message: 'An agent asks to call write_file: seven.txt',
    })
    await expect(agent.runAgent({})).rejects.toThrow(/pending interrupt/)
    const resume = [answer(interrupt, { approved: true })]
    const second = await ran(agent, null, { resume })
    expect(types(second.events).slice(0, 2)).toEqual(['RUN_STARTED', 'TOOL_CALL_RESULT'])
    expect([lastOf(second), textIn(second.events)]).toEqual([
      expect.objectContaining({ outcome: { type: 'success' } }),
      expect.stringContaining('So: '),
    ])
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(taskOf(second.events)).toBe(taskOf(first.events))
    // The same answers once more change nothing, and tell the same.
    const again = agentFor({ threadId: agent.threadId })
    again.setMessages(agent.messages)
    expect(types((await ran(again, null, { resume })).events)).toEqual(types(second.events))
    expect(only(await scene.system.events(taskOf(first.events)), 'approval_granted')).toHaveLength(1)
  })

  it('is denied with a reason, and by an interface that gave up', async () => {
    for (const entry of [
      { status: 'resolved', payload: { approved: false, reason: 'not today' } },
      { status: 'cancelled' },
    ] as const) {
      const agent = agentFor()
      const [interrupt] = interruptsOf(lastOf(await ran(agent, `write ${fresh('no')}`)))
      const run = await ran(agent, null, { resume: [{ interruptId: interrupt?.id ?? '', ...entry }] })
      expect(textIn(run.events)).toContain(entry.status === 'cancelled' ? 'did not answer' : 'not today')
    }
  })

  it('is made with the arguments of the person, and is not approved by an answer with a member that nobody knows', async () => {
    const agent = agentFor()
    const [path, other] = [fresh('theirs'), fresh('mine')]
    const [interrupt] = interruptsOf(lastOf(await ran(agent, `write ${path}`)))
    const again = (): HttpAgent => agentFor({ threadId: agent.threadId })
    for (const payload of [
      { approved: true, edited_args: {} },
      { approved: false, editedArgs: {} },
      { approved: true, editedArgs: 'a' },
    ])
      await expect(ran(again(), null, { resume: [answer(interrupt, payload)] })).rejects.toThrow(
        /HTTP 400: .*resume.0.payload/,
      )
    await expect(
      ran(again(), null, { resume: [answer(interrupt, { approved: true, editedArgs: { path: 7 } })] }),
    ).rejects.toThrow(/HTTP 400/)
    const second = await ran(agent, null, {
      resume: [
        answer(interrupt, { approved: true, editedArgs: { path: `${other}.txt`, content: 'changed' } }),
      ],
    })
    expect(lastOf(second)).toMatchObject({ outcome: { type: 'success' } })
    const [granted] = only(await scene.system.events(taskOf(second.events)), 'approval_granted')
    expect(JSON.parse(granted?.data.arguments ?? '')).toEqual({ path: `${other}.txt`, content: 'changed' })
  })

  it('is not decided by somebody who may not, by another user, in another thread or by an answer that is none', async () => {
    const agent = agentFor({ who: 'writer' })
    const [interrupt] = interruptsOf(lastOf(await ran(agent, 'write eight')))
    await expect(ran(agent, null, { resume: [answer(interrupt, { approved: true })] })).rejects.toThrow(
      /HTTP 403: .*role approve/,
    )
    const unclear = ran(agentFor({ who: 'admin', threadId: agent.threadId }), null, {
      resume: [answer(interrupt, 'yes')],
    })
    await expect(unclear).rejects.toThrow(/HTTP 400: .*resume.0.payload/)
    for (const other of [agentFor({ who: 'bob', threadId: agent.threadId }), agentFor({ who: 'admin' })]) {
      const resume = [answer(interrupt, { approved: true })]
      await expect(ran(other, null, { resume })).rejects.toThrow(
        /HTTP 400: .*must end with a message of the user/,
      )
    }
    const taskId = interrupt?.id.split('.').slice(2).join('.') ?? ''
    expect(only(await scene.system.events(taskId), 'approval_granted')).toEqual([])
    // An answer about another call of the task decides nothing, and the call is asked about again.
    const other = {
      interruptId: interrupt?.id.replace(/\.[0-9a-f]{32}\./, `.${'0'.repeat(32)}.`) ?? '',
      status: 'resolved',
      payload: true,
    } as const
    const again = await ran(agUiAgent(scene, { who: 'admin', threadId: agent.threadId }), null, {
      resume: [other],
    })
    expect(interruptsOf(lastOf(again)).map(({ id }) => id)).toEqual([interrupt?.id])
    // An answer about nothing does not stop a run that says something.
    const nothing = await ran(agentFor(), 'hello', {
      resume: [{ interruptId: 'nothing', status: 'resolved', payload: true }],
    })
    expect(textIn(nothing.events)).toBe('You said: hello')
    const admin = agentFor({ who: 'admin', threadId: agent.threadId })
    expect(lastOf(await ran(admin, null, { resume: [answer(interrupt, true)] }))).toMatchObject({
      outcome: { type: 'success' },
    })
  })
})

/** The events of a stream of AG-UI. */
async function eventsAt(
  path: string,
  { who = 'ann' }: { who?: Who } = {},
): Promise<{ status: number; events: AGUIEvent[] }> {
  const answer = await fetch(`${scene.gateway.info.url}${path}`, {
    headers: { authorization: `Bearer ${scene.tokens[who]}` },
  })
  const text = await answer.text()
  const data = answer.ok ? text.split('\n').flatMap((line) => /^data: (.*)$/.exec(line)?.[1] ?? []) : []
  return {
    status: answer.status,
    events: data.map((each) => EventSchemas.parse(JSON.parse(each)) as AGUIEvent),
  }
}

describe('the events of a task that exists', () => {
  it('are a run of their own, whoever began the task', async () => {
    const { task_id, session_id } = await scene.system.client.submit({ task: 'say and look', user_id: 'ann' })
    await scene.system.ended(task_id)
    const { events } = await eventsAt(`/api/v1/tasks/${task_id}/ag-ui`)
    expect(events[0]).toMatchObject({
      threadId: session_id,
      runId: task_id,
      input: { messages: [{ role: 'user', content: 'say and look' }] },
    })
    expect([textIn(events), events.at(-1)?.type]).toEqual(['I look.There are files.', 'RUN_FINISHED'])
  })

  it('pass the calls that were decided, and stop at those that wait', async () => {
    const agent = agentFor()
    const first = await ran(agent, 'write nine')
    const at = `/api/v1/tasks/${taskOf(first.events)}/ag-ui`
    expect(interruptsOf((await eventsAt(at)).events.at(-1) as AGUIEvent)).toHaveLength(1)
    await ran(agent, null, {
      resume: [{ interruptId: interruptsOf(lastOf(first))[0]?.id ?? '', status: 'resolved', payload: true }],
    })
    expect((await eventsAt(at)).events.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'success' },
    })
  })

  it('exist for those who may see the task', async () => {
    const run = await ran(agentFor(), 'mine')
    const at = `/api/v1/tasks/${taskOf(run.events)}/ag-ui`
    expect(
      [
        await eventsAt(at, { who: 'bob' }),
        await eventsAt(at, { who: 'writer' }),
        await eventsAt('/api/v1/tasks/nothing/ag-ui'),
      ].map(({ status }) => status),
    ).toEqual([404, 403, 404])
  })
})
