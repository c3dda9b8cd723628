import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { requestContracts, type RequestOutput } from '@beaver/contracts'
import { silentLogger } from '@beaver/core'
import { loadConfig } from '@beaver/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addWorkflow, withList } from './add-workflow.ts'
import { type Agents, loadAgents } from './agents.ts'

const definition = {
  description: 'Sums up a text.',
  interfaceInputs: { text: { dataFlowType: 'STRING', required: true } },
  nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up: {{ inputs.text }}' }],
  interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
}

let folder: string
let agents: Agents | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-add-workflow-'))
  for (const name of ['sum_up', 'other']) write(`flows/${name}.json`, JSON.stringify(definition))
})
afterEach(() => {
  agents?.close()
  rmSync(folder, { recursive: true })
})

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

async function load(...profiles: string[]): Promise<Agents> {
  const config = loadConfig({ set: { workflows: [join(folder, 'flows')], profiles } }, {}, folder)
  return (agents = await loadAgents(config, null, silentLogger))
}

const add = (profile: string, workflow: string): Promise<RequestOutput<'profile.add_workflow'>> =>
  addWorkflow(
    { daemonId: 'd', agents: agents as Agents, external: [], logger: silentLogger },
    { profile, workflow },
    'ann',
  )

describe('a workflow that is added to a profile', () => {
  it('is in its file and in use, and all else of the file stays as it was', async () => {
    const text = `{\r\n\t"name": "clerk",\n  "tool_ids_inventory" : [ "system:read_file",\n    "system:gone"\n  ], "my_own": { "x": 1.0 }\n}\n\n`
    const file = write('clerk.json', text)
    chmodSync(file, 0o666)
    await load(file)
    const added = await add('clerk', 'workflow:sum_up')
    expect(requestContracts['profile.add_workflow'].output.parse(added)).toEqual(added)
    const tool_ids = ['system:read_file', 'system:gone', 'workflow:sum_up']
    const answer = { daemon: 'd', profile: 'clerk', workflow: 'workflow:sum_up', file, made_list: false }
    expect(added).toEqual({ ...answer, changed: true, tool_ids })
    const now = text.replace('"system:gone"', '"system:gone", "workflow:sum_up"')
    expect(readFileSync(file, 'utf8')).toBe(now)
    expect(statSync(file).mode & 0o777).toBe(0o666)
    expect(agents?.toolset.profiles.get('clerk')?.toolIds).toEqual(tool_ids)
    expect(await add('clerk', 'workflow:sum_up')).toEqual({ ...answer, changed: false, tool_ids })
    expect(readFileSync(file, 'utf8')).toBe(now)
  })

  it('makes a list of all that the profile had, if it had no list', async () => {
    const file = write('clerk.json', '{\r\n  "name": "clerk"\r\n}\r\n')
    await load(file)
    const team = { changed: false, tool_ids: null, made_list: false }
    expect(await add('clerk', 'GraphWorkflow')).toMatchObject(team)
    const before = agents?.toolset.tools.map(({ name }) => `system:${name}`) ?? []
    const { tool_ids, ...rest } = await add('clerk', 'workflow:sum_up')
    expect(rest).toMatchObject({ changed: true, made_list: true })
    expect(tool_ids).toEqual(
      expect.arrayContaining([
        ...before,
        'system:GraphWorkflow',
        'system:SequentialWorkflow',
        'workflow:sum_up',
      ]),
    )
    expect(tool_ids).not.toContain('workflow:other')
    expect(readFileSync(file, 'utf8')).toMatch(
      /^\{\r\n {2}"name": "clerk",\r\n {2}"tool_ids_inventory": \[\r\n {4}"/,
    )
  })

  it('of many requests at once is there once each', async () => {
    const file = write('clerk.json', '{"name":"clerk","tool_ids_inventory":[]}')
    await load(file)
    await Promise.all(
      ['workflow:sum_up', 'workflow:other', 'workflow:sum_up'].map((name) => add('clerk', name)),
    )
    expect(readFileSync(file, 'utf8')).toBe(
      '{"name":"clerk","tool_ids_inventory":["workflow:sum_up", "workflow:other"]}',
    )
  })
})

describe('a request is refused, and changes nothing,', () => {
  it.each([
    ['../../etc/passwd', 'workflow:sum_up', 'unknown_profile'],
    ['/etc/passwd', 'workflow:sum_up', 'unknown_profile'],
    ['__proto__', 'workflow:sum_up', 'unknown_profile'],
    ['clerk.json', 'workflow:sum_up', 'unknown_profile'],
    ['clerk', 'workflow:../clerk', 'unknown_workflow'],
    ['clerk', 'workflow:gone', 'unknown_workflow'],
    ['clerk', 'read_file', 'unknown_workflow'],
    ['clerk', 'system:read_file', 'unknown_workflow'],
    ['clerk', 'AgentTeam', 'unknown_workflow'],
  ])('for the profile %s and the workflow %s', async (profile, workflow, code) => {
    const text = '{"name":"clerk","tool_ids_inventory":[]}'
    const file = write('clerk.json', text)
    await load(file)
    await expect(add(profile, workflow)).rejects.toMatchObject({ code })
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('for a file that is a link, of a package, or of another profile now', async () => {
    const text = (name: string): string => `{"name":"${name}","tool_ids_inventory":[]}`
    const target = write('target.json', text('link'))
    const link = join(folder, 'link.json')
    symlinkSync(target, link)
    const inPackage = write('node_modules/a/packed.json', text('packed'))
    await load(link, inPackage)
    for (const [name, why] of [
      ['link', 'not a regular file'],
      ['packed', 'belongs to a package'],
    ] as const)
      await expect(add(name, 'workflow:sum_up')).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(why) as string,
      })
    expect([readFileSync(target, 'utf8'), readFileSync(inPackage, 'utf8')]).toEqual([
      text('link'),
      text('packed'),
    ])
  })

  it('for a file that is broken now', async () => {
    const file = write('clerk.json', '{"name":"clerk","tool_ids_inventory":[]}')
    await load(file)
    writeFileSync(file, '{')
    await expect(add('clerk', 'workflow:sum_up')).rejects.toMatchObject({ code: 'conflict' })
    expect(readFileSync(file, 'utf8')).toBe('{')
  })
})

it.each([
  ['{"output_schema":{"tool_ids_inventory":["x"]},"tool_ids_inventory":["a"]}', ['a', 'b']],
  ['{"name":"a ] \\" }","tool_ids_inventory":["] \\""]}', ['] "', 'b']],
  ['{"tool_ids_inventory":["a"],"tool_ids_inventory":["c"]}', ['c', 'b']],
  ['\uFEFF{"name":"x"}', ['b']],
  ['{ "tool_ids_inventory": [ ] }', ['b']],
])('the list of %s gets an id, and nothing else changes', (text, ids) => {
  const json = JSON.parse(text.replace(/^\uFEFF/, '')) as object
  const changed = withList(text, json, ids).replace(/^\uFEFF/, '')
  expect(JSON.parse(changed)).toEqual({ ...json, tool_ids_inventory: ids })
})
