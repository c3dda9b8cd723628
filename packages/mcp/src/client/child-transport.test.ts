// The program of an MCP server in the sandbox of this machine.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { confineServer } from './child-transport.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-mcp-')))
  for (const name of ['program', 'notes', 'own', '.beaver']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'neighbour'), 'of a neighbour')
  await writeFile(join(folder, '.beaver', 'key'), 'canary')
  await writeFile(join(folder, 'memory.json'), '{}')
  await writeFile(join(folder, 'program', 'server.mjs'), source)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Says what it can do, as one line of JSON. */
const source = `
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
const tried = (act) => { try { act(); return 'yes' } catch (error) { return error.code } }
const [notes] = process.argv.slice(2)
const environs = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map((pid) => { try { return readFileSync('/proc/' + pid + '/environ', 'utf8') } catch { return '' } })
console.log(JSON.stringify({
  notes: tried(() => writeFileSync(notes + '/a', 'x')),
  memory: tried(() => writeFileSync(process.env.MEMORY, 'x')),
  neighbour: tried(() => readFileSync(notes + '/../neighbour')),
  beaver: tried(() => readFileSync(notes + '/../.beaver/key')),
  home: tried(() => writeFileSync(process.env.HOME + '/cache', 'x')),
  key: environs.join().includes('canary'),
  interfaces: Object.keys(networkInterfaces()).filter((name) => name !== 'lo').length > 0,
}))`

async function said(network: boolean, mode: 'required' | 'off' = 'required'): Promise<unknown> {
  const env = { MEMORY: join(folder, 'memory.json') }
  const program = {
    kind: 'program',
    command: process.execPath,
    args: [join(folder, 'program', 'server.mjs'), join(folder, 'notes')],
    env: { PATH: process.env['PATH'] ?? '', HOME: join(folder, 'own'), ...env },
    cwd: undefined,
  } as const
  process.env['BEAVER_TEST_KEY'] = 'canary'
  const {
    command,
    args,
    env: given,
  } = await confineServer(
    program,
    { network, env },
    { mode, hidden: [join(folder, '.beaver')], readable: [] },
  )
  const child = spawn(command, args, { env: given, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors] = await Promise.all(
    [child.stdout, child.stderr].map(async (stream) => Buffer.concat(await stream.toArray()).toString()),
  )
  delete process.env['BEAVER_TEST_KEY']
  if (out === '') throw new Error(errors)
  return JSON.parse(out ?? '') as unknown
}

it('sees what its configuration names, and no neighbour, no key and nothing of Beaver', async () => {
  const confined = {
    notes: 'yes',
    memory: 'yes',
    neighbour: 'ENOENT',
    beaver: 'ENOENT',
    home: 'yes',
    key: false,
  }
  expect(await said(false)).toEqual({ ...confined, interfaces: false })
  expect(await said(true)).toMatchObject(confined)
  expect(await readFile(join(folder, 'notes', 'a'), 'utf8')).toBe('x')
})

it('sees the neighbour without a sandbox', async () => {
  expect(await said(true, 'off')).toMatchObject({ neighbour: 'yes', beaver: 'yes' })
})

it('that does not exist is started as it is, so that the reason is told', async () => {
  const program = {
    kind: 'program',
    command: 'no-such-program',
    args: [],
    env: { PATH: '/usr/bin' },
    cwd: undefined,
  } as const
  expect(await confineServer(program, { env: {} }, { mode: 'required', hidden: [], readable: [] })).toBe(
    program,
  )
})
