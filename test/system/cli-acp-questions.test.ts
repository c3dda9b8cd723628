// Questions of calls in an editor: the client of the official SDK, with `beaver acp` as its child, in front
// of a real daemon.
import { methods } from '@agentclientprotocol/sdk'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chosen, type EditorProcess, editorOf, keptEditor, tasksOf } from '../support/acp.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
let me: EditorProcess
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})

const branch = 'ask_user {"question":"Which branch?","options":["main","next"]}'
const answersOf = async (session: string) => {
  const task = (await tasksOf(system, session)).at(-1) ?? ''
  return only(await system.events(task), 'question_answered').map(({ data }) => data)
}
const notices = (me: EditorProcess): string =>
  me
    .updates('notice')
    .map(({ title }) => title)
    .join('\n')

describe('an editor that shows forms', () => {
  let showing: EditorProcess
  beforeAll(async () => void (showing = await editorOf(scene.server, system, [], {}, { forms: true })))
  afterAll(() => showing[Symbol.asyncDispose]())
  beforeEach(() => {
    me = showing
    me.forget()
  })

  it('gets each question as a form of its call, and what was filled in is the answer of the person', async () => {
    const session = await me.session(system.workspace)
    me.fillBy(async () => ({ action: 'accept', content: { answer: 'next' } }))
    expect(await me.prompt(session, branch)).toBe('end_turn')
    expect(me.said()).toBe('So: next')
    expect(me.forms).toMatchObject([
      {
        mode: 'form',
        sessionId: session,
        message: 'Which branch?',
        requestedSchema: { properties: { answer: { enum: ['main', 'next'] } } },
      },
    ])
    expect(await answersOf(session)).toMatchObject([
      { by: 'ben', answer: { action: 'accept', answers: ['next'] } },
    ])
    me.fillBy(async () => ({ action: 'accept', content: { name: 'Ada', age: 36 } }))
    expect(await me.prompt(session, 'sign_up {}')).toBe('end_turn')
    expect(me.said()).toContain('So: accept Ada 36')
    me.fillBy(async () => ({ action: 'decline' }))
    expect(await me.prompt(session, 'deploy {"to":"prod"}')).toBe('end_turn')
    expect(me.said()).toContain('So: decline ')
  })

  it('is asked again if the answer does not fit, and a form that is closed leaves the question waiting', async () => {
    const session = await me.session(system.workspace)
    const contents = [{ answer: 'old' }, { answer: 'x'.repeat(10_001) }, {}]
    me.fillBy(async () => ({ action: 'accept', content: contents[me.forms.length - 1] ?? {} }))
    const prompted = me.prompt(session, branch)
    await until(
      'it was asked three times',
      () => me.forms.length === 3 && notices(me).includes('The answer is empty'),
    )
    expect(notices(me)).toContain('"old" is not one of the options. Answer with one of: "main", "next".')
    expect(await answersOf(session)).toEqual([])
    const [task = ''] = await tasksOf(system, session)
    await system.client.answer(task, { callId: 'call_0', answer: { action: 'accept', answers: ['main'] } })
    expect(await prompted).toBe('end_turn')
    me.fillBy(async () => ({ action: 'cancel' }))
    const closed = me.prompt(session, branch)
    await until('it says how to answer', () =>
      notices(me).includes('The question waits. Answer it with: beaver answer'),
    )
    const second = (await tasksOf(system, session)).at(-1) ?? ''
    await system.client.answer(second, { callId: 'call_0', answer: { action: 'accept', answers: ['next'] } })
    expect(await closed).toBe('end_turn')
    expect(me.said()).toContain('So: next')
  })

  it('changes the arguments of a call in a form, which comes again until they fit', async () => {
    const session = await me.session(system.workspace)
    me.answerBy(async () => chosen('edit'))
    const texts = ['no JSON', '{"path":7}', '{"path":"edited.txt","content":"mine"}']
    me.fillBy(async () => ({ action: 'accept', content: { arguments: texts[me.forms.length - 1] ?? '' } }))
    expect(await me.prompt(session, 'write asked')).toBe('end_turn')
    expect(me.asked.at(-1)?.options.map(({ name }) => name)).toEqual([
      'Allow',
      'Change the arguments',
      'Refuse',
    ])
    const shown = me.forms.map((form) => (form as unknown as { requestedSchema: { properties: { arguments: { default: string } } } }).requestedSchema.properties.arguments.default) // prettier-ignore
    expect(shown).toEqual(['{"path":"asked.txt","content":"x"}', ...texts.slice(0, 2)])
    expect(notices(me).match(/still waits, because it cannot be made with these arguments/g)).toHaveLength(2)
    const task = (await tasksOf(system, session)).at(-1) ?? ''
    const events = await system.events(task)
    expect(only(events, 'approval_granted')).toMatchObject([{ data: { by: 'ben', arguments: texts[2] } }])
    expect(only(events, 'tool_result_recorded')[0]?.data.content).toContain('edited.txt')
  })

  it('that changes nothing in the form allows the call as it is', async () => {
    const session = await me.session(system.workspace)
    me.answerBy(async () => chosen('edit'))
    me.fillBy(async () => ({
      action: 'accept',
      content: { arguments: '{ "content": "x", "path": "same.txt" }' },
    }))
    expect(await me.prompt(session, 'write same')).toBe('end_turn')
    const task = (await tasksOf(system, session)).at(-1) ?? ''
    const granted = only(await system.events(task), 'approval_granted')
    expect(granted.map(({ data }) => ['arguments' in data, data.by])).toEqual([[false, 'ben']])
  })

  it('that closes the form leaves the call waiting, and decides too late if somebody else was first', async () => {
    const session = await me.session(system.workspace)
    me.answerBy(async () => chosen('edit'))
    me.fillBy(async () => ({ action: 'cancel' }))
    const prompted = me.prompt(session, 'write closed')
    await until('it says where to decide', () =>
      notices(me).includes('The call waits: write_file closed.txt. Answer it with: beaver approve'),
    )
    const task = (await tasksOf(system, session)).at(-1) ?? ''
    await system.client.decide(task, { callId: 'call_0', approved: false })
    expect(await prompted).toBe('end_turn')
  })

  it('loses its form when somebody else answers', async () => {
    const session = await me.session(system.workspace)
    let withdrawn = false
    me.fillBy(
      (_, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => ((withdrawn = true), resolve({ action: 'cancel' }))),
        ),
    )
    const prompted = me.prompt(session, branch)
    await until('it was asked', () => me.forms.length === 1)
    const [task = ''] = await tasksOf(system, session)
    await system.client.answer(task, { callId: 'call_0', answer: { action: 'accept', answers: ['main'] } })
    expect(await prompted).toBe('end_turn')
    await until('the form is withdrawn', () => withdrawn)
    expect(await answersOf(session)).toHaveLength(1)
  })
})

