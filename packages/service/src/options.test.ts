import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineTool, z } from '@beaver/agent'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readOptions } from './options.ts'

let workspace: string
beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), 'beaver-options-'))
  writeFileSync(
    join(workspace, 'beaver.config.json'),
    JSON.stringify({ tools: ['of-file.ts'], namespace: 'of_file', nats_url: 'nats://file:1' }),
  )
})
afterAll(() => rmSync(workspace, { recursive: true }))

const own = defineTool({ name: 'own', description: 'd', input: z.strictObject({}), run: () => '' })

describe('the options of a service', () => {
  it('tell errors of the log with the names that only the fields of the line have', () => {
    const told: string[] = []
    const onWarning = (message: string): void => void told.push(message)
    const { logger } = readOptions({ workspace, trustWorkspace: true, env: {}, onWarning })
    logger.error('files_not_loaded', 'It cannot be loaded.', { file: '/p/tools.ts', daemon: 'd', lines: 2 })
    logger.error('process_failed', 'It cannot go on.')
    logger.warn('files_not_loaded', 'It is old.')
    expect(told).toEqual(['It cannot be loaded. (file: /p/tools.ts, lines: 2)', 'It cannot go on.'])
  })

  it('take precedence over the environment, and the environment over the file in the workspace', () => {
    const env = { NATS_URL: 'nats://env:1', OPENAI_API_KEY: 'of-env', BEAVER_HOME: 'h' }
    expect(readOptions({ workspace, trustWorkspace: true, env }).config).toMatchObject({
      nats_url: 'nats://env:1',
      namespace: 'of_file',
      apiKey: 'of-env',
      home: join(workspace, 'h'),
    })
    const { config } = readOptions({
      workspace,
      trustWorkspace: true,
      env,
      natsUrl: 'nats://option:1',
      apiKey: 'of-option',
      home: 'mine',
      config: { namespace: 'of_option' },
    })
    expect(config).toMatchObject({
      nats_url: 'nats://option:1',
      namespace: 'of_option',
      apiKey: 'of-option',
      home: join(workspace, 'mine'),
      workspace,
    })
  })

  it('give the tasks their budgets', () => {
    const budgets = [{ of: 'task', per: 'run', usd: 1, exceeded: 'end' }] as const
    const { config } = readOptions({
      ...{ workspace, trustWorkspace: true, env: {}, budgets: [...budgets] },
      config: { budgets: [{ of: 'task', usd: 5 }] },
    })
    expect(config.budgets).toEqual(budgets)
  })

  it('add files to those of the configuration, as paths in the workspace or as URLs', () => {
    const { config, tools } = readOptions({
      workspace,
      trustWorkspace: true,
      env: {},
      tools: ['a.ts', own, pathToFileURL('/elsewhere/b.ts')],
    })
    expect(config.tools).toEqual([join(workspace, 'a.ts'), '/elsewhere/b.ts', join(workspace, 'of-file.ts')])
    expect(tools.tools.map(({ name }) => name)).toEqual(['own'])
  })

  it('use code and servers of a file that was found only if the program or the user trusts the folder', () => {
    expect(() => readOptions({ workspace, env: {} })).toThrow(
      expect.objectContaining({ code: 'untrusted_folder' }),
    )
    expect(readOptions({ workspace, env: {}, trustWorkspace: false }).config).toMatchObject({
      tools: [],
      namespace: 'default',
    })
    expect(
      readOptions({ workspace, env: {}, configFile: join(workspace, 'beaver.config.json') }).config,
    ).toMatchObject({ namespace: 'of_file' })
  })

  it('are refused when the service is made, not at its first task', () => {
    const refused = { code: 'invalid_configuration' }
    expect(() =>
      readOptions({ workspace, trustWorkspace: true, env: {}, config: { daemon: { tasks_max: 0 } } }),
    ).toThrow(expect.objectContaining(refused))
    expect(() => readOptions({ workspace, trustWorkspace: true, env: {}, tools: [own, own] })).toThrow(
      expect.objectContaining(refused),
    )
    expect(() => readOptions({ workspace, trustWorkspace: true, env: {}, profiles: [{ name: '' }] })).toThrow(
      expect.objectContaining(refused),
    )
  })
})
