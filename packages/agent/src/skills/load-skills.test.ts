import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, test } from 'vitest'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { findGuidance, loadSkills, parseSkill } from './load-skills.ts'
import type { Skill } from './skill.ts'

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

/** A folder of skills: the text of each SKILL.md under the folder's name. */
async function folderOf(skills: Record<string, string | Uint8Array>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-skills-'))
  folders.push(folder)
  for (const [name, content] of Object.entries(skills)) {
    await mkdir(join(folder, name), { recursive: true })
    await writeFile(join(folder, name, 'SKILL.md'), content)
  }
  return folder
}

function parse(content: string | Uint8Array, folderName = 'my-skill'): { skill: Skill | null; told: Pick<LoadDiagnostic, 'severity' | 'message'>[] } {
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
    expect(skill).toMatchObject({ name: 'my-skill', description: 'Does it.', body: '# Body\n', folder: '/skills/my-skill', guidance: null })
  })

  it('is known by the SHA-256 of its bytes', () => {
    expect(parse(good).skill?.sha256).toBe(parse(good).skill?.sha256)
    expect(parse(`\uFEFF${good}`).skill?.sha256).not.toBe(parse(good).skill?.sha256)
  })

  test.each<[string, string, Partial<Skill>]>([
    ['CRLF', '---\r\nname: my-skill\r\ndescription: Does it.\r\n---\r\n# Body\r\n', { body: '# Body\n' }],
    ['a BOM', `\uFEFF${good}`, { name: 'my-skill', body: '# Body\n' }],
    ['spaces after the marks', '---  \nname: my-skill\ndescription: Does it.\n---\t\nbody', { body: 'body' }],
    ['"---" inside a value', '---\nname: my-skill\ndescription: a --- b\n---\nbody', { description: 'a --- b', body: 'body' }],
    ['a rule in the body', '---\nname: my-skill\ndescription: d\n---\na\n---\nb', { body: 'a\n---\nb' }],
    ['no body', '---\nname: my-skill\ndescription: d\n---', { body: '' }],
    ['no name', '---\ndescription: d\n---\nbody', { name: 'my-skill' }],
    ['unknown fields', '---\nname: my-skill\ndescription: d\nversion: 3\nx: {y: [1]}\n---\n', { name: 'my-skill' }],
    ['a folded description', '---\nname: my-skill\ndescription: >\n  one\n  two\n---\n', { description: 'one two' }],
    ['allowed-tools as a text', '---\nname: my-skill\ndescription: d\nallowed-tools: read_file list_files\n---\n', { name: 'my-skill' }],
    ['allowed-tools as a list', '---\nname: my-skill\ndescription: d\nallowed-tools: [read_file]\n---\n', { name: 'my-skill' }],
    ['another script', '---\nname: my-skill\ndescription: 生成报告\n---\n正文', { description: '生成报告', body: '正文' }],
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

  test.each<[string, string, string]>([
    ['differs from its folder', 'other-name', 'folder'],
    ['is longer than 64', 'a'.repeat(65), 'form'],
    ['has odd characters', 'My_Skill!', 'form'],
    ['is of another script', '报告', 'form'],
  ])('whose name %s warns and loads', (_, name, words) => {
    const { skill, told } = parse(`---\nname: ${JSON.stringify(name)}\ndescription: d\n---\n`)
    expect(skill?.name).toBe(name)
    expect(told.map((each) => each.severity)).not.toContain('error')
    expect(told.map((each) => each.message).join('\n')).toContain(words)
  })
})

