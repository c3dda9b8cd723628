import type { Skill, SkillCheck } from '@beaver/agent'
import { describe, expect, it, test } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { checkLines, type ListedSkill, skillLines, skillsTable } from './skills.ts'

const style = styleOf(false)
const symbols = symbolsOf({ utf8: true, turning: false })

const listed = (
  name: string,
  over: Partial<Skill> = {},
  source: ListedSkill['source'] = 'workspace',
): ListedSkill => ({
  skill: {
    name,
    description: 'Turns a raw transcript into minutes. '.repeat(8),
    body: '# Minutes\n\nRead `references/style.md`.\n',
    sha256: 'ab'.repeat(32),
    folder: `/project/skills/${name}`,
    guidance: null,
    modelInvocable: true,
    allowedTools: null,
    license: null,
    compatibility: null,
    ...over,
  },
  source,
})
const guided: Skill['guidance'] = {
  version: 1,
  preferred_tool: 'HierarchicalWorkflow',
  agents: [{ name: 'a', instruction: 'x' }],
}
const tooWide = (lines: readonly string[], columns: number): string[] =>
  lines.flatMap((line) => line.split('\n')).filter((line) => textWidth(line) > columns)

describe('the table of skills', () => {
  const skills = [
    listed('meeting-notes'),
    listed('x'.repeat(40), { guidance: guided, modelInvocable: false }, 'configured'),
    listed('报告', { description: '生成报告。'.repeat(60) }),
  ]

  test.each([60, 80, 120, 200])('fits %i columns, with every name whole', (columns) => {
    const lines = skillsTable(skills, { columns, style })
    expect(tooWide(lines, columns)).toEqual([])
    for (const [i, { skill }] of skills.entries()) expect(lines[i + 1]).toContain(skill.name)
  })

  it('says where a skill is from, what it guides and who may choose it, where there is room', () => {
    const [head, ...rows] = skillsTable(
      [
        listed('a', { guidance: guided, description: 'one\ntwo\u001B[31m' }),
        listed('b', { modelInvocable: false }),
      ],
      {
        columns: 120,
        style,
      },
    )
    expect(head).toBe('NAME  FROM       GUIDES                CHOSEN BY  DESCRIPTION')
    expect(rows[0]).toBe('a     workspace  HierarchicalWorkflow  anyone     one two')
    expect(rows[1]).toMatch(/^b {5}workspace {2}- {21}name only /)
  })
})

describe('one skill', () => {
  test.each([60, 80, 120])('fits %i columns', (columns) => {
    const files = { files: Array.from({ length: 30 }, (_, i) => `references/part-${i}.md`), more: true }
    expect(
      tooWide(
        skillLines(
          listed('meeting-notes', {
            allowedTools: ['read_file'],
            compatibility: 'y'.repeat(300),
            guidance: guided,
          }),
          files,
          { columns, style },
        ),
        columns,
      ),
    ).toEqual([])
  })

  it('is shown with its fields, its files and its body', () => {
    const lines = skillLines(
      listed('a', { description: 'Does it.', license: 'MIT', modelInvocable: false }),
      { files: ['b.md'], more: false },
      { columns: 80, style },
    )
    expect(lines).toEqual([
      'a',
      'For        Does it.',
      'From       workspace, /project/skills/a',
      'Chosen by  its name only',
      'License    MIT',
      'Files      b.md',
      `SHA-256    ${'ab'.repeat(32)}`,
      '',
      '# Minutes\n\nRead `references/style.md`.',
    ])
  })
})

describe('a verdict', () => {
  const check = (over: Partial<SkillCheck> = {}): SkillCheck => ({
    folder: '/s/a',
    valid: true,
    problems: [],
    advice: [],
    loads: true,
    name: 'a',
    told: [],
    ...over,
  })

  it('is one line for a skill that is in order', () => {
    expect(checkLines([check()], { columns: 80, style, symbols })).toEqual([
      '✔ a: valid by the standard; Beaver loads it.',
    ])
  })

  it('names each rule, then what Beaver says besides, and nothing twice', () => {
    const problems = [{ rule: 'name', message: 'It is empty.' }]
    const advice = [{ rule: 'body', message: 'It is long.' }]
    const told: SkillCheck['told'] = ['It is empty.', 'It is odd.'].map((message) => ({
      severity: 'warning',
      message,
    }))
    expect(
      checkLines([check({ valid: false, problems, advice, told, name: 'b' })], {
        columns: 80,
        style,
        symbols,
      }),
    ).toEqual([
      '✖ a: 1 problem by the standard; Beaver loads it as b, with 2 warnings.',
      '    name           It is empty.',
      '    body           Advice: It is long.',
      '    Beaver         It is odd.',
    ])
  })

  test.each([60, 80, 120])('fits %i columns', (columns) => {
    const problems = [
      { rule: 'front-matter', message: `It says ${'word '.repeat(60)}` },
      { rule: 'name', message: `It is ${'x'.repeat(200)}.` },
    ]
    const lines = checkLines([check({ valid: false, problems, folder: `/s/${'long-'.repeat(20)}` })], {
      columns,
      style: styleOf(false),
      symbols,
    })
    expect(tooWide(lines, columns)).toEqual([])
  })
})
