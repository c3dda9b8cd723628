// The real command, where it needs no system: the tools of the configuration, the schema of one, plans of
// definition files.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { cliEntry, cliEnvironment, type CommandHost, type Ran } from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'

/** The golden example (CT-13), with the node it needs to run. */
const summarizeText = {
  description: '对提供的长文本进行摘要。当需要理解大量文本的核心内容时使用。',
  interfaceInputs: {
    text_to_summarize: {
      description: '需要进行摘要处理的原始长文本内容。',
      dataFlowType: 'STRING',
      required: true,
    },
    summary_length: {
      description: '期望的摘要长度。',
      dataFlowType: 'STRING',
      required: false,
      matchCategories: ['ComboOption'],
      config: { default: '中等', suggestions: [{ value: '简短' }, { value: '中等' }, { value: '详细' }] },
    },
  },
  interfaceOutputs: { summary_result: { description: '生成的摘要文本。', dataFlowType: 'STRING' } },
  nodes: [
    {
      id: 'summary_result',
      kind: 'agent',
      instruction: '{{ inputs.summary_length }}: {{ inputs.text_to_summarize }}',
    },
  ],
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-tools-'))
  mkdirSync(join(folder, 'workflows'))
  const write = (path: string, content: unknown): void =>
    writeFileSync(join(folder, path), JSON.stringify(content))
  write('workflows/summarize_text.json', summarizeText)
  write('workflows/broken.json', { ...summarizeText, nodes: [] })
  write('profile.json', {
    name: 'analyst',
    tool_ids_inventory: ['workflow:summarize_text', 'system:GroupChat', 'system:read_file', 'kb:Query'],
  })
  write('beaver.config.json', { workflows: ['workflows'], profiles: ['profile.json'] })
  write('sound.config.json', { workflows: [] })
  write('rules.config.json', {
    permissions: {
      rules: [
        { tool: 'write_file', pattern: 'secret/', decision: 'deny' },
        { tool: 'raed_file', decision: 'deny' },
      ],
    },
  })
  write('args.json', { text_to_summarize: 'long' })
  write('list.json', [])
})
afterAll(() => rmSync(folder, { recursive: true }))

let host: CommandHost
beforeAll(async () => void (host = await keptCommands()))
const beaver = (...args: readonly string[]): Promise<Ran> =>
  host.run(args, { cwd: folder, env: { HOME: folder, BEAVER_HOME: join(folder, 'home') } })

const rowsOf = (out: string): { id: string; kind: string; description: string }[] =>
  (JSON.parse(out) as { tools: { id: string; kind: string; description: string }[] }).tools

describe('beaver tools list', () => {
  it('tells every tool by its id and kind in one object, and what is wrong on stderr', async () => {
    const { exit, out, err } = await beaver('tools', 'list', '--json')
    expect(exit).toBe(0)
    const kinds = new Map(rowsOf(out).map(({ id, kind }) => [id, kind]))
    expect([...kinds.keys()]).toEqual(
      expect.arrayContaining([
        'system:read_file',
        'system:GraphWorkflow',
        'system:GroupChat',
        'workflow:summarize_text',
      ]),
    )
    expect([
      kinds.get('system:read_file'),
      kinds.get('system:GroupChat'),
      kinds.get('workflow:summarize_text'),
    ]).toEqual(['tool', 'team_workflow', 'workflow'])
    expect([...kinds.keys()].filter((id) => /AgentTeam|broken/.test(id))).toEqual([])
    expect(err).toMatch(/error: .*broken\.json: nodes/)
    expect(err).toMatch(/warning: .*profile\.json: tool_ids_inventory\.3: .*"kb:Query"/)
  })

  it('prints a table for people', async () => {
    const { exit, out } = await beaver('tools', 'list')
    expect(exit).toBe(0)
    expect(out).toMatch(/^ID +KIND +DOES +DESCRIPTION\n/)
    expect(out).toMatch(/^system:web_fetch +tool +reads web \(fetch\) +Fetches a public web page/m)
    expect(out).toMatch(/^workflow:summarize_text +workflow +- +对提供的长文本/m)
  })

  it('of a profile tells what the profile brings', async () => {
    const { out } = await beaver('tools', 'list', '--profile', 'analyst', '--json')
    expect(rowsOf(out).map(({ id }) => id)).toEqual([
      'system:read_file',
      'system:GroupChat',
      'workflow:summarize_text',
    ])
  })

  it('says on stderr which permission rules never hold', async () => {
    const { exit, err } = await beaver('tools', 'list', '--config', 'rules.config.json')
    expect([exit, err.trimEnd().split('\n').length]).toEqual([0, 2])
    expect(err).toContain(
      'Permission rule 1 (deny write_file secret/) never holds: a path never ends with "/".',
    )
    expect(err).toContain('Permission rule 2 (deny raed_file) never holds: no tool has such a name.')
  })

  it('without configured folders says nothing on stderr', async () => {
    expect((await beaver('tools', 'list', '--config', 'sound.config.json')).err).toBe('')
  })
})

