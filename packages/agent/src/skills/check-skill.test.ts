import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { knownTools } from '@beaver/workflows'
import { describe, expect, it, test } from 'vitest'
import { temporaryFolders } from '../../test/skill-kit.ts'
import { checkSkill, verdictOn } from './check-skill.ts'

const temporary = temporaryFolders()
const description = 'Turns a transcript into minutes. Use it when the user gives one.'
const verdict = (
  lines: string,
  { folder = 'my-skill', body = 'Body\n' } = {},
): ReturnType<typeof verdictOn> => verdictOn(Buffer.from(`---\n${lines}\n---\n${body}`), folder)
const rulesOf = (problems: readonly { rule: string }[]): string[] => problems.map(({ rule }) => rule)

describe('the strict verdict', () => {
  test.each([
    ['the least there may be', `name: my-skill\ndescription: ${description}`],
    [
      'every field of the standard',
      `name: my-skill\ndescription: ${description}\nlicense: Apache-2.0\ncompatibility: Needs git\nmetadata:\n  author: me\n  version: "1.0"\nallowed-tools: Bash(git add:*) Read`,
    ],
    ['1024 characters of another script', `name: my-skill\ndescription: ${'说'.repeat(1024)}`],
    [
      '500 of compatibility',
      `name: my-skill\ndescription: ${description}\ncompatibility: ${'x'.repeat(500)}`,
    ],
    ['a comma inside a tool', `name: my-skill\ndescription: ${description}\nallowed-tools: Bash(a, b) Read`],
  ])('of %s is valid, without advice', (_, lines) =>
    expect(verdict(lines)).toEqual({ problems: [], advice: [] }),
  )

  test.each(['报告', 'résumé-2', 'отчёт', 'レポート', '보고서', 'ß', 'x'.repeat(64)])(
    'of the name %s is valid',
    (name) => {
      expect(verdict(`name: ${name}\ndescription: ${description}`, { folder: name })).toEqual({
        problems: [],
        advice: [],
      })
      expect(
        verdict(`name: ${name.normalize('NFD')}\ndescription: ${description}`, { folder: name }),
      ).toEqual({ problems: [], advice: [] })
    },
  )

  test.each(['Отчёт', 'É', '𠀀'.repeat(65), 'a.b', 'a b', '🙂', '-a', 'a-', 'a--b'])(
    'of the name %s is not valid',
    (name) =>
      expect(
        rulesOf(
          verdict(`name: ${JSON.stringify(name)}\ndescription: ${description}`, { folder: name }).problems,
        ),
      ).toContain('name'),
  )

  test.each<[string, string, string[], string]>([
    ['no name', `description: ${description}`, ['name'], 'required'],
    ['a number as name', `name: 12\ndescription: ${description}`, ['name'], 'a number'],
    ['an empty name', `name: ""\ndescription: ${description}`, ['name'], 'empty'],
    ['a name with capitals', `name: My-Skill\ndescription: ${description}`, ['name', 'name'], 'lower-case'],
    [
      'a name with spaces',
      `name: my skill\ndescription: ${description}`,
      ['name', 'name'],
      'letters, digits',
    ],
    ['a name with "_"', `name: my_skill\ndescription: ${description}`, ['name', 'name'], 'letters, digits'],
    [
      'a name that begins with "-"',
      `name: -my-skill\ndescription: ${description}`,
      ['name', 'name'],
      'begin or end',
    ],
    [
      'a name that ends with "-"',
      `name: my-skill-\ndescription: ${description}`,
      ['name', 'name'],
      'begin or end',
    ],
    ['a name with "--"', `name: my--skill\ndescription: ${description}`, ['name', 'name'], '"--"'],
    ['another name than the folder', `name: other\ndescription: ${description}`, ['name'], 'folder'],
    [
      'a name that is too long',
      `name: ${'a'.repeat(65)}\ndescription: ${description}`,
      ['name', 'name'],
      '65 characters',
    ],
    ['no description', 'name: my-skill', ['description'], 'required'],
    ['an empty description', 'name: my-skill\ndescription: " "', ['description'], 'empty'],
    ['a description that is a list', 'name: my-skill\ndescription: [a]', ['description'], 'a list'],
    [
      '1025 characters of description',
      `name: my-skill\ndescription: ${'x'.repeat(1025)}`,
      ['description'],
      '1025',
    ],
    [
      '501 of compatibility',
      `name: my-skill\ndescription: ${description}\ncompatibility: ${'x'.repeat(501)}`,
      ['compatibility'],
      '501',
    ],
    [
      'an empty compatibility',
      `name: my-skill\ndescription: ${description}\ncompatibility: ""`,
      ['compatibility'],
      'Leave it out',
    ],
    [
      'a license that is a list',
      `name: my-skill\ndescription: ${description}\nlicense: [MIT]`,
      ['license'],
      'a list',
    ],
    [
      'tools as a list',
      `name: my-skill\ndescription: ${description}\nallowed-tools: [Read]`,
      ['allowed-tools'],
      'a list',
    ],
    [
      'tools with commas',
      `name: my-skill\ndescription: ${description}\nallowed-tools: Read, Write`,
      ['allowed-tools'],
      'commas',
    ],
    [
      'metadata that is a text',
      `name: my-skill\ndescription: ${description}\nmetadata: me`,
      ['metadata'],
      'map',
    ],
    [
      'metadata of metadata',
      `name: my-skill\ndescription: ${description}\nmetadata:\n  a: {b: c}`,
      ['metadata'],
      '"a"',
    ],
    [
      'fields of its own',
      `name: my-skill\ndescription: ${description}\nversion: 2\ndisable-model-invocation: true`,
      ['fields'],
      '"version", "disable-model-invocation"',
    ],
    [
      'what only lacks quotes',
      'name: my-skill\ndescription: Use when: the user asks for the minutes of a meeting.',
      ['front-matter'],
      'quotes',
    ],
    [
      'a field twice',
      `name: my-skill\nname: my-skill\ndescription: ${description}`,
      ['front-matter'],
      'twice',
    ],
  ])('on %s names the rule', (_, lines, rules, words) => {
    const { problems } = verdict(lines)
    expect(rulesOf(problems)).toEqual(rules)
    expect(problems.map(({ message }) => message).join('\n')).toContain(words)
  })

  test.each<[string, string, string, string]>([
    ['a short description', 'description: Helps.', 'Body', 'description'],
    [
      'a bare number in metadata',
      `description: ${description}\nmetadata:\n  version: 1.0`,
      'Body',
      'metadata',
    ],
    ['no instructions', `description: ${description}`, ' \n', 'body'],
    ['501 lines', `description: ${description}`, 'x\n'.repeat(501), 'body'],
    ['20,001 characters', `description: ${description}`, 'x'.repeat(20_001), 'body'],
  ])('on %s is advice: the skill is valid', (_, lines, body, rule) => {
    const { problems, advice } = verdict(`name: my-skill\n${lines}`, { body })
    expect(problems).toEqual([])
    expect(rulesOf(advice)).toEqual([rule])
  })
})

