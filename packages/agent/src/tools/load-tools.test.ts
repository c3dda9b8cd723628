import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sampleTools } from '../../test/sample-tools.ts'
import { lentModule } from './exported-tools.ts'
import { loadTools } from './load-tools.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'beaver-tools-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A module whose `exports` is its source; `tool(name)` makes one. */
async function module(name: string, source: string): Promise<string> {
  const file = join(folder, `${name}.mjs`)
  await writeFile(
    file,
    `const tool = (name) => ({ name, description: name, parameters: {}, idempotent: false, invoke: async () => '${name}' })\n${source}`,
  )
  return file
}
const names = (tools: readonly { name: string }[]): string[] => tools.map(({ name }) => name)
const builtin = sampleTools

it('adds what modules export, one by one and in lists, after the built-in ones', async () => {
  const file = await module(
    'good',
    "export const one = tool('one')\nexport default [tool('two'), one]\nexport const helper = 3",
  )
  const { tools, diagnostics } = await loadTools(builtin, [file])
  expect(names(tools)).toEqual([...names(builtin), 'two', 'one'])
  expect(diagnostics).toEqual([])
})

it('lends what an installed package calls these names', () => {
  const own = { kind: 'package', name: '@acme/beaver' } as const
  const lent = [
    '@acme/beaver',
    '@acme/beaver/tool',
    '@beaver/service',
    '@beaver/agent',
    'zod',
    '@beaver/core',
    'yaml',
  ]
  expect(lent.map((name) => lentModule(name, own))).toEqual([
    '@acme/beaver',
    '@acme/beaver/tool',
    '@acme/beaver',
    '@acme/beaver/tool',
    'zod',
    null,
    null,
  ])
})

it('one broken module keeps no other from loading', async () => {
  const broken = await module('broken', 'throw new Error("no licence")')
  const empty = await module('empty', 'export const a = 1')
  const odd = await module('odd', "export const a = tool('not a name')")
  const missing = join(folder, 'missing.mjs')
  const good = await module('fine', "export const fine = tool('fine')")
  const { tools, diagnostics } = await loadTools([], [broken, empty, odd, missing, good])
  expect(names(tools)).toEqual(['fine'])
  expect(diagnostics.map(({ file, severity, message }) => [file, severity, message.slice(0, 40)])).toEqual([
    [broken, 'error', 'It cannot be loaded: no licence'],
    [empty, 'error', 'It does not export a tool. Export what d'],
    [odd, 'error', 'The tool name "not a name" is not valid:'],
    [missing, 'error', 'There is no such file.'],
  ])
})

it('takes the place of a built-in tool, with a warning, but never of another one of the user', async () => {
  const first = await module('first', "export const echo = tool('echo')")
  const second = await module('second', "export const echo = tool('echo')")
  const { tools, diagnostics } = await loadTools(builtin, [first, second])
  expect(await tools.find(({ name }) => name === 'echo')?.invoke({}, {} as never)).toBe('first')
  expect(names(tools)).toEqual(names(builtin))
  expect(diagnostics.map(({ file, severity }) => [file, severity])).toEqual([
    [first, 'warning'],
    [second, 'error'],
  ])
})

it('loads a module only while it, and what it imports, have the content that was accepted; a cell asks again at each call', async () => {
  const file = await module(
    'accepted',
    "export const far = { ...tool('far'), isolation: 'process' }\nexport const near = tool('near')",
  )
  const accepted = { [file]: createHash('sha256').update(readFileSync(file)).digest('hex') }
  const { tools } = await loadTools([], [file], { accepted })
  expect(names(tools)).toEqual(['far', 'near'])
  await writeFile(file, 'evil()')
  const again = await loadTools([], [file], { accepted })
  expect([again.tools, again.diagnostics[0]?.message]).toEqual([
    [],
    expect.stringContaining(`${file} has changed since its folder was trusted`),
  ])
  const far = tools.find(({ name }) => name === 'far')
  expect(() => far?.invoke({}, {} as never)).toThrow(expect.objectContaining({ code: 'tool_changed' }))
})

// In a Node.js of its own: Vitest resolves the packages of this repository from anywhere.
it('lends a module what tools are made with, wherever its file is, and nothing else', async () => {
  const published = ['@beaver-agents/beaver', '@beaver-agents/beaver/tool']
  const files = [...published, '@beaver/agent', '@beaver/agent/tool'].map((from, n) => ({ from, n }))
  for (const { from, n } of files)
    await writeFile(
      join(folder, `elsewhere-${n}.ts`),
      `import { defineTool } from '${from}'
import { z } from 'zod'
export const tool = defineTool({ name: 'elsewhere_${n}', description: 'Elsewhere.', input: z.strictObject({}), run: (): number => 1 })`,
    )
  const stranger = join(folder, 'stranger.ts')
  await writeFile(stranger, "import 'yaml'")
  const program = `import { loadTools } from ${JSON.stringify(new URL('load-tools.ts', import.meta.url).href)}
const { tools, diagnostics } = await loadTools([], ${JSON.stringify([...files.map(({ n }) => join(folder, `elsewhere-${n}.ts`)), stranger])})
console.log(JSON.stringify([tools.map(({ name }) => name), diagnostics.map(({ message }) => message)]))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(JSON.parse(stdout)).toEqual([
    ['elsewhere_0', 'elsewhere_1', 'elsewhere_2', 'elsewhere_3'],
    [expect.stringContaining("It cannot be loaded: Cannot find package 'yaml'")],
  ])
})
