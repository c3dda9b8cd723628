// Skills, workflow definitions and profiles are read again when their files change (D-69), by a real daemon
// with real worker threads. That each daemon looks for itself is in two-daemons.test.ts.
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let folder: string
let stderr = (): string => ''

const skillText = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Guides ${name}.\n---\n${body}\n`
const definition = (instruction: string): object => ({
  interfaceInputs: {},
  interfaceOutputs: { answer: { dataFlowType: 'STRING' } },
  nodes: [{ id: 'answer', kind: 'agent', instruction }],
})
const profile = (prompt: string): object => ({
  name: 'clerk',
  system_prompt: prompt,
  tool_ids_inventory: ['system:echo'],
})

async function skill(name: string, body: string, parent = join(folder, 'skills')): Promise<void> {
  await mkdir(join(parent, name), { recursive: true })
  await writeFile(join(parent, name, 'SKILL.md'), skillText(name, body))
}
const json = (path: string, content: object | string): Promise<void> =>
  writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content))

beforeAll(async () => {
  server = await testServer()
  folder = await mkdtemp(join(tmpdir(), 'beaver-reload-'))
  await mkdir(join(folder, 'workflows'))
  await skill('tides', 'Say: first tide.')
  await json('workflows/ask.json', definition('Ask once.'))
  await json('clerk.json', profile('You are the first clerk.'))
  await json('keeper.json', {
    name: 'keeper',
    system_prompt: 'You keep.',
    tool_ids_inventory: ['system:echo'],
  })
  system = await testSystem(server, {
    skills: [join(folder, 'skills')],
    workflows: [join(folder, 'workflows')],
    profiles: ['clerk', 'keeper'].map((name) => join(folder, `${name}.json`)),
    permissions: { rules: [{ tool: 'echo', decision: 'ask' }] },
  })
  system.provider.answerBy(() => say('done'))
  const daemon = await system.daemon({ BEAVER_WORKER_THREADS: '2' })
  stderr = () => daemon.stderr
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => system.provider.answerBy(() => say('done')))

let tasks = 0
async function asked(request: object): Promise<string> {
  const text = `Work ${++tasks}`
  const { task_id } = await system.client.submit({ task: text, ...request })
  await system.ended(task_id)
  return JSON.stringify(system.provider.about(text)[0]?.messages ?? [])
}

const refused = (request: object, code: string): Promise<unknown> =>
  until(`it is refused: ${code}`, () =>
    system.client.submit(request).then(
      () => false,
      (error: { code?: string }) => error.code === code,
    ),
  )

/** A daemon looks at its files ten times a second at most. */
const comes = (says: string, request: object): Promise<unknown> =>
  until(`a task has: ${says}`, async () => (await asked(request)).includes(says))

describe('a task that is accepted after a change', () => {
  it('has the new skill, in each thread of the daemon', async () => {
    expect(await asked({ skill: 'tides' })).toContain('first tide')
    await skill('tides', 'Say: second tide.')
    await comes('second tide', { skill: 'tides' })
    const texts = await Promise.all([1, 2, 3, 4].map(() => asked({ skill: 'tides' })))
    expect(texts.map((text) => text.includes('second tide'))).toEqual([true, true, true, true])
  })

  it('may name a skill that is new, and may not name one that was removed', async () => {
    await skill('moon', 'Say: moon.')
    expect(await asked({ skill: 'moon' })).toContain('Say: moon')
    await rm(join(folder, 'skills', 'moon'), { recursive: true })
    await refused({ task: 'x', skill: 'moon' }, 'unknown_skill')
  })

  it('has the new profile and the new definition', async () => {
    await json('clerk.json', profile('You are the second clerk.'))
    await comes('You are the second clerk.', { profile: 'clerk' })
    await json('workflows/ask.json', definition('Ask twice.'))
    await json('workflows/ask_again.json', definition('Ask again.'))
    for (const [name, says] of [
      ['ask', 'Ask twice.'],
      ['ask_again', 'Ask again.'],
    ]) {
      await until(`${name} is new`, async () => {
        const { status } = await system.client.run({ workflow: { name: `workflow:${name}`, arguments: {} } })
        return status === 'completed' && system.provider.requests.at(-1)?.text.includes(says ?? '') === true
      })
    }
  })
})

it('a workflow that a person adds to a profile is a tool of the next task, and the log says who added it', async () => {
  await json('workflows/brief.json', definition('Be brief.'))
  const has = async (): Promise<boolean> => {
    const text = `Tools ${++tasks}`
    const { task_id } = await system.client.submit({ task: text, profile: 'keeper' })
    await system.ended(task_id)
    return system.provider.about(text)[0]?.tools.includes('workflow-_brief') === true
  }
  expect(await has()).toBe(false)
  const file = join(folder, 'keeper.json')
  expect(await system.client.addWorkflow('keeper', 'workflow:brief')).toMatchObject({ file, changed: true })
  expect(await has()).toBe(true)
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
    name: 'keeper',
    system_prompt: 'You keep.',
    tool_ids_inventory: ['system:echo', 'workflow:brief'],
  })
  await until('the log says it', () => /profile_changed[^\n]*ada/.test(stderr()))
  // The tests after this one have the files of before.
  await json('keeper.json', {
    name: 'keeper',
    system_prompt: 'You keep.',
    tool_ids_inventory: ['system:echo'],
  })
  await rm(join(folder, 'workflows', 'brief.json'))
  await until('it is gone', async () => !(await has()))
})

describe('a change that is broken', () => {
  it('leaves the old profile and definitions in use, and the log names the file and the reason', async () => {
    await json('clerk.json', '{ "name": ')
    expect(await asked({ profile: 'clerk' })).toContain('You are the second clerk.')
    await until('the log names the file', () => /not JSON[^\n]*clerk\.json/.test(stderr()))
    expect(await asked({ profile: 'clerk' })).toContain('You are the second clerk.')
    expect((await system.client.status()).changes_not_used).toEqual([
      { file: join(folder, 'clerk.json'), message: expect.stringContaining('It is not JSON') as string },
    ])
    await json('clerk.json', profile('You are the third clerk.'))
    await comes('You are the third clerk.', { profile: 'clerk' })
    expect((await system.client.status()).changes_not_used).toBeUndefined()
  })

  it('of a skill leaves the old skills in use', async () => {
    await writeFile(join(folder, 'skills', 'tides', 'SKILL.md'), 'no front matter')
    expect(await asked({ skill: 'tides' })).toContain('second tide')
    await until('the log names the file', () => stderr().includes(join('tides', 'SKILL.md')))
    expect(await asked({ skill: 'tides' })).toContain('second tide')
    await skill('tides', 'Say: fourth tide.')
    await comes('fourth tide', { skill: 'tides' })
  })

  it('leaves the old skills in use while a configured folder is away, and takes the new ones when it is back', async () => {
    await rename(join(folder, 'skills'), join(folder, 'away'))
    await until(
      'the status says it',
      async () => (await system.client.status()).changes_not_used?.[0]?.file === join(folder, 'skills'),
      {
        everyMs: 20,
      },
    )
    expect(await asked({ skill: 'tides' })).toContain('fourth tide')
    await skill('tides', 'Say: fifth tide.', join(folder, 'away'))
    await symlink(join(folder, 'away'), join(folder, 'skills'))
    await comes('fifth tide', { skill: 'tides' })
  })
})

describe('a run that waits while files change', () => {
  it('keeps its prompt and its tools, and a new run has the new ones', async () => {
    system.provider.answerBy(({ text, results }) =>
      text === 'Wait for me' && results.length === 0 ? use(['echo', { text: 'x' }]) : say('kept'),
    )
    const { task_id } = await system.client.submit({ task: 'Wait for me', profile: 'keeper' })
    await system.reached(task_id, 'it waits', (all) => all.some(({ type }) => type === 'task_suspended'))
    await json('keeper.json', { name: 'keeper', system_prompt: 'You keep nothing.', tool_ids_inventory: [] })
    await until('the change is used', async () => {
      await system.client.run({ task: `Now ${++tasks}`, profile: 'keeper' })
      return JSON.stringify(system.provider.about(`Now ${tasks}`)[0]?.messages).includes('You keep nothing.')
    })
    await rm(join(folder, 'keeper.json'))
    const [asked] = only(await system.events(task_id), 'approval_requested')
    await system.client.decide(task_id, { approved: true, callId: asked?.data.call_id ?? '' })
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'kept' } })
    expect(system.provider.about('Wait for me').at(-1)?.tools).toEqual(['echo'])
    // Where a configured file is missing, nothing new is used.
    await json('keeper.json', profile('You keep again.'))
  })
})

describe('the skills of the workspace of a task', () => {
  it('count for this task, are marked in its journal, and never replace configured ones', async () => {
    const own = join(system.workspace, 'project')
    await mkdir(own)
    await skill('local', 'Say: of the project.', join(own, 'skills'))
    await skill('tides', 'Say: stolen tide.', join(own, 'skills'))
    const { task_id } = await system.client.submit({
      task: 'Use the local one',
      skill: 'local',
      workspace: own,
    })
    const events = await system.ended(task_id)
    expect(only(events, 'skill_activation_snapshotted')[0]?.data.skills).toMatchObject([
      { name: 'local', from_workspace: true },
    ])
    expect(JSON.stringify(system.provider.about('Use the local one')[0]?.messages)).toContain(
      'of the project',
    )
    expect(await asked({ skill: 'tides', workspace: own })).not.toContain('stolen')
    await expect(system.client.submit({ task: 'x', skill: 'local' })).rejects.toMatchObject({
      code: 'unknown_skill',
    })
  })
})

describe('what a task names that is gone when its run starts', () => {
  it('fails the run with exactly that', async () => {
    await skill('gone', 'Say: gone.')
    await json('workflows/gone.json', definition('Ask.'))
    await until('the daemon has both', async () => {
      const { skills, workflows } = await system.client.status()
      return skills.some(({ name }) => name === 'gone') && workflows.includes('workflow:gone')
    })
    system.provider.answerBy(({ text, results }) =>
      text === 'First' && results.length === 0 ? use(['echo', { text: 'x' }]) : say('done'),
    )
    // Both wait in their session behind a task that waits for a person.
    const sessions = ['a', 'b']
    const firsts = await Promise.all(
      sessions.map((session_id) => system.client.submit({ task: 'First', session_id })),
    )
    const named = await system.client.submit({ task: 'Use it', skill: 'gone', session_id: 'a' })
    const defined = await system.client.submit({
      workflow: { name: 'workflow:gone', arguments: {} },
      session_id: 'b',
    })
    await rm(join(folder, 'skills', 'gone'), { recursive: true })
    await rm(join(folder, 'workflows', 'gone.json'))
    await until('the daemon has neither', async () => {
      const { skills, workflows } = await system.client.status()
      return skills.every(({ name }) => name !== 'gone') && !workflows.includes('workflow:gone')
    })
    for (const { task_id } of firsts) {
      const [asked] = only(
        await system.reached(task_id, 'it asks', (all) => only(all, 'approval_requested').length === 1),
        'approval_requested',
      )
      await system.client.decide(task_id, { callId: asked?.data.call_id ?? '', approved: true })
    }
    const failureOf = async (id: string) => (await system.ended(id)).at(-1)
    expect(await failureOf(named.task_id)).toMatchObject({
      type: 'task_failed',
      data: {
        failure: {
          message: expect.stringMatching(/^The skill "gone" is not loaded by the daemon/) as string,
        },
      },
    })
    expect(await failureOf(defined.task_id)).toMatchObject({
      type: 'task_failed',
      data: {
        failure: {
          class: 'invalid_configuration',
          message: expect.stringMatching(
            /^The workflow "workflow:gone" is not loaded by the daemon/,
          ) as string,
        },
      },
    })
  })
})
