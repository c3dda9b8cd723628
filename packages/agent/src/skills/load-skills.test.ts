import { execFileSync } from 'node:child_process'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { temporaryFolders } from '../../test/skill-kit.ts'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { findGuidance } from './find-guidance.ts'
import { loadSkills, parseSkill } from './load-skills.ts'
import { skillPlaces } from './skill-places.ts'
import type { Skill } from './skill.ts'

const temporary = temporaryFolders()
/** A folder of skills: the text of each SKILL.md under the folder's name. */
const folderOf = (skills: Record<string, string | Uint8Array>): Promise<string> =>
  temporary(
    Object.fromEntries(Object.entries(skills).map(([name, content]) => [`${name}/SKILL.md`, content])),
  )

function parse(
  content: string | Uint8Array,
  folderName = 'my-skill',
): { skill: Skill | null; told: Pick<LoadDiagnostic, 'severity' | 'message'>[] } {
  const told: Pick<LoadDiagnostic, 'severity' | 'message'>[] = []
  const skill = parseSkill(
    { bytes: Buffer.from(content), folder: `/skills/${folderName}`, folderName },
    (severity, message) => void told.push({ severity, message }),
  )
  return { skill, told }
}

const good = '---\nname: my-skill\ndescription: Does it.\n---\n# Body\n'

describe('a SKILL.md (D-43)', () => {
  it('that is in order loads without a word', () => {
    const { skill, told } = parse(good)
    expect(told).toEqual([])
    expect(skill).toMatchObject({
      name: 'my-skill',
      description: 'Does it.',
      body: '# Body\n',
      folder: '/skills/my-skill',
      guidance: null,
    })
  })

  it('is known by the SHA-256 of its bytes', () => {
    expect(parse(good).skill?.sha256).toBe(parse(good).skill?.sha256)
    expect(parse(`\uFEFF${good}`).skill?.sha256).not.toBe(parse(good).skill?.sha256)
  })

  test.each<[string, string, Partial<Skill>]>([
    ['CRLF', '---\r\nname: my-skill\r\ndescription: Does it.\r\n---\r\n# Body\r\n', { body: '# Body\n' }],
    ['a BOM', `\uFEFF${good}`, { name: 'my-skill', body: '# Body\n' }],
    ['spaces after the marks', '---  \nname: my-skill\ndescription: Does it.\n---\t\nbody', { body: 'body' }],
    [
      '"---" inside a value',
      '---\nname: my-skill\ndescription: a --- b\n---\nbody',
      { description: 'a --- b', body: 'body' },
    ],
    ['a rule in the body', '---\nname: my-skill\ndescription: d\n---\na\n---\nb', { body: 'a\n---\nb' }],
    ['no body', '---\nname: my-skill\ndescription: d\n---', { body: '' }],
    ['no name', '---\ndescription: d\n---\nbody', { name: 'my-skill' }],
    [
      'unknown fields',
      '---\nname: my-skill\ndescription: d\nversion: 3\nx: {y: [1]}\n---\n',
      { name: 'my-skill' },
    ],
    [
      'a folded description',
      '---\nname: my-skill\ndescription: >\n  one\n  two\n---\n',
      { description: 'one two' },
    ],
    [
      'allowed-tools as a text',
      '---\nname: my-skill\ndescription: d\nallowed-tools: read_file list_files\n---\n',
      { name: 'my-skill' },
    ],
    [
      'allowed-tools as a list',
      '---\nname: my-skill\ndescription: d\nallowed-tools: [read_file]\n---\n',
      { name: 'my-skill' },
    ],
    [
      'another script',
      '---\nname: my-skill\ndescription: 生成报告\n---\n正文',
      { description: '生成报告', body: '正文' },
    ],
  ])('with %s loads without a word', (_, content, expected) => {
    const { skill, told } = parse(content)
    expect(told).toEqual([])
    expect(skill).toMatchObject(expected)
  })

  test.each<[string, string, string]>([
    ['no front matter', '# Body only', 'front matter'],
    ['nothing at all', '', 'front matter'],
    ['front matter that is not closed', '---\nname: my-skill\ndescription: d\n', 'front matter'],
    ['front matter closed inside a line', '---\nname: my-skill\ndescription: d --- # Body', 'front matter'],
    ['front matter that is not YAML', '---\nname: [\ndescription: d\n---\n', 'cannot be read'],
    ['front matter that is a list', '---\n- a\n---\n', 'cannot be read'],
    ['an empty front matter', '---\n---\nbody', ''],
    ['no description', '---\nname: my-skill\n---\n', 'no description'],
    ['an empty description', '---\nname: my-skill\ndescription: "  "\n---\n', 'no description'],
    ['a description that is no text', '---\nname: my-skill\ndescription: [a]\n---\n', 'cannot be read'],
    [
      'an alias bomb',
      `---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\ndescription: d\n---\n`,
      'cannot be read',
    ],
    ['more than a mebibyte', `${good}${'x'.repeat(1024 * 1024)}`, 'bytes'],
  ])('with %s is left out, with one reason', (_, content, words) => {
    const { skill, told } = parse(content)
    expect(skill).toBeNull()
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ severity: 'error', message: expect.stringContaining(words) as string })
  })

  it('whose name is of another script, as its folder, loads without a warning', () => {
    const told: string[] = []
    const bytes = Buffer.from('---\nname: 报告\ndescription: d\n---\n')
    expect(
      parseSkill({ bytes, folder: '/s/报告', folderName: '报告' }, (_, message) => void told.push(message))
        ?.name,
    ).toBe('报告')
    expect(told).toEqual([])
  })

  test.each<[string, string, string]>([
    ['differs from its folder', 'other-name', 'folder'],
    ['is longer than 64', 'a'.repeat(65), 'does not follow the standard'],
    ['has odd characters', 'My_Skill!', 'does not follow the standard'],
    ['is of another script, and differs from its folder', '报告', 'differs from its folder'],
  ])('whose name %s warns and loads', (_, name, words) => {
    const { skill, told } = parse(`---\nname: ${JSON.stringify(name)}\ndescription: d\n---\n`)
    expect(skill?.name).toBe(name)
    expect(told.map((each) => each.severity)).not.toContain('error')
    expect(told.map((each) => each.message).join('\n')).toContain(words)
  })
})

