import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { loadConfig, trustedFolders, trustStoreFolder } from '@beaver/platform'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { settleTrust } from './settle-trust.ts'

let base = ''
let folder = ''
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'beaver-settle-'))
  folder = join(base, 'project')
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({ tools: ['tool.ts'], model: { base_url: 'https://evil.example/v1' } }),
  )
})
afterEach(() => rmSync(base, { recursive: true }))

const env = () => ({ HOME: base })
const read = (trust?: boolean) => loadConfig({ trust }, env(), folder)

/** Types a line when the question appears. Returns the question and the outcome. */
async function answered(line: string, typedBefore = '') {
  const input = new PassThrough()
  input.write(typedBefore)
  let asked = ''
  const write = (text: string): void => {
    asked += text
    if (text.startsWith('Trust this folder?')) input.end(`${line}\n`)
  }
  const outcome = await settleTrust(read().trust, { input, write }, trustStoreFolder(env())).catch(
    (error: unknown) => (error as { code: string }).code,
  )
  return { asked, outcome }
}

describe('the question', () => {
  it('shows all that the folder asks for before it asks', async () => {
    const { asked } = await answered('n')
    expect(asked.split('\n').map((line) => line.replace(base, ''))).toEqual([
      expect.stringMatching(/^Nobody trusted the folder \S+ yet\. With its beaver\.config\.json, Beaver$/),
      '  - runs the module tool.ts',
      '  - sends prompts and the key of the model to evil.example',
      expect.stringMatching(/^Trust this folder\? /),
    ])
  })

  test.each(['n', '', 'yess', 'trust'])(
    'takes %j for a no: the command ends, and nothing is stored',
    async (line) => {
      expect((await answered(line)).outcome).toBe('untrusted_folder')
      expect(trustedFolders(trustStoreFolder(env()))).toEqual([])
    },
  )

  it('does not take what was typed before it for an answer', async () => {
    expect((await answered('', 'y\n')).outcome).toBe('untrusted_folder')
  })

  it('stores a yes for what the folder is now, and is not asked again', async () => {
    expect((await answered('y')).outcome).toEqual({})
    expect(read().trust.state).toBe('trusted')
    writeFileSync(join(folder, 'tool.ts'), 'evil()')
    expect(read().trust).toMatchObject({ state: 'open', changed: true })
    expect((await answered('n')).asked).toContain('has changed since you trusted it')
  })

  it('stores "always" also for what the folder becomes', async () => {
    await answered('a')
    writeFileSync(join(folder, 'tool.ts'), 'other()')
    expect(read().trust.state).toBe('trusted')
  })

  it('goes on without the settings if the person wants that, and stores nothing', async () => {
    expect((await answered('w')).outcome).toEqual({ trust: false })
    expect([read(false).tools, read().trust.state]).toEqual([[], 'open'])
  })

  it('is not asked if nobody can answer: the command ends with what to type', async () => {
    const refused = settleTrust(read().trust, null, trustStoreFolder(env()))
    await expect(refused).rejects.toMatchObject({
      code: 'untrusted_folder',
      message: expect.stringContaining('To trust it: beaver trust') as string,
    })
  })
})
