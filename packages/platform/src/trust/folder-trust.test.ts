import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import type { Config } from '../config/config-file.ts'
import { type ConfigFlags, loadConfig } from '../config/config.ts'
import { trustForChild } from './folder-trust.ts'
import { revokeTrust, trustedFolders, trustFolder, trustStoreFolder } from './trust-store.ts'

let base = ''
let folder = ''
let env: Record<string, string> = {}
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-folder-trust-')))
  folder = join(base, 'project')
  mkdirSync(folder)
  env = { HOME: join(base, 'home') }
  write({ tools: ['tool.ts'], daemon: { tasks_max: 3 } })
  writeFileSync(join(folder, 'tool.ts'), `import { help } from './help.ts'\nexport const x = help\n`)
  writeFileSync(join(folder, 'help.ts'), 'export const help = 1\n')
})
afterEach(() => rmSync(base, { recursive: true }))

const write = (content: object): void =>
  writeFileSync(join(folder, 'beaver.config.json'), JSON.stringify(content))
const read = (flags: ConfigFlags = {}, more: Record<string, string> = {}): Config =>
  loadConfig(flags, { ...env, ...more }, folder)
const store = (): string => trustStoreFolder(env)
const now = '2026-11-23T12:00:00.000Z'
function accept(always = false): void {
  trustFolder(store(), folder, { digest: read().trust.digest, always, now })
}
const counts = (config: Config): boolean => config.tools.length > 0

describe('a file that was found in the current folder', () => {
  it('counts with its safe settings only, until its folder is trusted', () => {
    expect(read()).toMatchObject({
      tools: [],
      daemon: { tasks_max: 3 },
      trust: { state: 'open', changed: false, asked: [{ says: 'runs the module tool.ts' }] },
    })
    accept()
    expect(read()).toMatchObject({
      tools: [join(folder, 'tool.ts')],
      trust: { state: 'trusted', by: 'accepted' },
    })
  })

  test.each<[string, () => void]>([
    ['its settings change', () => write({ tools: ['tool.ts'], run_command: { enabled: true } })],
    ['its module changes', () => writeFileSync(join(folder, 'tool.ts'), 'evil()')],
    ['a file that the module imports changes', () => writeFileSync(join(folder, 'help.ts'), 'evil()')],
    ['its module is gone', () => rmSync(join(folder, 'tool.ts'))],
  ])('needs consent again if %s', (_, change) => {
    accept()
    change()
    const { tools, trust } = read()
    expect([tools, trust.state, trust.changed]).toEqual([[], 'open', true])
  })

  it('needs consent again if a program that an MCP server runs from the folder changes', () => {
    writeFileSync(join(folder, 'server.mjs'), '1')
    write({ mcp: { a: { command: 'node', args: ['--import=./server.mjs'] } } })
    accept()
    expect(Object.keys(read().mcp)).toEqual(['a'])
    writeFileSync(join(folder, 'server.mjs'), '2')
    expect(Object.keys(read().mcp)).toEqual([])
  })

  it('needs consent for a login of an MCP server, and again if its secret or the server that gets it changes', () => {
    const oauth = { client_id: 'beaver', client_secret: '$SECRET', issuer: 'https://login.example' }
    const server = (change: object) =>
      write({ mcp: { a: { url: 'https://mcp.example/mcp', oauth: { ...oauth, ...change } } } })
    server({})
    expect(Object.keys(read().mcp)).toEqual([])
    for (const change of [
      { issuer: 'https://evil.example' },
      { client_secret: '$OTHER' },
      { scope: 'admin' },
    ]) {
      server({})
      accept()
      expect(Object.keys(read().mcp)).toEqual(['a'])
      server(change)
      expect(Object.keys(read().mcp)).toEqual([])
    }
  })

  it('needs no consent again for a safe setting, for what was accepted before, or if it is trusted always', () => {
    accept()
    write({ tools: ['tool.ts'], daemon: { tasks_max: 9 } })
    expect(read()).toMatchObject({ trust: { state: 'trusted' }, daemon: { tasks_max: 9 } })
    writeFileSync(join(folder, 'help.ts'), 'export const help = 2\n')
    accept()
    writeFileSync(join(folder, 'help.ts'), 'export const help = 1\n')
    expect(counts(read())).toBe(true)
    accept(true)
    write({ tools: ['other.ts'] })
    expect(counts(read())).toBe(true)
  })

  it('is not trusted for another folder with the same content', () => {
    accept()
    const other = join(base, 'other')
    mkdirSync(other)
    for (const name of ['beaver.config.json', 'tool.ts', 'help.ts'])
      symlinkSync(join(folder, name), join(other, name))
    expect(counts(loadConfig({}, env, other))).toBe(false)
  })

  it('has one digest in every environment, and asks for nothing that the user gives elsewhere', () => {
    write({ nats_url: 'nats://stranger:1', tools: ['tool.ts'] })
    const overridden = read({}, { NATS_URL: 'nats://mine:1' })
    expect(overridden.nats_url).toBe('nats://mine:1')
    expect(overridden.trust.asked.map(({ key }) => key)).toEqual(['tools'])
    expect(overridden.trust.digest).toBe(read().trust.digest)
  })
})

