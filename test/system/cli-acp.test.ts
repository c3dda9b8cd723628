// `beaver acp` as an editor starts it: a child on stdin and stdout, with a real daemon; the editor is the
// client of the official SDK.
import { methods } from '@agentclientprotocol/sdk'
import { until as untilOf } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chosen, editorOf, type EditorProcess, keptEditor, refusal, tasksOf } from '../support/acp.ts'
import { type FakeReply, refuse, say, use } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
let me: EditorProcess
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})
beforeEach(async () => void (me = await keptEditor(scene)))

const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

/**
 * A root that calls echo with its task, and then says what came of it. The scene asks about a careful call.
 */
const echoing = (): void =>
  system.provider.answerBy(({ results, text }) =>
    results.length === 0 ? use(['echo', { text }]) : say(`It said: ${results.join(' | ')}`),
  )

/** An answer that is streamed in pieces. */
function streamed(...texts: string[]): FakeReply {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const body = [...texts.map((content) => chunk({ content })), chunk({}, 'stop'), 'data: [DONE]\n\n'].join('')
  return { headers: { 'content-type': 'text/event-stream' }, body }
}

describe('beaver acp', () => {
  it('answers a prompt with the text of the agent and its calls; the task is one of the session, in its folder', async () => {
    echoing()
    const session = await me.session(system.workspace)
    expect(await me.prompt(session, 'Say hello.')).toBe('end_turn')
    expect(me.said()).toBe('It said: {"text":"Say hello."}')
    const [call] = me.updates('tool_call')
    expect(call).toMatchObject({
      title: 'echo',
      kind: 'other',
      status: 'pending',
      rawInput: { text: 'Say hello.' },
    })
    expect(
      me.updates('tool_call_update').filter(({ toolCallId }) => toolCallId === call?.toolCallId),
    ).toMatchObject([
      { status: 'in_progress' },
      {
        status: 'completed',
        content: [{ type: 'content', content: { type: 'text', text: '{"text":"Say hello."}' } }],
      },
    ])
    const [task = ''] = await tasksOf(system, session)
    const [submitted] = only(await system.events(task), 'task_submitted')
    expect(submitted?.data).toMatchObject({
      session_id: session,
      by: 'ben',
      request: { text: 'Say hello.', workspace: system.workspace, source: 'acp' },
    })
    expect(await me.prompt(session, 'Say it again.')).toBe('end_turn')
    expect(await tasksOf(system, session)).toHaveLength(2)
  })

  it('tells a text while the model writes it, as one message', async () => {
    system.provider.answerBy(() => streamed('Word ', 'by ', 'word.'))
    expect(await me.prompt(await me.session(system.workspace), 'Write.')).toBe('end_turn')
    const chunks = me.updates('agent_message_chunk')
    expect(me.said()).toBe('Word by word.')
    expect(chunks.length).toBeGreaterThan(1)
    expect(new Set(chunks.map(({ messageId }) => messageId)).size).toBe(1)
  })

  it('tells how far a team is as a plan, and the calls of its workers with their names', async () => {
    const agents = ['reader', 'writer'].map((name) => ({ name, instruction: `You are the ${name}.` }))
    system.provider.answerBy(({ messages, results, text }) => {
      const worker = /^- agent: (reader|writer)$/m.exec(messages[0]?.content ?? '')?.[1]
      if (worker === 'reader' && results.length === 0) return use(['echo', { text: 'notes' }])
      if (worker !== undefined) return say(`The ${worker} is done.`)
      return results.length === 0 && text === 'Report.'
        ? use(['SequentialWorkflow', { task: 'Report.', agents }])
        : say('The report.')
    })
    expect(await me.prompt(await me.session(system.workspace), 'Report.')).toBe('end_turn')
    expect(me.said()).toBe('The report.')
    expect(me.updates('tool_call').map(({ title }) => title)).toEqual([
      'SequentialWorkflow Report.',
      'reader: echo',
    ])
    const plans = me.updates('plan').map(({ entries }) => entries.map(({ status }) => status).join(' '))
    expect(plans[0]).toBe('pending pending')
    expect(plans).toContain('completed in_progress')
    expect(plans.at(-1)).toBe('completed completed')
  })

  it('tells a failed task as an error with the reason, and goes on with the session', async () => {
    system.provider.answerBy(() => refuse(401, 'The key is wrong.'))
    const session = await me.session(system.workspace)
    expect(await refusal(me.prompt(session, 'Say it.'))).toMatch(/^-32603 The task task_\w+ failed: .*key/)
    system.provider.answerBy(() => say('Now it works.'))
    expect(await me.prompt(session, 'Say it.')).toBe('end_turn')
  })

  it('lists the sessions of its user with their folders, and continues one that the command line began', async () => {
    system.provider.answerBy(({ text }) => say(`You said: ${text}`))
    await system.client.run({ task: 'First words.', session_id: 'cli:1', title: 'A talk' })
    await system.client.run({ task: 'A secret of ada.', session_id: 'of-ada', user_id: 'ada' })
    const listed = (cwd: string | null = null, cursor: string | null = null) =>
      me.agent.request(methods.agent.session.list, { cwd, cursor })
    const { sessions } = await until('it is listed', async () => {
      const page = await listed()
      return page.sessions.some(({ sessionId }) => sessionId === 'cli:1') && page
    })
    expect(sessions.find(({ sessionId }) => sessionId === 'cli:1')).toMatchObject({
      title: 'A talk',
      cwd: system.workspace,
    })
    expect(sessions.map(({ sessionId }) => sessionId)).not.toContain('of-ada')
    expect((await listed('/elsewhere')).sessions).toEqual([])
    expect(await refusal(listed(null, 'x'))).toMatch(/^-32602 /)
    await me.agent.request(methods.agent.session.load, {
      sessionId: 'cli:1',
      cwd: system.workspace,
      mcpServers: [],
    })
    expect(
      me.told.map(({ update }) =>
        'content' in update && !Array.isArray(update.content)
          ? [update.sessionUpdate, update.content]
          : update,
      ),
    ).toEqual([
      ['user_message_chunk', { type: 'text', text: 'First words.' }],
      ['agent_message_chunk', { type: 'text', text: 'You said: First words.' }],
    ])
    expect(await me.prompt('cli:1', 'More words.')).toBe('end_turn')
    expect(await tasksOf(system, 'cli:1')).toHaveLength(2)
  })
})