describe('beaver tools schema', () => {
  const schema = {
    name: 'workflow:summarize_text',
    description: '对提供的长文本进行摘要。当需要理解大量文本的核心内容时使用。',
    parameters: {
      type: 'object',
      properties: {
        text_to_summarize: { type: 'string', description: '需要进行摘要处理的原始长文本内容。' },
        summary_length: { type: 'string', description: '期望的摘要长度。', enum: ['简短', '中等', '详细'] },
      },
      required: ['text_to_summarize'],
    },
  }

  it('of a definition is exactly what CT-13 shows', async () => {
    const { exit, out } = await beaver('tools', 'schema', 'workflow:summarize_text')
    expect(exit).toBe(0)
    expect(JSON.parse(out)).toEqual(schema)
    const { out: line } = await beaver('tools', 'schema', 'workflow:summarize_text', '--json')
    expect(line.trimEnd()).not.toContain('\n')
    expect(JSON.parse(line)).toEqual(schema)
  })

  it('of a built-in tool has the name a model calls', async () => {
    expect(JSON.parse((await beaver('tools', 'schema', 'system:read_file')).out)).toMatchObject({
      name: 'read_file',
      parameters: { type: 'object' },
    })
  })
})

describe('wrong usage', () => {
  test.each<[string[], string]>([
    [['tools'], "missing required argument 'what'"],
    [['tools', 'show'], 'Allowed choices are list, schema'],
    [['tools', 'list', 'system:echo'], 'beaver tools schema system:echo'],
    [['tools', 'schema'], 'beaver tools list'],
    [['tools', 'schema', 'echo'], 'Did you mean "system:echo"?'],
    [['tools', 'schema', 'workflow:gone'], 'does not name a tool'],
    [['tools', 'schema', 'system:AgentTeam'], 'Submit it as a task'],
    [['tools', 'list', '--profile', 'Analyst'], 'loaded: analyst'],
    [['run'], 'The task is missing'],
    [['submit', '-f', 'args.json'], '--workflow'],
    [['submit', '-f', 'args.json', 'x'], '--workflow'],
    [
      ['run', '--workflow', 'workflow:summarize_text', '-f', 'args.json', 'a task'],
      'A task is for a root agent',
    ],
    [
      ['run', '--workflow', 'workflow:summarize_text', '--profile', 'analyst'],
      '--profile is for a root agent',
    ],
    [['run', '--workflow', 'workflow:summarize_text', '--skill', 'x'], '--skill is for a root agent'],
    [['run', '--workflow', 'workflow:summarize_text', '-f', 'gone.json'], 'gone.json cannot be read'],
    [['run', '--workflow', 'workflow:summarize_text', '-f', 'list.json'], 'must be one JSON object'],
    [['plan', 'workflow:gone', '-f', 'args.json'], 'There is no workflow "workflow:gone"'],
    [['plan', 'summarize_text', '-f', 'args.json'], 'Did you mean workflow:summarize_text?'],
    [['plan', 'workflow:broken', '-f', 'args.json'], 'broken.json: nodes'],
  ])('%j ends with 2 and says what is wrong', async (args, says) => {
    const { exit, err, out } = await beaver(...args)
    expect([exit, out]).toEqual([2, ''])
    expect(err.toLowerCase()).toContain(says.toLowerCase())
    expect(err).not.toMatch(/^\s*at /m)
  })

  it('is one line of JSON with --json, with its code', async () => {
    const { out } = await beaver('tools', 'schema', 'echo', '--json')
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: 'unknown_tool' } })
  })
})

it('beaver plan shows the graph of a definition file, and refuses arguments with code and path', async () => {
  const { exit, out } = await beaver('plan', 'workflow:summarize_text', '-f', 'args.json', '--json')
  expect(exit).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ ok: true, graph: { workflow: 'workflow:summarize_text' } })
  const refused = await beaver('plan', 'workflow:summarize_text', '-f', 'sound.config.json', '--json')
  expect(refused.exit).toBe(2)
  expect(JSON.parse(refused.out)).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } })
})

it('says in one line that its output cannot be written', () => {
  const full = openSync('/dev/full', 'w')
  try {
    const given = { cwd: folder, env: cliEnvironment(), encoding: 'utf8' as const }
    const { status, stderr } = spawnSync(process.execPath, [cliEntry, 'tools', 'list'], {
      ...given,
      stdio: ['ignore', full, 'pipe'],
    })
    expect([
      status,
      stderr.match(/^The output cannot be written: ENOSPC: .*$/m)?.length,
      /^\s*at /m.test(stderr),
    ]).toEqual([1, 1, false])
  } finally {
    closeSync(full)
  }
})
