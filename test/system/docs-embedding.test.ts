// docs/how-to/embed.md, held to what is: its programs are files that compile and run; docs/reference/agent-service.md lists the options of a service.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { compileCache } from '../support/compile-cache.ts'
import { tableRows } from '../docs/markdown.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(`${root}docs/how-to/embed.md`, 'utf8')
const reference = readFileSync(`${root}docs/reference/agent-service.md`, 'utf8')
const fileOf = (name: string): string => `${root}test/docs/embedding/${name}.ts`
const programs = ['first', 'running', 'watched', 'own-model', 'ai-sdk', 'interrupted']
const blocks = [...page.matchAll(/^```(ts|text)\n([\s\S]*?)^```$/gm)].map(([, language = '', content = '']) => ({ language, content }))

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-embedding-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('docs/how-to/embed.md', () => {
  it('shows the programs that are compiled, as they are', () => {
    expect(blocks.flatMap(({ language, content }) => (language === 'ts' ? [content] : []))).toEqual(programs.map((name) => readFileSync(fileOf(name), 'utf8')))
  })

  test.each(['first', 'running', 'watched', 'own-model', 'ai-sdk'])('its program %s prints what the page says, and ends', async (name) => {
    const at = blocks.findIndex(({ content }) => content === readFileSync(fileOf(name), 'utf8'))
    const env = { PATH: process.env['PATH'], BEAVER_HOME: join(folder, name), ...compileCache }
    const { stdout } = await promisify(execFile)(process.execPath, [fileOf(name)], { cwd: folder, env })
    expect(stdout).toBe(blocks[at + 1]?.content)
  })

  it('lists the options of a service, each once', () => {
    const source = readFileSync(`${root}packages/service/src/options.ts`, 'utf8')
    const [, body = ''] = /export interface AgentServiceOptions \{([\s\S]*?)^\}/m.exec(source) ?? []
    const options = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, name = '']) => name)
    const listed = tableRows(reference, ['option', '']).flatMap((row) => [...(row['option'] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    expect(options.length).toBeGreaterThan(10)
    expect(listed.toSorted()).toEqual(options.toSorted())
  })
})
