import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findWorkflow } from '@beaver/workflows'
import { defaultBuiltinToolOptions } from './options.ts'
import { loadToolset, taskWorkflows, type ToolsetPlaces } from './load-toolset.ts'

let root = ''
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'beaver-toolset-'))
  await mkdir(join(root, 'workflows'))
  const definition = {
    description: 'Says hello.',
    interfaceInputs: {},
    interfaceOutputs: { out: { dataFlowType: 'STRING' } },
    nodes: [{ id: 'out', kind: 'template', template: 'hello' }],
  }
  await writeFile(join(root, 'workflows', 'hello.json'), JSON.stringify(definition))
  await writeFile(
    join(root, 'profile.json'),
    JSON.stringify({
      name: 'greeter',
      system_prompt: 'Greet.',
      tool_ids_inventory: ['workflow:hello', 'system:mine', 'nothing'],
    }),
  )
  await writeFile(join(root, 'broken.json'), '{')
  for (const [file, name] of [
    ['mine', 'mine'],
    ['encoded', 'workflow-_hello'],
    ['team', 'GraphWorkflow'],
    ['prefixed', 'mcp_local_team_workflow_mcp_GroupChat'],
  ])
    await writeFile(
      join(root, `${file}.mjs`),
      `export const tool = { name: '${name}', description: 'd', parameters: {}, idempotent: true, invoke: async () => '' }`,
    )
})
afterAll(() => rm(root, { recursive: true, force: true }))

const load = ({
  tools = [],
  profiles = [],
  workflows = ['workflows'],
  profileDefault = null,
  ...more
}: Partial<ToolsetPlaces>) => {
  const at = (paths: readonly string[]): string[] => paths.map((path) => join(root, path))
  return loadToolset({
    tools: at(tools),
    profiles: at(profiles),
    workflows: at(workflows),
    profileDefault,
    ...more,
  })
}

describe('a toolset', () => {
  it('holds built-in tools and own ones, definitions, profiles, and what is wrong with any of them', async () => {
    const toolset = await load({
      tools: ['mine.mjs'],
      profiles: ['profile.json', 'broken.json'],
      workflows: ['workflows', 'gone'],
      profileDefault: 'greeter',
    })
    expect(toolset.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['read_file', 'mine']))
    expect(toolset.definitions.map(({ name }) => name)).toEqual(['workflow:hello'])
    expect([...toolset.profiles.keys()]).toEqual(['greeter'])
    expect(toolset.diagnostics.map(({ file, severity }) => [file.slice(root.length + 1), severity])).toEqual([
      ['gone', 'error'],
      ['profile.json', 'warning'],
      ['broken.json', 'error'],
    ])
  })

  it('has the built-in tools that its options switch on', async () => {
    const options = {
      ...defaultBuiltinToolOptions,
      webSearch: { url: 'http://127.0.0.1:8888/', timeoutMs: 100 },
      runCommand: { ...defaultBuiltinToolOptions.runCommand, enabled: true },
    }
    const names = async (over: Partial<ToolsetPlaces>) => (await load(over)).tools.map(({ name }) => name)
    expect(await names({ builtin: options })).toEqual(expect.arrayContaining(['web_search', 'run_command']))
    expect(await names({})).not.toEqual(expect.arrayContaining(['web_search']))
    expect(await names({})).not.toEqual(expect.arrayContaining(['run_command']))
  })

  it('with two tools that a provider could not tell apart is refused, and names both (D-13)', async () => {
    const error = {
      code: 'invalid_configuration',
      message: expect.stringMatching(/"workflow-_hello".*"workflow:hello"/) as string,
    }
    await expect(load({ tools: ['encoded.mjs'] })).rejects.toMatchObject(error)
    await expect(load({ tools: ['encoded.mjs'], workflows: [] })).resolves.toBeDefined()
  })

  it.each(['team.mjs', 'prefixed.mjs'])(
    'leaves out a tool that is called like a workflow tool, names its file, and has the others: %s',
    async (file) => {
      const { tools, diagnostics } = await load({ tools: [file, 'mine.mjs'] })
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['mine', 'read_file']))
      expect(tools.filter(({ name }) => findWorkflow(name) !== null)).toEqual([])
      expect(diagnostics).toEqual([
        {
          file: join(root, file),
          severity: 'error',
          message: expect.stringMatching(/^The tool \w+ has the name of a workflow tool/),
        },
      ])
    },
  )

  it('gives a profile to a member of an AgentTeam that has its name', async () => {
    const { resolve } = taskWorkflows(await load({ profiles: ['profile.json'] }))
    const args = { message: 'm', members: ['greeter', 'stranger'] }
    expect(resolve('AgentTeam', args)).toMatchObject({
      ok: true,
      args: {
        members: [{ name: 'greeter', system_prompt: expect.any(String) as string }, { name: 'stranger' }],
      },
    })
  })

  it('whose default profile is not there is refused, with the names of those that are or with what is wrong', async () => {
    await expect(load({ profileDefault: 'nobody' })).rejects.toMatchObject({
      code: 'invalid_configuration',
      problems: [{ path: 'profile' }],
    })
    await expect(load({ profiles: ['profile.json'], profileDefault: 'nobody' })).rejects.toThrow(
      'loaded: greeter',
    )
    await expect(load({ profiles: ['broken.json'], profileDefault: 'nobody' })).rejects.toThrow('not JSON')
  })
})

