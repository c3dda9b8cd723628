// The real command: it lists and searches the knowledge bases of a configuration, without a system.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { CommandHost, Ran } from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-kb-'))
  mkdirSync(join(folder, 'docs/deep'), { recursive: true })
  mkdirSync(join(folder, 'forum'))
  writeFileSync(join(folder, 'docs/leave.md'), '# Leave\n\nThirty days of vacation a year.\n')
  writeFileSync(join(folder, 'docs/deep/evil.txt'), 'vacation \u001b[31mred\u0007 \u202egnp')
  writeFileSync(join(folder, 'docs/.env.txt'), 'vacation')
  symlinkSync('/etc/passwd', join(folder, 'docs/link.txt'))
  const handbook = { folder: 'docs', description: 'Rules of the house' }
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({
      knowledge_bases: {
        handbook,
        forum: { folder: 'forum', description: 'What people wrote', untrusted: true },
        gone: { folder: 'gone', description: 'Nothing' },
      },
    }),
  )
  writeFileSync(join(folder, 'empty.config.json'), '{}')
})
afterAll(() => rmSync(folder, { recursive: true }))

let host: CommandHost
beforeAll(async () => void (host = await keptCommands()))
const run = (...args: readonly string[]): Promise<Ran> =>
  host.run(args, { cwd: folder, env: { HOME: folder } })
const beaver = (...args: readonly string[]): Promise<Ran> => run('--trust', ...args)
const lines = ({ out }: Ran): unknown[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

describe('beaver kb list', () => {
  it('shows each knowledge base with its documents, and says which folder is missing', async () => {
    const listed = await beaver('kb', 'list')
    expect(listed.out).toMatch(/kb:handbook +2 .* own .*Rules of the house/)
    expect(listed.out).toMatch(/kb:forum +0 .* untrusted .*What people wrote/)
    expect(listed.err).toContain('It does not exist. Correct "knowledge_bases.gone.folder".')
    expect(listed.exit).toBe(0)
    expect(lines(await beaver('kb', 'list', '--json'))).toMatchObject([
      {
        knowledge_bases: [
          { id: 'kb:handbook', documents: 2, left_out: { secret: 1, link: 1 }, untrusted: false },
          { id: 'kb:forum', documents: 0, untrusted: true },
          { id: 'kb:gone', error: { code: 'not_found' } },
        ],
      },
    ])
  })

  it('says how to make one if there is none', async () => {
    expect((await beaver('--config', 'empty.config.json', 'kb', 'list')).out).toContain('"knowledge_bases"')
  })

  it('leaves out what nobody agreed to, and says so', async () => {
    const listed = await run('kb', 'list')
    expect(listed.out).toContain('There is no knowledge base.')
    expect(listed.err).toContain('Beaver leaves out knowledge_bases')
  })
})

describe('beaver kb search', () => {
  it('prints passages with their place, as one answer with --json', async () => {
    const found = await beaver('kb', 'search', 'handbook', 'thirty', 'days')
    expect(found.out).toMatch(/^leave\.md:1-3 +Leave\n {2}# Leave\n/)
    expect(
      lines(await beaver('kb', 'search', 'kb:handbook', 'thirty days', '--json', '--limit', '1')),
    ).toEqual([
      {
        passages: [
          {
            file: 'leave.md',
            first_line: 1,
            last_line: 3,
            heading: 'Leave',
            text: '# Leave\n\nThirty days of vacation a year.',
          },
        ],
        ranked_by: 'words',
        complete: true,
      },
    ])
    expect(readdirSync(join(folder, '.beaver'))).toEqual(['knowledge'])
  })

  it('prints no control character of a document', async () => {
    const { out } = await beaver('kb', 'search', 'handbook', 'red gnp')
    expect(out).toContain('evil.txt')
    // oxlint-disable-next-line no-control-regex
    expect(out).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/)
  })

  test.each<[readonly string[], number, string]>([
    [['search'], 2, 'beaver kb search <id> <words>'],
    [['search', 'handbook'], 2, 'Name the knowledge base and the words'],
    [['search', 'laws', 'x'], 1, 'There is no knowledge base "laws" (configured: handbook, forum, gone).'],
    [['search', 'gone', 'x'], 1, 'It does not exist.'],
    [['search', 'handbook', 'x', '--limit', '21'], 2, '20'],
    [['list', 'handbook'], 2, 'kb search handbook <words>'],
    [['drop'], 2, 'list, search'],
  ])('%j ends with code %i', async (args, code, says) => {
    const ran = await beaver('kb', ...args)
    expect([ran.exit, ran.err]).toEqual([code, expect.stringContaining(says)])
    expect(ran.err).not.toContain('    at ')
  })

  it('says that nothing fits', async () => {
    expect((await beaver('kb', 'search', 'handbook', 'zebra')).out).toContain(
      'No passage of kb:handbook is about "zebra".',
    )
  })
})

test('the doctor names the documents, what is left out, and a folder that is missing', async () => {
  const { out } = await beaver('doctor')
  expect(out).toMatch(/ok +kb:handbook +2 documents/)
  expect(out).toMatch(/warn +kb:handbook +left out\. .*links: 1 \(such as link\.txt\)/)
  expect(out).toMatch(/warn +kb:gone .*does not exist/s)
})

test.each<[object, string]>([
  [{ 'a b': { folder: 'd', description: 'x' } }, 'knowledge_bases.a b: the id must be'],
  [{ a: { folder: 'd' } }, 'knowledge_bases.a.description'],
  [{ a: { folder: '', description: 'x' } }, 'knowledge_bases.a.folder: must not be empty'],
  [{ a: { folder: 'd', description: '  ' } }, 'knowledge_bases.a.description: must not be empty'],
  [{ a: { folder: 'd', description: 'x', path: 'y' } }, 'knowledge_bases.a'],
  [{ a: { folder: 'd', description: 'x', file_bytes_max: 1e12 } }, 'knowledge_bases.a.file_bytes_max'],
])('a configuration with %j is refused', async (bases, says) => {
  writeFileSync(join(folder, 'bad.config.json'), JSON.stringify({ knowledge_bases: bases }))
  const { exit, err } = await beaver('--config', 'bad.config.json', 'kb', 'list')
  expect([exit, err]).toEqual([2, expect.stringContaining(says)])
})
