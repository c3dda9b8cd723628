// Beaver as an agent of an editor: `beaver acp` as a child process, spoken to by the client of the official
// SDK.
import { beforeAll, expect, it } from 'vitest'
import { editorOf, tasksOf } from '../support/acp.ts'
import { type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only } from '../support/system.ts'

let scene: SmokeScene
beforeAll(async () => void (scene = await smokeScene()))

it('a prompt of an editor is answered with the calls of the agent and its text, and is a task of the session', async () => {
  await using me = await editorOf(scene.server, scene.system)
  const session = await me.session(scene.system.workspace)
  expect(await me.prompt(session, 'look')).toBe('end_turn')
  expect(me.said()).toBe('There are files.')
  expect(me.updates('tool_call').map(({ title }) => title)).toEqual([expect.stringContaining('list_files')])
  const [task = '', ...more] = await tasksOf(scene.system, session)
  const [submitted] = only(await scene.system.events(task), 'task_submitted')
  expect([submitted?.data, more]).toMatchObject([
    { session_id: session, by: 'ben', request: { text: 'look', source: 'acp' } },
    [],
  ])
})