describe('an explicit answer', () => {
  it('wins over the store, in both directions', () => {
    expect([counts(read({ trust: true })), counts(read({}, { BEAVER_TRUST: '1' }))]).toEqual([true, true])
    accept(true)
    expect([counts(read({ trust: false })), counts(read({}, { BEAVER_TRUST: '0' }))]).toEqual([false, false])
    expect(read({ trust: false }).trust.state).toBe('refused')
    expect(counts(read({ trust: true }, { BEAVER_TRUST: '0' }))).toBe(true)
  })

  it('may be one digest: a machine accepts this and nothing else', () => {
    const digest = read().trust.digest ?? ''
    expect(counts(read({}, { BEAVER_TRUST: digest }))).toBe(true)
    writeFileSync(join(folder, 'tool.ts'), 'evil()')
    expect(counts(read({}, { BEAVER_TRUST: digest }))).toBe(false)
  })

  it('of another form is refused', () => {
    expect(() => read({}, { BEAVER_TRUST: 'yes' })).toThrow(
      expect.objectContaining({ code: 'invalid_configuration' }),
    )
  })
})

describe('a file that needs no consent', () => {
  it('is one that the user named', () => {
    const config = join(folder, 'beaver.config.json')
    expect([
      counts(read({ config })),
      counts(read({}, { BEAVER_CONFIG: config })),
      counts(read({ config }, { BEAVER_TRUST: '0' })),
    ]).toEqual([true, true, false])
  })

  it('is one of this checkout or of its examples, and not one deeper in it', () => {
    const checkout = fileURLToPath(new URL('../../../../', import.meta.url))
    const own = loadConfig({}, env, join(checkout, 'examples/own-tool'))
    expect([counts(own), own.trust.by]).toEqual([true, 'own_code'])
    const deeper = mkdtempSync(join(checkout, '.beaver', 'trust-test-'))
    try {
      writeFileSync(join(deeper, 'beaver.config.json'), '{"tools": ["t.ts"]}')
      expect(counts(loadConfig({}, env, deeper))).toBe(false)
    } finally {
      rmSync(deeper, { recursive: true })
    }
  })

  it('is one beside the program that embeds Beaver, or at the top of its package', () => {
    const program = join(folder, 'src', 'main.ts')
    mkdirSync(join(folder, 'src'))
    writeFileSync(program, '')
    expect(counts(read({ program }))).toBe(false)
    writeFileSync(join(folder, 'package.json'), '{}')
    expect(counts(read({ program }))).toBe(true)
    expect(counts(read({ program: '/usr/bin/node' }))).toBe(false)
  })
})

describe('what a child of this process gets', () => {
  const child = (config: Config): Config =>
    read({}, { BEAVER_CONFIG: join(folder, 'beaver.config.json'), BEAVER_TRUST: trustForChild(config.trust) })

  it('is the same decision, although the file is named for it', () => {
    expect(counts(child(read({ trust: false })))).toBe(false)
    expect(counts(child(read({ trust: true })))).toBe(true)
    accept()
    expect(counts(child(read()))).toBe(true)
    expect(counts(child(read({ config: join(folder, 'beaver.config.json') })))).toBe(true)
  })

  it('is no consent to what the folder becomes afterwards', () => {
    accept()
    const accepted = read()
    writeFileSync(join(folder, 'tool.ts'), 'evil()')
    expect(child(accepted).trust.state).toBe('open')
    write({})
    const harmless = read()
    write({ tools: ['tool.ts'] })
    expect(counts(child(harmless))).toBe(false)
  })
})

describe('the store', () => {
  it('is in the home of the user, for the user alone', () => {
    accept()
    const files = trustedFolders(store())
    expect(files.map((each) => each.folder)).toEqual([folder])
    expect(store().startsWith(join(base, 'home'))).toBe(true)
    expect(statSync(store()).mode & 0o777).toBe(0o700)
    revokeTrust(store(), folder)
    expect([trustedFolders(store()), counts(read())]).toEqual([[], false])
  })

  it('does not count if others may write to it', () => {
    accept()
    chmodSync(store(), 0o777)
    expect(counts(read())).toBe(false)
  })

  it('is never in the folder that is judged, also if the environment names a relative place', () => {
    env = { HOME: join(base, 'home'), XDG_STATE_HOME: '.state' }
    accept()
    expect(existsSync(join(folder, '.state'))).toBe(false)
    expect(counts(read())).toBe(true)
  })
})
