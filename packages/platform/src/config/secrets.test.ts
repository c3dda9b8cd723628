import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from './config.ts'
import { secretsOf } from './secrets.ts'

it('are the keys, what a URL carries, and the variables MCP servers are given', ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const mcp = {
    web: { url: 'http://127.0.0.1:9', headers: { authorization: 'Bearer ${WEB_TOKEN}' } },
    files: { command: 'x', env: { KEY: '$FILES_KEY', MODE: 'plain' } },
  }
  writeFileSync(join(folder, 'beaver.config.json'), JSON.stringify({ mcp }))
  const env = { OPENAI_API_KEY: 'sk-main', NATS_URL: 'nats://user:pass%40word@a:1, nats://token@b:2', WEB_TOKEN: 'web-token', FILES_KEY: 'files-key' }
  expect(secretsOf(loadConfig({ trust: true }, env, folder), env).toSorted()).toEqual(['files-key', 'pass@word', 'sk-main', 'token', 'web-token'])
})
