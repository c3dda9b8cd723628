// `beaver acp` and a task that waits for more in a budget: the editor is asked, as about a call.
import { methods } from '@agentclientprotocol/sdk'
import { until as untilOf } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chosen, editorOf, type EditorProcess, tasksOf } from '../support/acp.ts'
import { say, use } from '../support/fake-provider.ts'
import { budgetedScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await budgetedScene()))
beforeEach(() => scene.again())

const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

/** The first call uses a tool, and the second one answers. */
const twoCalls = (): void =>
  scene.system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'apples' }]) : say('Compared.'),
  )

async function asked(me: EditorProcess, times = 1) {
  return until('the editor is asked', () => me.asked.length >= times && me.asked.at(-1))
}

describe('a task of an editor that waits for more in a budget', () => {
  it('asks the editor, goes on with what it is given, and asks again if that is not enough', async () => {
    const { system } = scene
    await using me = await editorOf(scene.server, system)
    const session = await me.session(system.workspace)
    system.provider.answerBy(({ results }) =>
      results.length < 2 ? use(['echo', { text: `apples ${results.length}` }]) : say('Compared.'),
    )
    me.answerBy(async () => chosen('more-0'))
    expect(await me.prompt(session, 'Compare the apples')).toBe('end_turn')
    expect(me.said()).toBe('Compared.')
    const title = (used: number) =>
      `The task waits: the budget of the task has no place for the next call (used ${used} of ${used} model ${used === 1 ? 'call' : 'calls'}, needed up to 1 model call)`
    expect(me.asked).toMatchObject([
      {
        sessionId: session,
        toolCall: { title: title(1) },
        options: [
          { optionId: 'more-0', name: 'Give 1 model call more', kind: 'allow_once' },
          { optionId: 'stop', name: 'Give nothing: stop the task', kind: 'reject_once' },
        ],
      },
      { toolCall: { title: title(2) } },
    ])
    const [task = ''] = await tasksOf(system, session)
    expect(only(await system.events(task), 'budget_raised')).toMatchObject([
      { data: { more: { model_calls: 1 }, reason: 'Given in the editor.', by: 'ben' } },
      { data: { more: { model_calls: 1 } } },
    ])
    const shown = me.updates('tool_call').filter((each) => each.title === title(1))
    expect(shown).toMatchObject([{ status: 'pending', toolCallId: me.asked[0]?.toolCall.toolCallId }])
    expect(
      me.updates('tool_call_update').filter(({ toolCallId }) => toolCallId === shown[0]?.toolCallId),
    ).toMatchObject([{ status: 'completed' }])
  })

  it('is cancelled if the person gives nothing', async () => {
    twoCalls()
    await using me = await editorOf(scene.server, scene.system)
    me.answerBy(async () => chosen('stop'))
    const session = await me.session(scene.system.workspace)
    expect(await me.prompt(session, 'Compare the pears')).toBe('cancelled')
    const [task = ''] = await tasksOf(scene.system, session)
    expect((await scene.system.ended(task)).at(-1)).toMatchObject({ type: 'task_cancelled' })
  })

  it('waits on after a dialog that was closed, and withdraws one when somebody else gives more', async () => {
    twoCalls()
    await using me = await editorOf(scene.server, scene.system)
    me.answerBy(async () => ({ outcome: 'cancelled' }))
    const session = await me.session(scene.system.workspace)
    const first = me.prompt(session, 'Compare the plums')
    await until('a notice says how to go on', () =>
      me.updates('notice').some(({ title }) => title.includes('beaver budget raise')),
    )
    const [task = ''] = await tasksOf(scene.system, session)
    await scene.system.client.raise(task, { model_calls: 5 })
    expect(await first).toBe('end_turn')
    const withdrawn = Promise.withResolvers<void>()
    me.answerBy(async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      withdrawn.resolve()
      return chosen('stop')
    })
    const second = me.prompt(session, 'Compare the figs')
    await asked(me, 2)
    await scene.system.client.raise((await tasksOf(scene.system, session)).at(-1) ?? '', { model_calls: 5 })
    expect(await second).toBe('end_turn')
    await withdrawn.promise
  })
  it('of a budget that tasks share only says who can give more', async () => {
    twoCalls()
    await using me = await editorOf(scene.server, scene.system, ['--profile', 'clerk'])
    const session = await me.session(scene.system.workspace)
    const prompted = me.prompt(session, 'Compare the nuts')
    await until('a notice says it', () =>
      me
        .updates('notice')
        .some(({ title }) =>
          title.includes('Only an operator can give more to the budget of the profile clerk for a day'),
        ),
    )
    expect(me.asked).toEqual([])
    await me.agent.notify(methods.agent.session.cancel, { sessionId: session })
    expect(await prompted).toBe('cancelled')
  })
})