describe('a call that waits for a person', () => {
  it('is asked of the editor, and its answer decides, in the name of the person', async () => {
    echoing()
    const session = await me.session(system.workspace)
    me.answerBy(async () => chosen('allow'))
    expect(await me.prompt(session, 'careful')).toBe('end_turn')
    expect(me.asked).toMatchObject([
      {
        sessionId: session,
        toolCall: {
          title: 'echo',
          content: [{ content: { text: expect.stringContaining('careful') as string } }],
        },
        options: [
          { optionId: 'allow', kind: 'allow_once' },
          { optionId: 'refuse', kind: 'reject_once' },
        ],
      },
    ])
    me.answerBy(async () => chosen('refuse'))
    expect(await me.prompt(session, 'be careful')).toBe('end_turn')
    const [, task = ''] = await tasksOf(system, session)
    expect(only(await system.events(task), 'approval_denied')).toMatchObject([
      { data: { by: 'ben', reason: 'Refused in the editor.' } },
    ])
    expect(me.updates('tool_call_update').at(-1)).toMatchObject({ status: 'failed' })
  })

  it('is not decided by an option that was not offered, nor by a dialog that was closed', async () => {
    echoing()
    const session = await me.session(system.workspace)
    for (const answer of [{ outcome: 'cancelled' as const }, chosen('allow_always')]) {
      me.answerBy(async () => answer)
      const asked = me.asked.length
      const prompted = me.prompt(session, 'careful')
      await until('it was asked', () => me.asked.length > asked)
      const task = (await tasksOf(system, session)).at(-1) ?? ''
      const [call] = only(await system.events(task), 'approval_requested')
      await system.client.decide(task, { callId: call?.data.call_id ?? '', approved: true })
      expect(await prompted).toBe('end_turn')
      expect(only(await system.events(task), 'approval_granted')).toMatchObject([{ data: { by: 'ada' } }])
    }
  })

  it('is withdrawn when somebody else decides, and a late answer changes nothing', async () => {
    echoing()
    const session = await me.session(system.workspace)
    const withdrawn = Promise.withResolvers<void>()
    me.answerBy(async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      withdrawn.resolve()
      return chosen('refuse')
    })
    const prompted = me.prompt(session, 'careful')
    await until('it was asked', () => me.asked.length > 0)
    const [task = ''] = await tasksOf(system, session)
    await system.client.decide(task, {
      callId: only(await system.events(task), 'approval_requested')[0]?.data.call_id ?? '',
      approved: true,
    })
    expect(await prompted).toBe('end_turn')
    await withdrawn.promise
    expect(me.said()).toContain('It said:')
    expect(only(await system.events(task), 'approval_denied')).toEqual([])
  })
})