describe('its fields', () => {
  const withField = (lines: string): string => `---\nname: my-skill\ndescription: d\n${lines}\n---\nbody`

  test.each<[string, Partial<Skill>]>([
    ['license: Apache-2.0\ncompatibility: Needs git', { license: 'Apache-2.0', compatibility: 'Needs git' }],
    ['license:\ncompatibility: ~', { license: null, compatibility: null }],
    ['allowed-tools: Read Write', { allowedTools: ['Read', 'Write'] }],
    ['allowed-tools: Read, Write,List', { allowedTools: ['Read', 'Write', 'List'] }],
    ['allowed-tools: [Read, " Write "]', { allowedTools: ['Read', 'Write'] }],
    [
      'allowed-tools: Bash(git add:*) Bash(jq, yq) Read',
      { allowedTools: ['Bash(git add:*)', 'Bash(jq, yq)', 'Read'] },
    ],
    ['allowed-tools: ""', { allowedTools: [] }],
    ['allowed-tools:', { allowedTools: null }],
    ['disable-model-invocation: true', { modelInvocable: false }],
    ['disable-model-invocation: false', { modelInvocable: true }],
    ['disable-model-invocation:', { modelInvocable: true }],
    ['metadata: {a: {b: [1]}}', { modelInvocable: true, allowedTools: null }],
  ])('%j is read without a word', (lines, expected) => {
    const { skill, told } = parse(withField(lines))
    expect(told).toEqual([])
    expect(skill).toMatchObject(expected)
  })

  test.each<[string, Partial<Skill>, string]>([
    [
      'allowed-tools: {a: 1}',
      { allowedTools: null },
      'allowed-tools is left out: it must be a text or a list of texts, not a group of fields',
    ],
    ['allowed-tools: [1]', { allowedTools: null }, 'allowed-tools is left out'],
    ['license: [MIT]', { license: null }, 'license is left out: it must be a text, not a list'],
    ['compatibility: 2', { compatibility: null }, 'not a number (put it in quotes)'],
    ['disable-model-invocation: yes', { modelInvocable: false }, 'reads it as true'],
    ['disable-model-invocation: "no"', { modelInvocable: true }, 'reads it as false'],
    ['disable-model-invocation: [false]', { modelInvocable: false }, 'reads it as true'],
  ])('%j warns and loads', (lines, expected, words) => {
    const { skill, told } = parse(withField(lines))
    expect(skill).toMatchObject(expected)
    expect(told).toEqual([{ severity: 'warning', message: expect.stringContaining(words) as string }])
  })

  test.each([
    ['name: 123', 'Its name is left out: it must be a text, not a number'],
    ['name: [a]', 'Its name is left out: it must be a text, not a list'],
    ['name: "a\\nb"', 'Its name is not a line'],
    [`name: ${'x'.repeat(300)}`, 'Its name is not a line'],
  ])('%j is called after its folder, with a warning', (line, words) => {
    const { skill, told } = parse(`---\n${line}\ndescription: d\n---\nbody`)
    expect(skill?.name).toBe('my-skill')
    expect(told).toEqual([{ severity: 'warning', message: expect.stringContaining(words) as string }])
  })

  it('that are those of every object are not taken from it', () => {
    const { skill } = parse('---\ndescription: d\n__proto__: {license: MIT}\n---\n')
    expect(skill).toMatchObject({ name: 'my-skill', license: null })
  })
})

