import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ExternalTool } from '@beaver/agent'
import { type LoadedAnswer, requestContracts, type RequestInput, type RequestOutput } from '@beaver/contracts'
import { silentLogger } from '@beaver/core'
import { type Config, loadConfig } from '@beaver/platform'
import { teamPatterns } from '@beaver/team-patterns'
import { addWorkflows } from '@beaver/workflows'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agents, loadAgents } from './agents.ts'
import { loadedOf, planOf } from './loaded.ts'

const secrets = ['in-the-env', 'in-an-argument', 'in-a-header', 'in-the-url', 'in-a-program', 'in-oauth']
const definition = {
  description: 'Sums up a text.',
  interfaceInputs: { text: { dataFlowType: 'STRING', required: true, description: 'The text.' } },
  nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up: {{ inputs.text }}' }],
  interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
}

let folder: string
let config: Config
let agents: Agents
beforeAll(async () => {
  addWorkflows(teamPatterns)
  folder = mkdtempSync(join(tmpdir(), 'beaver-loaded-'))
  const write = (name: string, content: string | object): string => {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  const skill = (name: string, body: string): string =>
    write(`skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}`)
  skill('tides', 'Tides come twice a day.')
  skill('long', 'é"'.repeat(200_000))
  write('skills/broken/SKILL.md', 'No front matter.')
  write('flows/sum_up.json', definition)
  write('flows/half.json', '{')
  const profile = write('clerk.json', {
    ...{ name: 'clerk', description: 'Answers.', system_prompt: 'You answer in one sentence.' },
    tool_ids_inventory: ['system:read_file', 'workflow:sum_up', 'system:gone'],
  })
  config = loadConfig(
    {
      set: {
        ...{ skills: [join(folder, 'skills')], workflows: [join(folder, 'flows')], profiles: [profile] },
        profile: 'clerk',
        permissions: {
          rules: [
            { tool: 'read_*', pattern: 'private/*', decision: 'ask' },
            { tool: 'read_file', decision: 'allow' },
            { tool: '*', decision: 'deny' },
          ],
        },
        mcp: {
          local: {
            command: '/bin/in-a-program',
            args: ['--token', 'in-an-argument'],
            env: { TOKEN: 'in-the-env' },
          },
          remote: {
            url: 'https://tools.example/in-the-url',
            headers: { authorization: 'Bearer in-a-header' },
            oauth: { client_id: 'in-oauth' },
          },
        },
      },
    },
    {},
    folder,
  )
  agents = await loadAgents(config, null, silentLogger)
})
afterAll(() => {
  agents.close()
  rmSync(folder, { recursive: true })
})

const external: readonly ExternalTool[] = [
  {
    name: 'remote__look',
    description: 'Looks.',
    parameters: { type: 'object' },
    idempotent: true,
    permission: 'ask',
    describedBy: 'the MCP server remote',
  },
]
/** The answer as a client reads it: held to its contract in both directions. */
function loaded(input: RequestInput<'loaded'> = {}): LoadedAnswer {
  const { input: asked, output } = requestContracts.loaded
  const servers = [
    { name: 'remote', state: 'failed' as const, tools: 0, left_out: 0, reason: 'It does not answer.' },
  ]
  const texts = { 'workflow:sum_up': 'text' }
  const sent = loadedOf({ daemonId: 'd', agents, config, external, servers, texts }, asked.parse(input))
  const read = output.parse(JSON.parse(JSON.stringify(sent)))
  expect(read).toStrictEqual(sent)
  return read
}
function planned(workflow: string, args: RequestInput<'plan'>['arguments']): RequestOutput<'plan'> {
  const { input, output } = requestContracts.plan
  const sent = planOf({ agents, config }, input.parse({ workflow, arguments: args }))
  expect(output.parse(JSON.parse(JSON.stringify(sent)))).toStrictEqual(sent)
  return sent
}

test('has each kind, with what people need to choose one, and texts only by name', () => {
  const { entries } = loaded({ limit: 500 })
  const named = (kind: string, name: string) =>
    entries.find((each) => each.kind === kind && each.name === name)
  expect(named('skill', 'tides')).toMatchObject({
    ...{ description: 'About tides.', from: 'configured', folder: join(folder, 'skills', 'tides') },
    ...{ model_invocable: true, guides: null },
  })
  expect(named('profile', 'clerk')).toMatchObject({
    ...{ description: 'Answers.', is_default: true, file: join(folder, 'clerk.json') },
    tool_ids: ['system:read_file', 'workflow:sum_up', 'system:gone'],
  })
  expect(named('tool', 'read_file')).toMatchObject({
    ...{ id: 'system:read_file', effects: 'reads', permission: 'allow', described_by: null },
    profiles: ['clerk'],
    rules: [
      { decision: 'ask', tool: 'read_*', pattern: 'private/*' },
      { decision: 'allow', tool: 'read_file', pattern: null },
    ],
  })
  expect(named('tool', 'remote__look')).toMatchObject({
    ...{ permission: 'ask', described_by: 'the MCP server remote', rules: [{ decision: 'deny' }] },
  })
  expect(named('workflow', 'workflow:sum_up')).toMatchObject({
    ...{ file: join(folder, 'flows', 'sum_up.json'), text_input: 'text', profiles: ['clerk'] },
  })
  expect(named('workflow', 'AgentTeam')).toMatchObject({ file: null, is_tool: false })
  expect(named('mcp_server', 'local')).toMatchObject({ transport: 'program', state: null, tools: null })
  expect(named('mcp_server', 'remote')).toMatchObject({ transport: 'http', state: 'failed' })
  expect(JSON.stringify(entries)).not.toMatch(/twice a day|one sentence|"schema"/)
})

test('has the text and the schema of what is named', () => {
  expect(loaded({ name: 'tides' }).entries).toMatchObject([{ text: 'Tides come twice a day.' }])
  expect(loaded({ name: 'clerk' }).entries).toMatchObject([{ text: 'You answer in one sentence.' }])
  expect(loaded({ kind: 'tool', name: 'read_file' }).entries).toMatchObject([
    { schema: { type: 'object', required: ['path'] } },
  ])
  expect(loaded({ name: 'workflow:sum_up' }).entries).toMatchObject([
    { schema: { properties: { text: { description: 'The text.' } }, required: ['text'] } },
  ])
  expect(loaded({ name: 'SequentialWorkflow' }).entries).toMatchObject([
    { schema: { properties: { agents: { type: 'array' } } } },
  ])
  for (const input of [{ name: 'nothing' }, { kind: 'skill', name: 'clerk' }] as const)
    expect(() => loaded(input)).toThrow(expect.objectContaining({ code: 'not_found' }))
})

test('fits one message: a long text is cut, and pages leave out and repeat nothing', () => {
  const answer = loaded({ name: 'long' })
  expect(answer.entries).toMatchObject([{ cut: true }])
  const bytes = Buffer.byteLength(JSON.stringify(answer))
  expect([bytes > 400_000, bytes < 640 * 1024]).toEqual([true, true])
  const all = loaded({ limit: 500 }).entries.map(({ kind, name }) => `${kind} ${name}`)
  const paged: string[] = []
  for (let after: number | null = 0; after !== null;) {
    const page = loaded({ limit: 7, after })
    expect(page.total).toBe(all.length)
    paged.push(...page.entries.map(({ kind, name }) => `${kind} ${name}`))
    after = page.next
  }
  expect(paged).toEqual(all)
})

test('says what is wrong with the files, of everything or of what is named', () => {
  const files = (input: RequestInput<'loaded'>): string[] =>
    loaded(input).findings.map(({ file, severity }) => `${severity} ${file.slice(folder.length + 1)}`)
  expect(files({})).toEqual(
    expect.arrayContaining([
      'error flows/half.json',
      'warning clerk.json',
      expect.stringMatching(/skills\/broken/),
    ]),
  )
  expect(files({ name: 'clerk' })).toEqual(['warning clerk.json'])
  expect(files({ name: 'workflow:sum_up' })).toEqual([])
})

test('has nothing of an MCP server that may be a secret', () => {
  const answers = [loaded({ limit: 500 }), ...['local', 'remote'].map((name) => loaded({ name }))]
  const text = JSON.stringify(answers)
  expect(text).toContain('remote')
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
})

test('a plan has the graph, and a refusal says what to write instead', () => {
  expect(planned('workflow:sum_up', { text: 'x' })).toMatchObject({
    ok: true,
    graph: { workflow: 'workflow:sum_up', nodes: [{ node_id: 'summary' }, { kind: 'code' }] },
    ...{ grows_to_max: null, conditions: [], budget: { usd: 10 } },
  })
  expect(planned('AgentTeam', { strategy: 'broadcast', members: ['clerk'], message: 'x' })).toMatchObject({
    ok: true,
    graph: { nodes: [{ agent: { system_prompt: expect.stringContaining('one sentence') } }] },
  })
  expect(planned('workflow:sum_up', {})).toMatchObject({ ok: false, error: { path: 'text' } })
  expect(planned('Sequential', {})).toMatchObject({
    ok: false,
    error: { code: 'unknown_workflow', message: expect.stringContaining('Did you mean SequentialWorkflow?') },
  })
  expect(planned('workflow:half', {})).toMatchObject({
    ok: false,
    error: { code: 'unknown_workflow', message: expect.stringContaining('half.json') },
  })
  const check = { kind: 'tool_succeeded', tool: 'raed_file' }
  const agent = { name: 'a', instruction: 'i', required_evidence: [check] }
  expect(planned('SequentialWorkflow', { task: 't', agents: [agent] })).toMatchObject({
    ok: false,
    error: { code: 'impossible_evidence', path: 'agents.0.required_evidence.0.tool' },
  })
  const many = Array.from({ length: 500 }, (_, i) => ({ name: `a${i}`, instruction: 'x'.repeat(2_000) }))
  expect(() => planned('SequentialWorkflow', { task: 't', agents: many })).toThrow(
    expect.objectContaining({ code: 'too_large' }),
  )
})