describe('guidance', () => {
  const block = (of: object): string =>
    `\`\`\`beaver-team-workflow\n${JSON.stringify({ version: 1, preferred_tool: 'SequentialWorkflow', ...of })}\n\`\`\`\n`
  const agents = (of: object = {}): object => ({ agents: [{ name: 'a', instruction: 'i', ...of }] })
  const around = {
    tools: knownTools(['read_file'], ['files']),
    teamWorkflows: ['SequentialWorkflow', 'ConcurrentWorkflow'],
    profile: 'default',
  }
  const of = (body: string) =>
    verdictOn(
      new TextEncoder().encode(`---\nname: my-skill\ndescription: ${description}\n---\n${body}`),
      'my-skill',
      around,
    )
  const succeeded = (tool: string): object => ({ required_evidence: [{ kind: 'tool_succeeded', tool }] })

  test.each<[string, string, string]>([
    ['a broken block', '```beaver-team-workflow\n{oops\n```\n', 'not JSON'],
    [
      'a workflow that is not there',
      block({ preferred_tool: 'NoSuch', ...agents() }),
      'no workflow tool \\"NoSuch\\"',
    ],
    ['a misspelt tool in a check', block(agents(succeeded('raed_file'))), 'Did you mean \\"read_file\\"?'],
    [
      'a check for a tool out of scope',
      block(agents({ allowed_tool_names: [], ...succeeded('read_file') })),
      'does not list',
    ],
    [
      'a misspelt tool in a check, beside a field that the model adds',
      block({ preferred_tool: 'AgentRearrange', ...agents(succeeded('raed_file')) }),
      'Did you mean \\"read_file\\"?',
    ],
    [
      'a check that cannot fail',
      block(agents({ required_evidence: [{ kind: 'output_length' }] })),
      'every output passes',
    ],
    [
      'two agents of one name',
      block({
        agents: [
          { name: 'a', instruction: 'i' },
          { name: 'a', instruction: 'j' },
        ],
      }),
      'already taken',
    ],
    [
      'a flow that names nobody',
      block({ preferred_tool: 'AgentRearrange', ...agents(), flow: 'a -> b' }),
      'flow',
    ],
  ])('with %s is a problem', (_, body, words) => {
    const { problems } = of(body)
    expect(rulesOf(problems)).toEqual(['guidance'])
    expect(JSON.stringify(problems)).toContain(words)
  })

  test.each<[string, string, string]>([
    [
      'prefers a workflow that the profile does not offer',
      block({
        preferred_tool: 'MajorityVote',
        agents: [
          { name: 'a', instruction: 'i' },
          { name: 'b', instruction: 'i' },
        ],
      }),
      'profile \\"default\\" do not have the workflow tool MajorityVote',
    ],
    [
      'limits an agent to a tool that is not there',
      block(agents({ allowed_tool_names: ['raed_file'] })),
      'raed_file',
    ],
    ['leaves the flow to the model', block({ preferred_tool: 'AgentRearrange', ...agents() }), 'flow'],
  ])('that %s is advice', (_, body, words) => {
    const { problems, advice } = of(body)
    expect(problems).toEqual([])
    expect(JSON.stringify(advice)).toContain(words)
  })

  it('with checks for tools that are there is neither', () => {
    expect(
      of(block(agents({ allowed_tool_names: ['read_file', 'files_write'], ...succeeded('files_write') }))),
    ).toEqual({ problems: [], advice: [] })
  })
})

