// What a request may name, at a real daemon: profiles with `workflow:` tools, workflows, skills, and folders
// as workspaces. The files are on disk, and the provider knows encoded names only.
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, type SeenRequest, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem, told } from '../support/system.ts'

const wireName = 'workflow-_summarize--text'
const summarize = {
  description: 'Summarizes a text.',
  interfaceInputs: {
    text: { description: 'The text.', dataFlowType: 'STRING', required: true },
    length: { dataFlowType: 'STRING', config: { default: 'short' } },
  },
  interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
  nodes: [
    { id: 'summary', kind: 'agent', instruction: 'Summarize ({{ inputs.length }}): {{ inputs.text }}' },
  ],
}

let server: TestServer
let system: TestSystem
let folder: string
let stderr = (): string => ''
beforeAll(async () => {
  server = await testServer()
  folder = await mkdtemp(join(tmpdir(), 'beaver-profile-'))
  await mkdir(join(folder, 'workflows'))
  const write = (path: string, content: unknown): Promise<void> =>
    writeFile(join(folder, path), JSON.stringify(content))
  await write('workflows/summarize-text.json', summarize)
  await write('workflows/broken.json', { nodes: 1 })
  await write('bare.json', { name: 'bare', tool_ids_inventory: ['system:echo', 'read_file'] })
  await write('analyst.json', {
    name: 'analyst',
    system_prompt: 'You compare figures.',
    max_tool_iterations: 7,
    tool_ids_inventory: ['workflow:summarize-text', 'system:echo'],
  })
  system = await testSystem(server, {
    workflows: [join(folder, 'workflows')],
    profiles: ['bare', 'analyst'].map((name) => join(folder, `${name}.json`)),
    profile: 'bare',
    agent: { workspace_skills: false },
  })
  await mkdir(join(system.workspace, 'skills', 'local'), { recursive: true })
  await writeFile(
    join(system.workspace, 'skills', 'local', 'SKILL.md'),
    '---\nname: local\ndescription: Guides.\n---\nSay: of the workspace.\n',
  )
  const daemon = await system.daemon({ BEAVER_WORKSPACE_ROOTS: system.workspace })
  stderr = () => daemon.stderr
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const isWorker = ({ text }: SeenRequest): boolean => text.includes('<instruction ')

describe('a root with a profile', () => {
  it('calls its workflow: tool, whose output comes back bare; the model only ever sees the encoded name', async () => {
    system.provider.answerBy((request) => {
      if (isWorker(request)) return say('the summary')
      return request.results.length === 0
        ? use([wireName, { text: 'long text' }])
        : say(`It says: ${request.results.at(-1)}`)
    })
    const { task_id } = await system.client.submit({ task: 'Summarize', profile: 'analyst' })
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'It says: the summary' },
    })
    expect(only(events, 'run_started')[0]?.data).toMatchObject({
      max_tool_iterations: 7,
      tools: ['echo', 'workflow:summarize-text'],
    })
    expect(only(events, 'tool_call_started')[0]?.data.tool_name).toBe('workflow:summarize-text')
    expect(only(events, 'tool_result_recorded')[0]?.data).toMatchObject({
      success: true,
      content: 'the summary',
      tool_name: 'workflow:summarize-text',
    })
    expect(only(events, 'task_team_run_started')[0]?.data.graph.workflow).toBe('workflow:summarize-text')
    const [root, again] = system.provider.requests.filter((request) => !isWorker(request))
    expect(root?.tools).toEqual(['echo', wireName])
    expect(root?.messages[0]?.content).toContain('You compare figures.')
    expect(
      again?.messages.find((message) => message.tool_calls !== undefined)?.tool_calls?.[0]?.function.name,
    ).toBe(wireName)
    const [worker] = system.provider.requests.filter(isWorker)
    expect(worker?.tools).not.toContain(wireName)
    expect(worker?.text).toContain('Summarize (short): long text')
  })

  it('is told what is wrong with the arguments, and no node runs', async () => {
    system.provider.answerBy((request) =>
      request.results.length === 0 ? use([wireName, { txt: 'x' }]) : say('gave up'),
    )
    const { task_id } = await system.client.submit({ task: 'Summarize wrongly', profile: 'analyst' })
    const events = await system.ended(task_id)
    expect(JSON.parse(only(events, 'tool_result_recorded')[0]?.data.content ?? '')).toMatchObject({
      error: 'invalid_arguments',
      path: 'text',
    })
    expect(told(events)).not.toContain('task_team_run_started')
  })

  it('that the task does not name is the default one; what its inventory names wrongly is told, and brings nothing', async () => {
    system.provider.answerBy(() => say('done'))
    const { task_id } = await system.client.submit({ task: 'By default' })
    await system.ended(task_id)
    expect(system.provider.about('By default')[0]?.tools).toEqual(['echo'])
    expect(stderr()).toMatch(/tool_ids_inventory\.1: .*Did you mean \\"system:read_file\\".*bare\.json/)
    expect(stderr()).toContain('broken.json')
  })
})

