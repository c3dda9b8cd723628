import { loadConfig } from '@beaver/platform'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from './check.ts'
import { checkChannels } from './check-channels.ts'

let home: string
beforeAll(() => void (home = mkdtempSync(join(tmpdir(), 'beaver-channels-'))))
afterAll(() => rmSync(home, { recursive: true }))

const check = (channels: object, env: Record<string, string> = {}, enabled = true): Promise<Finding[]> =>
  checkChannels(loadConfig({ home, set: { gateway: { enabled, channels: channels as never } } }, env, home), {
    timeoutMs: 300,
  })
const said = (findings: readonly Finding[]): string[] =>
  findings.map(({ status, name, says }) => `${status} ${name}: ${says}`)

const hook = {
  type: 'webhook',
  url: 'https://user:pass@chat.example/x',
  secret_env: 'HOOK',
  users: { Ada: 'ada' },
}
const mail = (port: number) => ({
  type: 'email',
  address: 'beaver@team.example',
  imap: { host: '127.0.0.1', port, tls: 'none', user: 'u', password_env: 'MAIL' },
  smtp: { host: '127.0.0.1', port, tls: 'none', user: 'u', password_env: 'MAIL' },
  since: '2026-01-01',
  sender_check: 'relay',
  users: { 'ada@team.example': 'ada' },
})

async function listening(serve: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer(serve as never)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
const portOf = (server: Server): number => (server.address() as AddressInfo).port

describe('the check of the channels', () => {
  it('says nothing if there are none', async () => {
    expect(await check({})).toEqual([])
  })

  it('names the variable of a missing secret, and judges a secret by its length', async () => {
    expect(said(await check({ hook }))).toEqual([
      'fail channel hook: $HOOK is not set here, so the gateway does not start',
    ])
    const [short] = said(await check({ hook }, { HOOK: 'short' }))
    expect(short).toMatch(/^fail channel hook: The secret \$HOOK of the channel hook has 5 bytes/)
    expect(said(await check({ hook }, { HOOK: 'x'.repeat(24) }))).toEqual([
      'ok channel hook: its secret is long enough, and answers go to chat.example',
    ])
  })

  it('says that nobody serves the channels, and that nobody may write', async () => {
    expect(said(await check({ hook: { ...hook, users: {} } }, { HOOK: 'x'.repeat(24) }, false))).toEqual([
      'warn channels: gateway.enabled is false, so "beaver up" starts nobody who serves them',
      'ok channel hook: its secret is long enough, and answers go to chat.example',
      'warn channel hook: it has no users and refuses unknown ones, so nobody may write',
    ])
  })

  it('asks mail servers, and waits only a moment for one that says nothing', async () => {
    const deaf = await listening(() => {})
    const silent = said(await check({ mail: mail(portOf(deaf)) }, { MAIL: 'hunter2hunter2' }))
    expect(silent).toEqual([
      'fail channel mail: the mailbox INBOX at 127.0.0.1 cannot be opened: It did not answer within 300 ms.',
      'fail channel mail: 127.0.0.1 cannot be used to send: It did not answer within 300 ms.',
    ])
    deaf.close()
    const away = said(await check({ mail: mail(1) }, { MAIL: 'hunter2hunter2' }))
    expect(away.every((each) => each.includes('ECONNREFUSED'))).toBe(true)
    expect(JSON.stringify([...silent, ...away])).not.toContain('hunter2')
  })

  it('makes the adapter of a chat network', async () => {
    const env = { TOKEN: 'the token of the bot' }
    const telegram = {
      type: 'chat_sdk',
      adapter: 'telegram',
      options: { mode: 'polling' },
      secrets_env: { botToken: 'TOKEN' },
      users: { '7': 'ada' },
    }
    expect(said(await check({ telegram }, env))).toEqual([
      'ok channel telegram: the adapter telegram is there and takes its options',
    ])
    expect(said(await check({ telegram: { ...telegram, options: { mode: 'webhook' } } }, env))[0]).toMatch(
      /^fail channel telegram: The adapter telegram/,
    )
    expect(said(await check({ other: { ...telegram, adapter: 'not-there' } }, env))[0]).toContain(
      'needs the package @chat-adapter/not-there',
    )
  })
})