describe('a folder', () => {
  it('with a good skill is valid, and loaded under its name', async () => {
    const folder = join(
      await temporary({ 'my-skill/SKILL.md': `---\nname: my-skill\ndescription: ${description}\n---\nBody` }),
      'my-skill',
    )
    expect(await checkSkill(folder)).toEqual({
      folder,
      valid: true,
      problems: [],
      advice: [],
      loads: true,
      name: 'my-skill',
      told: [],
    })
  })

  it('shows what the loader does beside the verdict: loaded with a warning, or left out', async () => {
    const base = await temporary({
      'a/SKILL.md': `---\nname: B\ndescription: ${description}\n---\nBody`,
      'c/SKILL.md': '---js\nprocess.exit(1)\n---\n',
    })
    expect(await checkSkill(join(base, 'a'))).toMatchObject({
      valid: false,
      loads: true,
      name: 'B',
      told: [{ severity: 'warning' }, { severity: 'warning' }],
    })
    expect(await checkSkill(join(base, 'c'))).toMatchObject({
      valid: false,
      loads: false,
      name: null,
      told: [{ severity: 'error' }],
    })
  })

  it('without a SKILL.md, or with one that leads out of it, is not valid', async () => {
    const base = await temporary({ secret: 'x' })
    await mkdir(join(base, 'linked'))
    await symlink('../secret', join(base, 'linked/SKILL.md'))
    expect(await checkSkill(base)).toMatchObject({
      valid: false,
      loads: false,
      problems: [{ rule: 'missing' }],
    })
    expect(await checkSkill(join(base, 'linked'))).toMatchObject({
      valid: false,
      loads: false,
      problems: [{ rule: 'file' }],
    })
    const lower = await temporary({ 'a/skill.md': `---\nname: a\ndescription: ${description}\n---\nBody` })
    expect(await checkSkill(join(lower, 'a'))).toMatchObject({
      ...{ valid: false, loads: false },
      problems: [{ rule: 'file', message: 'The file has the name "skill.md". Name it SKILL.md.' }],
    })
  })

  test.each([
    'skills/folder-report',
    'examples/match-analysis/skills/match-analysis',
    'examples/finance-comparison/skills/finance-comparison',
  ])('%s, which comes with Beaver, keeps every rule', async (path) => {
    expect(await checkSkill(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)))).toMatchObject({
      valid: true,
      loads: true,
      told: [],
    })
  })
})