describe('the guidance block (D-44)', () => {
  const block = (agents: unknown = [{ name: 'a', instruction: 'i' }], more: object = {}): string =>
    `\`\`\`beaver-team-workflow\n${JSON.stringify({ version: 1, preferred_tool: 'SequentialWorkflow', agents, ...more })}\n\`\`\``
  function find(body: string): { tool: string | null; warnings: string[] } {
    const warnings: string[] = []
    return {
      tool: findGuidance(body, (_, message) => void warnings.push(message))?.preferred_tool ?? null,
      warnings,
    }
  }

  test.each<[string, string]>([
    ['alone', block()],
    ['between text', `Some text.\n\n${block()}\n\nMore text.`],
    ['with tildes', block().replaceAll('```', '~~~')],
    ['with a long fence', block().replaceAll('```', '`````')],
    [
      'indented by three',
      block()
        .split('\n')
        .map((line) => `   ${line}`)
        .join('\n'),
    ],
    ['behind another block', `\`\`\`json\n{"x": 1}\n\`\`\`\n${block()}`],
    ['behind a broken one', `\`\`\`beaver-team-workflow\n{oops\n\`\`\`\n${block()}`],
    [
      'behind one for a tool that is not there',
      `${block(undefined, { preferred_tool: 'NoSuch' })}\n${block()}`,
    ],
    ['with fields nobody knows', block(undefined, { x: 1 })],
  ])('%s is found', (_, body) => expect(find(body).tool).toBe('SequentialWorkflow'))

  test('keeps what else the preferred tool takes', () => {
    const edges = [['a', 'b']]
    expect(
      findGuidance(block(undefined, { preferred_tool: 'GraphWorkflow', edges, output_agent: 'b' }), () => {}),
    ).toMatchObject({ edges, output_agent: 'b' })
  })

  test.each<[string, string]>([
    ['inside a longer fence', `\`\`\`\`md\n${block()}\n\`\`\`\``],
    ['inside a fence of tildes', `~~~\n${block()}\n~~~`],
    ['of another language', block().replace('beaver-team-workflow', 'json')],
    ['of a longer language name', block().replace('beaver-team-workflow', 'beaver-team-workflow-2')],
    ['in a line', `Write \`\`\`beaver-team-workflow {}\`\`\` like this.`],
    [
      'that is indented as code',
      block()
        .split('\n')
        .map((line) => `    ${line}`)
        .join('\n'),
    ],
  ])('%s is not found, and nothing is said', (_, body) =>
    expect(find(body)).toEqual({ tool: null, warnings: [] }),
  )

  test.each<[string, string, string]>([
    ['no JSON', '```beaver-team-workflow\n{oops\n```', 'not JSON'],
    ['another version', block().replace('"version":1', '"version":2'), 'version'],
    ['no agents', block([]), 'agents'],
    ['an agent without a name', block([{ instruction: 'i' }]), 'name'],
    [
      'evidence that cannot be checked',
      block([
        { name: 'a', instruction: 'i', validation_rules: [{ kind: 'output_matches', pattern: '(?=a)' }] },
      ]),
      'no lookaround',
    ],
    [
      'evidence of an unknown kind',
      block([{ name: 'a', instruction: 'i', required_evidence: [{ kind: 'magic' }] }]),
      'required_evidence',
    ],
    [
      'a tool that is no workflow tool',
      block(undefined, { preferred_tool: 'read_file' }),
      'no workflow tool "read_file"',
    ],
    ['no end', block().slice(0, -4), 'never closed'],
    [
      'no preferred tool',
      '```beaver-team-workflow\n{"version":1,"agents":[{"name":"a","instruction":"i"}]}\n```',
      'preferred_tool',
    ],
  ])('with %s is left out with a warning; the skill still loads', (_, body, words) => {
    const { skill, told } = parse(`---\nname: my-skill\ndescription: d\n---\n${body}`)
    expect(skill).toMatchObject({ guidance: null, body })
    expect(told).toMatchObject([{ severity: 'warning', message: expect.stringContaining(words) as string }])
  })

  it('of two valid ones the first is taken', () => {
    expect(find(`${block().replace('SequentialWorkflow', 'GraphWorkflow')}\n${block()}`)).toEqual({
      tool: 'GraphWorkflow',
      warnings: [],
    })
  })

  it('stays part of the body', () => {
    expect(parse(`${good}${block()}\n`).skill?.body).toContain('beaver-team-workflow')
  })
})

