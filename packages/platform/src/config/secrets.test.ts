import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from './config.ts'
import { natsLoginEnvironment } from './nats-login.ts'

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

it('may be in files that variables name, and are then known as if they were in the variables', ({
  onTestFinished,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-secret-files-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const channel = { type: 'webhook', url: 'http://127.0.0.1:9/', secret_env: 'HOOK' }
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({
      models: { deep: { name: 'd', key: 'DEEP' } },
      gateway: { channels: { support: channel } },
      mcp: {
        files: { command: 'x', env: { KEY: '${FILES_KEY}', PRICE: '$$MISSING', MODE: 'a-$SET-$UNSET' } },
        web: {
          url: 'http://127.0.0.1:9',
          headers: { authorization: 'Bearer $WEB_TOKEN' },
          oauth: { client_id: 'c', client_secret: '$WEB_SECRET', issuer: 'http://127.0.0.1:9' },
        },
      },
    }),
  )
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content)
    return name
  }
  const load = (env: Record<string, string>) => loadConfig({ trust: true }, env, folder)
  const { apiKey, apiKeys, modelKeys, channelSecrets, mcpVariables, natsLogin, secrets } = load({
    OPENAI_API_KEY_FILE: file('main', 'sk-main\n'),
    BEAVER_FALLBACK_API_KEY: 'of-the-variable',
    BEAVER_FALLBACK_API_KEY_FILE: 'nothing-reads-this',
    DEEP_FILE: join(folder, file('deep', 'deep-key-1')),
    HOOK_FILE: file('hook', 'hook secret \r\n'),
    NATS_PASSWORD_FILE: file('nats', 'nats-password'),
    FILES_KEY_FILE: file('files', 'key-of-files\n'),
    MISSING_FILE: 'nothing-reads-this',
    SET: 'set-value',
    SET_FILE: 'nothing-reads-this',
    WEB_TOKEN_FILE: file('web', 'token-of-web'),
    WEB_SECRET_FILE: file('oauth', 'secret-of-client'),
  })
  expect([apiKey, apiKeys.fallback, modelKeys, channelSecrets, natsLogin.password]).toEqual([
    'sk-main',
    'of-the-variable',
    { DEEP: 'deep-key-1' },
    { HOOK: 'hook secret ' },
    'nats-password',
  ])
  expect(mcpVariables).toEqual({
    FILES_KEY: 'key-of-files',
    SET: 'set-value',
    UNSET: undefined,
    WEB_TOKEN: 'token-of-web',
    WEB_SECRET: 'secret-of-client',
  })
  expect(secrets.map(({ value }) => value).toSorted()).toEqual(
    [
      ...['deep-key-1', 'hook secret', 'hook secret ', 'nats-password', 'of-the-variable', 'sk-main'],
      ...['key-of-files', 'set-value', 'token-of-web', 'secret-of-client'],
    ].toSorted(),
  )
  // A child of "beaver up" gets the login of its role and reads no other one from a file.
  expect(natsLoginEnvironment({ user: 'u' })).toMatchObject({ NATS_PASSWORD: '', NATS_PASSWORD_FILE: '' })

  mkdirSync(join(folder, 'folder'))
  for (const [path, why] of [
    ['missing', 'cannot be read (ENOENT)'],
    ['folder', 'is no file'],
    [file('empty', '\n'), 'is empty'],
    [file('large', 'x'.repeat(65_537)), 'has more than 65536 bytes'],
  ] as const)
    expect(() => load({ OPENAI_API_KEY_FILE: path })).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        message: `The file ${join(folder, path)} of OPENAI_API_KEY_FILE ${why}.`,
      }),
    )
})