describe('an editor that goes away', () => {
  it('by kill -9 of beaver acp: the call waits, and the session that is loaded again tells all and asks again', async () => {
    echoing()
    const session = await (async () => {
      await using killed = await editorOf(scene.server, system)
      const id = await killed.session(system.workspace)
      void killed.prompt(id, 'careful').catch(() => {})
      await until('it was asked', () => killed.asked.length > 0)
      killed.child.kill('SIGKILL')
      await killed.exited
      return id
    })()
    me.look(session)
    me.answerBy(async () => chosen('allow'))
    await me.agent.request(methods.agent.session.load, {
      sessionId: session,
      cwd: system.workspace,
      mcpServers: [],
    })
    expect(me.updates('user_message_chunk')).toMatchObject([{ content: { text: 'careful' } }])
    await until('the rest was told', () => me.said().includes('It said:'))
    expect(me.updates('tool_call')).toMatchObject([{ title: 'echo' }])
    expect(await me.prompt(session, 'careful')).toBe('end_turn')
  })

  it('by the end of its stream: beaver acp ends, and the task goes on', async () => {
    const answer = Promise.withResolvers<void>()
    system.provider.answerBy(async () => (await answer.promise, say('Done.')))
    await using ending = await editorOf(scene.server, system)
    const session = await ending.session(system.workspace)
    const before = system.provider.requests.length
    void ending.prompt(session, 'Work.').catch(() => {})
    await until('the model was asked', () => system.provider.requests.length > before)
    ending.child.stdin.end()
    expect(await ending.exited).toBe(0)
    answer.resolve()
    const [task = ''] = await tasksOf(system, session)
    expect((await system.ended(task)).at(-1)).toMatchObject({ type: 'task_completed' })
    await me.agent.request(methods.agent.session.resume, { sessionId: session, cwd: system.workspace })
    expect(me.told).toEqual([])
    expect(await me.prompt(session, 'And now?')).toBe('end_turn')
  })
})

describe('a cancel', () => {
  it('while the model is asked ends the turn as cancelled; so does the close of the session', async () => {
    system.provider.answerBy(() => null)
    for (const stop of [
      (session: string) => me.agent.notify(methods.agent.session.cancel, { sessionId: session }),
      (session: string) => me.agent.request(methods.agent.session.close, { sessionId: session }),
    ]) {
      const asked = system.provider.requests.length
      const session = await me.session(system.workspace)
      const prompted = me.prompt(session, 'Wait for ever.')
      await until('the model was asked', () => system.provider.requests.length > asked)
      await stop(session)
      expect(await prompted).toBe('cancelled')
      const [task = ''] = await tasksOf(system, session)
      expect((await system.events(task)).at(-1)).toMatchObject({ type: 'task_cancelled' })
      await until('the model was let go', () => system.provider.requests.at(-1)?.abandoned)
    }
  })

  it('while a tool works ends its call, too', async () => {
    system.provider.answerBy(() => use(['patient', { what: 'wait for a while' }]))
    const session = await me.session(system.workspace)
    const prompted = me.prompt(session, 'Hang.')
    await until('the tool works', () =>
      me.updates('tool_call_update').some(({ status }) => status === 'in_progress'),
    )
    await me.agent.notify(methods.agent.session.cancel, { sessionId: session })
    expect(await prompted).toBe('cancelled')
    expect(me.updates('tool_call_update').at(-1)).toMatchObject({ status: 'failed' })
  })

  it('right after the prompt, and of the request itself, leaves no task that goes on; the session does', async () => {
    system.provider.answerBy(({ text }) => (text === 'And now?' ? say('Now.') : null))
    const session = await me.session(system.workspace)
    const prompted = me.prompt(session, 'Wait for ever.')
    await me.agent.notify(methods.agent.session.cancel, { sessionId: session })
    expect(await prompted).toBe('cancelled')
    const stop = new AbortController()
    const request = me.agent.request(
      methods.agent.session.prompt,
      { sessionId: session, prompt: [{ type: 'text', text: 'Wait.' }] },
      { cancellationSignal: stop.signal },
    )
    stop.abort()
    expect(await request).toEqual({ stopReason: 'cancelled' })
    expect(await me.prompt(session, 'And now?')).toBe('end_turn')
    // A prompt that was cancelled before it was submitted has no task.
    const tasks = await tasksOf(system, session)
    const ends = await Promise.all(tasks.map(async (task) => (await system.ended(task)).at(-1)?.type))
    expect([
      ends.filter((type) => type === 'task_completed').length,
      ends.filter((type) => type === 'task_cancelled').length,
    ]).toEqual([1, tasks.length - 1])
  })
})
