// The real command, where it needs no system: the skills there are, one of them, the verdict on a folder.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { SkillCheck } from '@beaver/agent'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CommandHost, Ran } from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'

describe('beaver skills', () => {
  let folder: string
  const good =
    '---\nname: good\ndescription: Turns a transcript into minutes. Use it when the user gives one.\n---\nBody\n'
  const files: Record<string, string> = {
    'skills/good/SKILL.md': good,
    'skills/good/references/style.md': 'Style',
    'skills/bad/SKILL.md': '---\nname: Bad\ndescription: Helps.\n---\nBody\n',
    'skills/script/SKILL.md': '---js\nprocess.exit(7)\n---\n',
    'skills/no-skill/README.md': 'x',
    'beaver.config.json': '{}',
  }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'beaver-cli-skills-'))
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
    }
    await mkdir(join(folder, 'skills/linked'))
    await symlink('/etc/passwd', join(folder, 'skills/linked/SKILL.md'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  let host: CommandHost
  beforeAll(async () => void (host = await keptCommands()))
  const beaver = (...args: readonly string[]): Promise<Ran> =>
    host.run(['skills', ...args], { cwd: folder, env: { BEAVER_HOME: folder } })

  it('check ends with 0 when all are valid, 1 when one is not, 2 when there is no folder', async () => {
    const [ok, all, nowhere] = await Promise.all([
      beaver('check', 'skills/good/SKILL.md'),
      beaver('check', 'skills', '--json'),
      beaver('check', 'nowhere'),
    ])
    expect(ok).toEqual({ exit: 0, out: '✔ good: valid by the standard; Beaver loads it.\n', err: '' })
    const { skills: checks } = JSON.parse(all.out) as { skills: SkillCheck[] }
    expect([all.exit, checks.map(({ valid, loads, name }) => [valid, loads, name])]).toEqual([
      1,
      [
        [false, true, 'Bad'],
        [true, true, 'good'],
        [false, false, null],
        [false, false, null],
      ],
    ])
    expect([nowhere.exit, nowhere.err]).toEqual([2, 'There is no folder nowhere.\n'])
  })

  it('check plans the guidance with the tools that are here', async () => {
    const block = {
      version: 1,
      preferred_tool: 'MajorityVote',
      agents: [
        { name: 'a', instruction: 'i', required_evidence: [{ kind: 'tool_succeeded', tool: 'raed_file' }] },
      ],
    }
    const text = good
      .replace('name: good', 'name: guided')
      .replace('Body', `\`\`\`beaver-team-workflow\n${JSON.stringify(block)}\n\`\`\``)
    await mkdir(join(folder, 'more/guided'), { recursive: true })
    await writeFile(join(folder, 'more/guided/SKILL.md'), text)
    const { exit, out } = await beaver('check', 'more')
    expect([exit, out.replace(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining('✖ guided: valid by the standard, 1 problem in its guidance; Beaver loads it.'),
    ])
    expect(out.replace(/\s+/g, ' ')).toContain('Did you mean "read_file"?')
    expect(out.replace(/\s+/g, ' ')).toContain('do not have the workflow tool MajorityVote')
  })

  it('list shows what loads, and says on stderr what does not', async () => {
    const { exit, out, err } = await beaver('list', '--json')
    const { skills: found } = JSON.parse(out) as { skills: { name: string; source: string }[] }
    expect([exit, found.map(({ name, source }) => [name, source])]).toEqual([
      0,
      [
        ['Bad', 'workspace'],
        ['good', 'workspace'],
        ['folder-report', 'built-in'],
      ],
    ])
    expect(err).toContain('skills/linked/SKILL.md: It is a link that leads out of the skill folder.')
    expect(err).toContain('skills/script/SKILL.md: Its front matter begins with "---js".')
  })

  it('show prints one, and an unknown name ends with 2', async () => {
    const [shown, unknown] = await Promise.all([beaver('show', 'good', '--json'), beaver('show', 'nope')])
    expect([shown.exit, JSON.parse(shown.out)]).toEqual([
      0,
      expect.objectContaining({ name: 'good', body: 'Body\n', files: ['references/style.md'] }),
    ])
    expect([unknown.exit, unknown.err]).toEqual([
      2,
      'There is no skill "nope" (loaded: Bad, good, folder-report).\n',
    ])
  })
})
