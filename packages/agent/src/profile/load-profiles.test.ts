import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sampleTools } from '../../test/sample-tools.ts'
import { loadProfiles } from './load-profiles.ts'

let folder = ''
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'beaver-profiles-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

async function load(files: Readonly<Record<string, string | null>>) {
  const paths = await Promise.all(
    Object.entries(files).map(async ([name, content]) => {
      const path = join(folder, name)
      if (content !== null) await writeFile(path, content)
      return path
    }),
  )
  const { profiles, diagnostics } = await loadProfiles(paths, { tools: sampleTools, definitions: [] })
  return {
    profiles,
    told: diagnostics.map(
      ({ file, severity, message }) => [file.slice(folder.length + 1), severity, message] as const,
    ),
  }
}
const profile = (name: string, more: object = {}): string => JSON.stringify({ name, ...more })

it('loads the profiles of the files in their order, also with a byte order mark', async () => {
  const { profiles, told } = await load({
    'b.json': profile('b'),
    'a.json': `\uFEFF${profile('a', { max_tool_iterations: 3 })}`,
  })
  expect([...profiles.keys()]).toEqual(['b', 'a'])
  expect(profiles.get('a')?.maxToolIterations).toBe(3)
  expect(told).toEqual([])
})

it('keeps what is right beside what is broken, and says what is wrong with each', async () => {
  const { profiles, told } = await load({
    'gone.json': null,
    'broken.json': '{"name": ',
    'list.json': '[]',
    'nameless.json': '{"system_prompt": "x"}',
    'good.json': profile('good'),
  })
  expect([...profiles.keys()]).toEqual(['good'])
  expect(told.map(([file, severity]) => [file, severity])).toEqual([
    ['gone.json', 'error'],
    ['broken.json', 'error'],
    ['list.json', 'error'],
    ['nameless.json', 'error'],
  ])
  expect(told.map(([, , message]) => message)).toEqual([
    expect.stringContaining('cannot be read'),
    expect.stringContaining('not JSON'),
    expect.stringContaining('The profile'),
    expect.stringContaining('"name"'),
  ])
})

it('lets the first file of a name win, and names both', async () => {
  const { profiles, told } = await load({
    'first.json': profile('same', { description: 'one' }),
    'second.json': profile('same', { description: 'two' }),
  })
  expect(profiles.get('same')?.description).toBe('one')
  expect(told).toEqual([['second.json', 'warning', expect.stringContaining(join(folder, 'first.json'))]])
})

it('warns of ids that bring no tool, with their place, and loads the profile', async () => {
  const { profiles, told } = await load({
    'p.json': profile('p', { tool_ids_inventory: ['system:read_file', 'read_file', 'kb:Query'] }),
  })
  expect(profiles.has('p')).toBe(true)
  expect(told).toEqual([
    ['p.json', 'warning', expect.stringMatching(/^tool_ids_inventory\.1: .*no prefix/)],
    ['p.json', 'warning', expect.stringMatching(/^tool_ids_inventory\.2: .*knowledge base/)],
  ])
})