it('members of an AgentTeam get what the profile they name holds, and keep what they say themselves (D-17)', async () => {
  const { find, resolve } = taskWorkflows(await load({ tools: ['mine.mjs'], profiles: ['profile.json'] }))
  const team = { message: 'm', strategy: 'sequential', members: [{ name: 'a', profile: 'greeter' }, 'b'] }
  const resolved = resolve('AgentTeam', team)
  expect(resolved).toMatchObject({
    ok: true,
    args: {
      members: [
        { name: 'a', system_prompt: 'Greet.', allowed_tool_names: ['workflow:hello', 'mine'] },
        { name: 'b' },
      ],
    },
  })
  expect(resolved.ok && find('AgentTeam')?.plan(resolved.args)).toMatchObject({ ok: true })
  expect(resolve('AgentTeam', { ...team, members: [{ name: 'a', profile: 'nobody' }] })).toMatchObject({
    ok: false,
    error: { path: 'members.0.profile' },
  })
  expect(resolve('SequentialWorkflow', team)).toEqual({ ok: true, args: team })
})

it('no id of a member’s profile is lost: what is known only later, and what a member never has, is judged where it runs (D-65)', async () => {
  await writeFile(
    join(root, 'later.json'),
    JSON.stringify({
      name: 'later',
      tool_ids_inventory: ['system:mcp_search', 'workflow:hello', 'system:read_file'],
    }),
  )
  const { resolve } = taskWorkflows(await load({ profiles: ['later.json'] }))
  const resolved = resolve('AgentTeam', { message: 'm', members: [{ name: 'a', profile: 'later' }] })
  expect(resolved).toMatchObject({
    args: { members: [{ allowed_tool_names: ['mcp_search', 'workflow:hello', 'read_file'] }] },
  })
})

it('a profile that lists a workflow whose file is broken is told so', async () => {
  await mkdir(join(root, 'bad'), { recursive: true })
  await writeFile(join(root, 'bad', 'report.json'), '{"nodes": ')
  await writeFile(
    join(root, 'lists.json'),
    JSON.stringify({ name: 'lists', tool_ids_inventory: ['workflow:report', 'workflow:gone'] }),
  )
  const { diagnostics } = await load({ profiles: ['lists.json'], workflows: ['bad'] })
  const told = diagnostics.filter(({ file }) => file.endsWith('lists.json')).map(({ message }) => message)
  expect(told).toEqual([
    expect.stringContaining(`names a workflow whose file is broken. ${join(root, 'bad', 'report.json')}: `),
    expect.stringContaining('"workflow:gone" does not name a tool'),
  ])
})

it('a task may be a workflow tool, AgentTeam or a definition, by the names that are listed', async () => {
  const { find, names } = taskWorkflows(await load({}))
  expect(names).toEqual(
    expect.arrayContaining(['SequentialWorkflow', 'GroupChat', 'AgentTeam', 'workflow:hello']),
  )
  expect(names.map((name) => find(name)?.name)).toEqual(names)
  expect([find('hello'), find('workflow:gone'), find('read_file')]).toEqual([null, null, null])
})
