// What a task knows beyond its text: the tasks before it in its session, the memory of its user, and the
// skills of its folder.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { type SmokeScene, smokeScene } from '../support/smoke-scene.ts'

let scene: SmokeScene
beforeAll(async () => void (scene = await smokeScene()))

it('the second task of a session is told what was asked and answered in the first', async () => {
  await scene.system.client.run({ task: 'My name is Ann.', session_id: 'names' })
  const { final_output } = await scene.system.client.run({ task: 'all', session_id: 'names' })
  expect(final_output).toBe('user: My name is Ann. | assistant: You said: My name is Ann. | user: all')
  expect(
    (await scene.system.client.sessions.getVisibleHistory('names')).map(({ content }) => content),
  ).toEqual(['My name is Ann.', 'You said: My name is Ann.', 'all', final_output])
})

it('what an agent remembers of a user is told in a later session of this user, and of no other', async () => {
  scene.script('I like green tea.', ({ results }) =>
    results.length === 0
      ? use(['memory', { action: 'add', target: 'user', content: 'likes green tea' }])
      : say('I keep that in mind.'),
  )
  await scene.system.client.run({ task: 'I like green tea.', user_id: 'tea-drinker' })
  const prompts = await Promise.all(
    ['tea-drinker', 'coffee-drinker'].map((user_id) => scene.system.client.run({ task: 'system', user_id })),
  )
  expect(prompts.map(({ final_output }) => final_output.includes('likes green tea'))).toEqual([true, false])
})

it('the text of a skill that fits the task reaches the model', async () => {
  const folder = join(scene.system.workspace, 'tea-house')
  await mkdir(join(folder, 'skills', 'brew-tea'), { recursive: true })
  const head =
    '---\nname: brew-tea\ndescription: Brews a pot of oolong. Use it when the user wants oolong.\n---\n'
  await writeFile(
    join(folder, 'skills', 'brew-tea', 'SKILL.md'),
    `${head}\nWarm the pot before the leaves go in.\n`,
  )
  scene.script('Brew a pot of oolong.', ({ messages }) =>
    messages[0]?.content?.startsWith('Choose the skills') === true
      ? say('{"skills": ["brew-tea"]}')
      : say(JSON.stringify(messages)),
  )
  const { final_output } = await scene.system.client.run({ task: 'Brew a pot of oolong.', workspace: folder })
  expect(final_output).toContain('Warm the pot before the leaves go in.')
})
