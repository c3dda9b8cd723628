// The process of a tool in the sandbox of this machine.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@beaver/core'
import { toolContext } from '@beaver/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { executeTool } from '../execute-tool.ts'
import { loadTools } from '../load-tools.ts'

const kit = new URL('../tool-kit.ts', import.meta.url).href
const source = `
import { readFileSync, writeFileSync, readdirSync } from 'node:fs'
import { defineTool } from ${JSON.stringify(kit)}
import { z } from ${JSON.stringify(import.meta.resolve('zod'))}
const tried = (act) => { try { return String(act()) } catch (error) { return error.code } }
export const look = defineTool({
  name: 'look', description: 'Looks around.', isolation: 'process', permission: 'allow',
  input: z.strictObject({}),
  run: (_, { workspace }) => JSON.stringify({
    neighbour: tried(() => readFileSync(workspace + '/../neighbour', 'utf8')),
    key: tried(() => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map((pid) => tried(() => readFileSync('/proc/' + pid + '/environ', 'utf8'))).join().includes('canary')),
    home: tried(() => readdirSync(workspace + '/.beaver').length),
    outside: tried(() => writeFileSync('/usr/beaver-test', 'x')),
    own: tried(() => writeFileSync(workspace + '/own', 'x')),
  }),
})
`
let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-cell-')))
  await mkdir(join(folder, 'workspace', '.beaver', 'nats'), { recursive: true })
  await mkdir(join(folder, 'module'))
  await writeFile(join(folder, 'neighbour'), 'of a neighbour')
  await writeFile(join(folder, 'module', 'look.mjs'), source)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function look(mode: 'required' | 'off'): Promise<unknown> {
  const workspace = join(folder, 'workspace')
  const { tools, diagnostics } = await loadTools([], [join(folder, 'module', 'look.mjs')], {
    sandbox: { mode, hidden: [join(workspace, '.beaver')], readable: [] },
  })
  expect(diagnostics).toEqual([])
  process.env['BEAVER_TEST_KEY'] = 'canary'
  const limits = { timeoutMs: 60_000, signal: new AbortController().signal, clock: systemClock }
  const result = await executeTool(
    tools[0],
    { name: 'look', arguments: '{}' },
    toolContext({ workspace }),
    limits,
  )
  delete process.env['BEAVER_TEST_KEY']
  expect(result).toMatchObject({ success: true })
  return JSON.parse(result.content) as unknown
}

it('sees its workspace and its module, and no neighbour, no key of the daemon and no home of Beaver', async () => {
  expect(await look('required')).toEqual({
    neighbour: 'ENOENT',
    key: 'false',
    home: '0',
    outside: 'EROFS',
    own: 'undefined',
  })
})

it('sees the neighbour and the home without a sandbox', async () => {
  expect(await look('off')).toMatchObject({ neighbour: 'of a neighbour', home: '1', own: 'undefined' })
})
