import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from './config.ts'

it('are the keys, what a URL carries, and the variables MCP servers are given', ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const mcp = {
    web: { url: 'http://127.0.0.1:9', headers: { authorization: 'Bearer ${WEB_TOKEN}' } },
    files: { command: 'x', env: { KEY: '$FILES_KEY', MODE: 'plain' } },
    own: { url: 'http://127.0.0.1:9', headers: { authorization: 'Bearer own-token-1' } },
  }
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({ mcp, models: { deep: { name: 'd', key: 'DEEP' } } }),
  )
  const env = {
    OPENAI_API_KEY: 'sk-main',
    NATS_URL: 'nats://user:pass%40word@a:1, nats://token@b:2',
    WEB_TOKEN: 'web-token',
    FILES_KEY: 'files-key',
    DEEP: 'deep-key-1',
  }
  const more = {
    GITHUB_TOKEN: 'g1thub-t0ken',
    DATABASE_URL: 'postgres://me:dbpass@h/x',
    HOME_KEY: '/home/me/.key',
    PATH_TOKEN: 'on',
    GPG_KEY: 'A035C8C19219BA821ECEA86B64E628F8D684696D',
  }
  const { secrets } = loadConfig({ trust: true }, { ...env, ...more }, folder)
  expect(Object.fromEntries(secrets.map(({ name, value }) => [value, name]))).toEqual({
    'files-key': 'FILES_KEY',
    'deep-key-1': 'DEEP',
    'pass@word': 'nats_url.password',
    'sk-main': 'OPENAI_API_KEY',
    token: 'nats_url.password',
    'web-token': 'WEB_TOKEN',
    'own-token-1': 'mcp.own.authorization',
    'g1thub-t0ken': 'GITHUB_TOKEN',
    dbpass: 'DATABASE_URL.password',
  })
})