describe('an editor without forms', () => {
  beforeEach(async () => void (me = await keptEditor(scene)))

  it('gets one option of some as a dialog', async () => {
    const session = await me.session(system.workspace)
    me.answerBy(async () => chosen('1'))
    expect(await me.prompt(session, branch)).toBe('end_turn')
    expect(me.asked).toMatchObject([
      { toolCall: { title: 'Which branch?' }, options: [{ optionId: '0', name: 'main' }, { optionId: '1', name: 'next' }, { optionId: 'decline', kind: 'reject_once' }] }, // prettier-ignore
    ])
    expect(me.said()).toBe('So: next')
    me.answerBy(async () => chosen('7'))
    const strange = me.prompt(session, branch)
    await until('it says how to answer', () => notices(me).includes('The question waits.'))
    expect(await answersOf(session)).toEqual([])
    const task = (await tasksOf(system, session)).at(-1) ?? ''
    await system.client.answer(task, { callId: 'call_0', answer: { action: 'decline' } })
    expect(await strange).toBe('end_turn')
  })

  it('is told the question as a text, and its next prompt answers it', async () => {
    const session = await me.session(system.workspace)
    expect(await me.prompt(session, 'sign_up {}')).toBe('end_turn')
    expect(me.said()).toContain('Who are you?')
    expect(me.said()).toContain('Write it as the next prompt. To give no answer: beaver answer task_')
    expect(await me.prompt(session, 'age=old name=Ada')).toBe('end_turn')
    expect(me.said()).toContain('The question still waits.')
    expect(await answersOf(session)).toEqual([])
    expect(await me.prompt(session, 'name=Ada\nage=36')).toBe('end_turn')
    expect(me.said()).toMatch(/So: accept Ada 36$/)
    expect(await me.prompt(session, 'hello')).toBe('end_turn')
    expect(me.said()).toMatch(/You said: hello$/)
    expect(await tasksOf(system, session)).toHaveLength(2)
  })

  it('answers a question by a prompt after it was killed', async () => {
    const first = await editorOf(scene.server, system)
    const session = await first.session(system.workspace)
    expect(await first.prompt(session, 'ask_user {"question":"Why?"}')).toBe('end_turn')
    await first[Symbol.asyncDispose]()
    me.look(session)
    await me.agent.request(methods.agent.session.load, {
      sessionId: session,
      cwd: system.workspace,
      mcpServers: [],
    })
    await until('it is told again', () => me.said().includes('Why?'))
    expect(await me.prompt(session, 'because')).toBe('end_turn')
    expect(me.said()).toMatch(/So: because$/)
    expect(await tasksOf(system, session)).toHaveLength(1)
  })

  it('that answers too late is told so, and its words do nothing', async () => {
    const session = await me.session(system.workspace)
    expect(await me.prompt(session, 'ask_user {"question":"Why?"}')).toBe('end_turn')
    const [task = ''] = await tasksOf(system, session)
    await system.client.answer(task, { callId: 'call_0', answer: { action: 'accept', answers: ['because'] } })
    await system.ended(task)
    expect(await me.prompt(session, 'never mind')).toBe('end_turn')
    expect(me.said()).toMatch(/was already answered by \S+ at \S+\. What you wrote was not used\./)
    expect(me.said()).toMatch(/So: because$/)
    expect(await answersOf(session)).toHaveLength(1)
  })

  it('cancels the task that asks when it closes the session', async () => {
    const session = await me.session(system.workspace)
    await me.prompt(session, 'ask_user {"question":"Why?"}')
    const [task = ''] = await tasksOf(system, session)
    await me.agent.request(methods.agent.session.close, { sessionId: session })
    expect((await system.ended(task)).at(-1)?.type).toBe('task_cancelled')
  })
})