describe('folders', () => {
  it('are scanned one level, in the order of names, and a folder that is not there holds none', async () => {
    const folder = await folderOf({
      'b-skill': good.replace('my-skill', 'b-skill'),
      'a-skill': good.replace('my-skill', 'a-skill'),
      'deep/er': good,
    })
    await writeFile(join(folder, 'SKILL.md'), good)
    await mkdir(join(folder, 'empty'))
    const { skills, diagnostics } = await loadSkills([folder, join(folder, 'nowhere')])
    expect(skills.map((skill) => skill.name)).toEqual(['a-skill', 'b-skill'])
    expect(diagnostics).toEqual([])
  })

  it('the first one wins a collision, with a diagnostic that names the winner', async () => {
    const [own, builtin] = [
      await folderOf({ 'my-skill': good.replace('Does it.', 'mine') }),
      await folderOf({ 'my-skill': good }),
    ]
    const { skills, diagnostics } = await loadSkills([own, builtin])
    expect(skills.map((skill) => skill.description)).toEqual(['mine'])
    expect(diagnostics).toMatchObject([
      {
        file: join(builtin, 'my-skill/SKILL.md'),
        severity: 'warning',
        message: expect.stringContaining(own) as string,
      },
    ])
  })

  it('one broken skill keeps no other from loading', async () => {
    const folder = await folderOf({
      broken: 'no front matter',
      'my-skill': good,
      binary: Uint8Array.from([0xff, 0xfe, 0x00]),
    })
    const { skills, diagnostics } = await loadSkills([folder])
    expect(skills.map((skill) => skill.name)).toEqual(['my-skill'])
    expect(diagnostics.map((each) => [each.severity, each.file])).toEqual([
      ['error', join(folder, 'binary/SKILL.md')],
      ['error', join(folder, 'broken/SKILL.md')],
    ])
  })

  it('a folder that is a link is followed, wherever it leads; a link that leads nowhere holds none', async () => {
    const [folder, elsewhere] = [await folderOf({}), await folderOf({ 'my-skill': good })]
    await symlink(join(elsewhere, 'my-skill'), join(folder, 'my-skill'))
    await symlink(join(elsewhere, 'gone'), join(folder, 'dangling'))
    const { skills, diagnostics } = await loadSkills([folder])
    expect([skills.map((skill) => skill.name), diagnostics]).toEqual([['my-skill'], []])
  })

  it('a SKILL.md that links to a file of its own folder is read, through a linked folder too', async () => {
    const [folder, elsewhere] = [await folderOf({}), await temporary({ 'my-skill/docs/main.md': good })]
    await symlink('docs/main.md', join(elsewhere, 'my-skill/SKILL.md'))
    await symlink(join(elsewhere, 'my-skill'), join(folder, 'my-skill'))
    expect(await loadSkills([folder])).toMatchObject({ skills: [{ body: '# Body\n' }], diagnostics: [] })
  })

  test.each<[string, (file: string) => Promise<void> | void, string]>([
    [
      'a link out of its folder',
      (file) => symlink('../other/SKILL.md', file),
      'a link that leads out of the skill folder',
    ],
    [
      'an absolute link out of its folder',
      (file) => symlink('/etc/passwd', file),
      'a link that leads out of the skill folder',
    ],
    ['a link to a device', (file) => symlink('/dev/zero', file), 'a link that leads out of the skill folder'],
    ['a link that leads nowhere', (file) => symlink('absent.md', file), 'a link that leads nowhere'],
    [
      'written in other letters',
      (file) => writeFile(file.replace('SKILL.md', 'skill.md'), good),
      'The file has the name "skill.md". Name it SKILL.md.',
    ],
    ['a link to itself', (file) => symlink('SKILL.md', file), 'a link that leads nowhere'],
    ['a folder', (file) => mkdir(file).then(() => {}), 'not a regular file'],
    ['a named pipe', (file) => void execFileSync('mkfifo', [file]), 'not a regular file'],
    [
      'five gigabytes',
      (file) => writeFile(file, good).then(() => truncate(file, 5 * 1024 ** 3)),
      '5368709120 bytes. Beaver reads at most 1048576',
    ],
  ])('a SKILL.md that is %s is left out at once, with one reason', async (_, make, words) => {
    const folder = await temporary({
      'my-skill/other.md': good,
      'other/SKILL.md': good.replace('my-skill', 'other'),
    })
    await make(join(folder, 'my-skill/SKILL.md'))
    const { skills, diagnostics } = await loadSkills([folder])
    expect(skills.map((skill) => skill.name)).toEqual(['other'])
    expect(diagnostics).toEqual([
      {
        file: join(folder, 'my-skill/SKILL.md'),
        severity: 'error',
        message: expect.stringContaining(words) as string,
      },
    ])
  })

  it('that is no folder is told', async () => {
    const folder = await temporary({ skills: 'a file' })
    const { skills, diagnostics } = await loadSkills([join(folder, 'skills')])
    expect([skills, diagnostics]).toEqual([
      [],
      [
        {
          file: join(folder, 'skills'),
          severity: 'error',
          message: 'The folder of skills cannot be read (ENOTDIR).',
        },
      ],
    ])
  })
})

describe('the places', () => {
  it('are the configured ones, the workspace, the built-in ones, each once', async () => {
    const places = skillPlaces({ configured: ['/own', '/more', '/own'], workspace: '/project' })
    expect(places.map(({ source, folder }) => [source, folder])).toEqual([
      ['configured', '/own'],
      ['configured', '/more'],
      ['workspace', '/project/skills'],
      ['built-in', expect.stringMatching(/skills$/)],
    ])
    const builtin = places[3]?.folder as string
    expect((await loadSkills([builtin])).skills.map((skill) => skill.name)).toContain('folder-report')
    expect(skillPlaces({ configured: [], workspace: join(builtin, '..') })).toEqual([
      { source: 'built-in', folder: builtin },
    ])
  })
})