describe('the guidance block (D-44)', () => {
  const block = (agents: unknown = [{ name: 'a', instruction: 'i' }], more: object = {}): string =>
    `\`\`\`beaver-team-workflow\n${JSON.stringify({ version: 1, preferred_tool: 'SequentialWorkflow', agents, ...more })}\n\`\`\``
  function find(body: string): { tool: string | null; warnings: string[] } {
    const warnings: string[] = []
    return { tool: findGuidance(body, (_, message) => void warnings.push(message))?.preferred_tool ?? null, warnings }
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
    ['with fields nobody knows', block(undefined, { x: 1 })],
  ])('%s is found', (_, body) => expect(find(body).tool).toBe('SequentialWorkflow'))

  test('keeps what else the preferred tool takes', () => {
    const edges = [['a', 'b']]
    expect(findGuidance(block(undefined, { preferred_tool: 'GraphWorkflow', edges, output_agent: 'b' }), () => {})).toMatchObject({ edges, output_agent: 'b' })
  })

  test.each<[string, string]>([
    ['inside a longer fence', `\`\`\`\`md\n${block()}\n\`\`\`\``],
    ['inside a fence of tildes', `~~~\n${block()}\n~~~`],
    ['of another language', block().replace('beaver-team-workflow', 'json')],
    ['of a longer language name', block().replace('beaver-team-workflow', 'beaver-team-workflow-2')],
    ['that is never closed', block().slice(0, -4)],
    ['in a line', `Write \`\`\`beaver-team-workflow {}\`\`\` like this.`],
    [
      'that is indented as code',
      block()
        .split('\n')
        .map((line) => `    ${line}`)
        .join('\n'),
    ],
  ])('%s is not found, and nothing is said', (_, body) => expect(find(body)).toEqual({ tool: null, warnings: [] }))

  test.each<[string, string, string]>([
    ['no JSON', '```beaver-team-workflow\n{oops\n```', 'not JSON'],
    ['another version', block().replace('"version":1', '"version":2'), 'version'],
    ['no agents', block([]), 'agents'],
    ['an agent without a name', block([{ instruction: 'i' }]), 'name'],
    [
      'evidence that cannot be checked',
      block([{ name: 'a', instruction: 'i', validation_rules: [{ kind: 'output_matches', pattern: '(?=a)' }] }]),
      'no lookaround',
    ],
    ['evidence of an unknown kind', block([{ name: 'a', instruction: 'i', required_evidence: [{ kind: 'magic' }] }]), 'required_evidence'],
    ['no preferred tool', '```beaver-team-workflow\n{"version":1,"agents":[{"name":"a","instruction":"i"}]}\n```', 'preferred_tool'],
  ])('with %s is left out with a warning; the skill still loads', (_, body, words) => {
    const { skill, told } = parse(`---\nname: my-skill\ndescription: d\n---\n${body}`)
    expect(skill).toMatchObject({ guidance: null, body })
    expect(told).toMatchObject([{ severity: 'warning', message: expect.stringContaining(words) as string }])
  })

  it('of two valid ones the first is taken', () => {
    expect(find(`${block().replace('SequentialWorkflow', 'GraphWorkflow')}\n${block()}`)).toEqual({ tool: 'GraphWorkflow', warnings: [] })
  })

  it('stays part of the body', () => {
    expect(parse(`${good}${block()}\n`).skill?.body).toContain('beaver-team-workflow')
  })
})

describe('folders', () => {
  it('are scanned one level, in the order of names, and a folder that is not there holds none', async () => {
    const folder = await folderOf({ 'b-skill': good.replace('my-skill', 'b-skill'), 'a-skill': good.replace('my-skill', 'a-skill'), 'deep/er': good })
    await writeFile(join(folder, 'SKILL.md'), good)
    await mkdir(join(folder, 'empty'))
    const { skills, diagnostics } = await loadSkills([folder, join(folder, 'nowhere')])
    expect(skills.map((skill) => skill.name)).toEqual(['a-skill', 'b-skill'])
    expect(diagnostics).toEqual([])
  })

  it('the first one wins a collision, with a diagnostic that names the winner', async () => {
    const [own, builtin] = [await folderOf({ 'my-skill': good.replace('Does it.', 'mine') }), await folderOf({ 'my-skill': good })]
    const { skills, diagnostics } = await loadSkills([own, builtin])
    expect(skills.map((skill) => skill.description)).toEqual(['mine'])
    expect(diagnostics).toMatchObject([{ file: join(builtin, 'my-skill/SKILL.md'), severity: 'warning', message: expect.stringContaining(own) as string }])
  })

  it('one broken skill keeps no other from loading', async () => {
    const folder = await folderOf({ broken: 'no front matter', 'my-skill': good, binary: Uint8Array.from([0xff, 0xfe, 0x00]) })
    const { skills, diagnostics } = await loadSkills([folder])
    expect(skills.map((skill) => skill.name)).toEqual(['my-skill'])
    expect(diagnostics.map((each) => [each.severity, each.file])).toEqual([
      ['error', join(folder, 'binary/SKILL.md')],
      ['error', join(folder, 'broken/SKILL.md')],
    ])
  })

  it('a link to a skill is followed; a link that leads nowhere, and a SKILL.md that is a folder, hold none', async () => {
    const [folder, elsewhere] = [await folderOf({ 'a-folder/SKILL.md': good }), await folderOf({ 'my-skill': good })]
    await symlink(join(elsewhere, 'my-skill'), join(folder, 'my-skill'))
    await symlink(join(elsewhere, 'gone'), join(folder, 'dangling'))
    const { skills, diagnostics } = await loadSkills([folder])
    expect([skills.map((skill) => skill.name), diagnostics]).toEqual([['my-skill'], []])
  })
})