describe('a task that is a workflow', () => {
  it('runs a definition without a root agent; its output is the result', async () => {
    system.provider.answerBy((request) => say(isWorker(request) ? 'the summary' : 'a root was asked'))
    const { status, final_output } = await system.client.run({
      workflow: { name: 'workflow:summarize-text', arguments: { text: 'alone', length: 'long' } },
    })
    expect([status, final_output]).toEqual(['completed', 'the summary'])
    expect(system.provider.about('Summarize (long): alone')).toHaveLength(1)
  })
})

it('the skills of workspaces are left out where the configuration says so', async () => {
  await expect(system.client.submit({ task: 'x', skill: 'local' })).rejects.toMatchObject({
    code: 'unknown_skill',
  })
})

it('a workspace outside the roots is refused by name, and of one inside the real folder is kept', async () => {
  const other = await realpath(await mkdtemp(join(tmpdir(), 'beaver-other-')))
  system.provider.answerBy(() => say('done'))
  await mkdir(join(system.workspace, 'inner'))
  await symlink(join(system.workspace, 'inner'), join(system.workspace, 'in'))
  await symlink('/etc', join(system.workspace, 'out'))
  try {
    for (const workspace of [
      '/',
      '/etc',
      '/proc/self',
      '/tmp',
      other,
      join(system.workspace, 'out'),
      join(system.workspace, '.beaver'),
      join(system.workspace, '..'),
    ])
      await expect(system.client.submit({ task: 'x', workspace })).rejects.toMatchObject({
        code: expect.stringMatching(/^workspace_(refused|missing)$/) as string,
      })
    const { task_id } = await system.client.submit({ task: 'x', workspace: join(system.workspace, 'in') })
    const [accepted] = await system.ended(task_id)
    expect(accepted?.data).toMatchObject({
      request: { workspace: join(await realpath(system.workspace), 'inner') },
    })
  } finally {
    await rm(other, { recursive: true })
  }
})

describe('a request', () => {
  it.each<[object, string, string, string]>([
    [{ task: 'x', profile: 'nobody' }, 'unknown_profile', 'profile', 'bare, analyst'],
    [
      { workflow: { name: 'workflow:broken', arguments: {} } },
      'unknown_workflow',
      'workflow.name',
      'workflow:summarize-text',
    ],
    [
      { workflow: { name: 'workflow:broken', arguments: {} } },
      'unknown_workflow',
      'workflow.name',
      'workflows/broken.json: ',
    ],
    [
      { workflow: { name: 'workflow:summarize-text', arguments: {} } },
      'invalid_arguments',
      'workflow.arguments.text',
      '"text"',
    ],
    [{ profile: 'bare' }, 'invalid_arguments', 'task', 'workflow'],
  ])('%j is refused', async (request, code, path, says) => {
    await expect(system.client.submit(request)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(says) as string,
      problems: [expect.objectContaining({ path })],
    })
  })

  it('for what there is, is answered by the status', async () => {
    const { profiles, workflows } = await system.client.status()
    expect(profiles).toEqual(['bare', 'analyst'])
    expect(workflows).toEqual(
      expect.arrayContaining(['SequentialWorkflow', 'AgentTeam', 'workflow:summarize-text']),
    )
  })
})

it('a daemon whose default profile is not there does not start, and says why', async () => {
  await using own = await testSystem(server, { profile: 'nobody' })
  await expect(own.daemon()).rejects.toThrow(/The default profile \\?"nobody\\?" is not loaded/)
})
