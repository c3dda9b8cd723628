import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { loadConfig, writeSystemFile } from '@beaver/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Finding } from '../doctor/check.ts'
import { tokenAdvice } from '../text/token-advice.ts'
import { checkGateway } from './doctor.ts'

let home: string
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'beaver-gateway-'))))
afterEach(() => rmSync(home, { recursive: true }))

const check = (gateway: object): Promise<Finding[]> => {
  const config = loadConfig({ home }, {}, home)
  return checkGateway({ ...config, gateway: { ...config.gateway, enabled: true, port: 0, ...gateway } })
}
const said = (findings: readonly Finding[]): string[] =>
  findings.map(({ status, name, says }) => `${status} ${name}: ${says.replaceAll(home, '~')}`)
const makeToken = (): Promise<string> =>
  new TokenStore(tokensFile(home)).create('ops', { roles: ['admin'], now: new Date(0) })

/** A server that answers to a ping. */
async function answering(text: string): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_, answer) => answer.end(text)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await once(server.close(), 'close')
    },
  }
}

describe('the check of the gateway', () => {
  it('says that there is none, and nothing more', async () => {
    expect(said(await check({ enabled: false }))).toEqual([
      'ok gateway: "beaver up" starts none here: gateway.enabled is false',
    ])
  })

  it('counts the tokens, and says what a gateway without tokens is good for', async () => {
    const start = 'ok gateway: "beaver up" starts one at any free port of 127.0.0.1'
    const none = 'there are none, so no program can use the HTTP interface'
    const make = tokenAdvice()
    expect(said(await check({}))).toEqual([start, `ok tokens: ${none}. ${make}`])
    expect(said(await check({ channels: { support: {} } }))).toEqual([
      start,
      `ok tokens: ${none}. The channel support needs none. ${make}`,
    ])
    expect(said(await check({ channels: { support: {}, team: {} } }))).toEqual([
      start,
      `ok tokens: ${none}. The channels support, team need none. ${make}`,
    ])
    await makeToken()
    expect(said(await check({}))).toEqual([
      start,
      'ok tokens: 1 in ~/gateway/tokens.json, 1 of them with the role admin',
    ])
  })

  it('says who else may read or write the tokens, also while no gateway is enabled, and what to do', async () => {
    await makeToken()
    const file = tokensFile(home)
    chmodSync(file, 0o644)
    expect(await check({ enabled: false })).toContainEqual(
      expect.objectContaining({ status: 'warn', name: 'tokens', todo: `Run: chmod 600 ${file}` }),
    )
    chmodSync(file, 0o620)
    expect(said(await check({})).at(-1)).toBe(
      'fail tokens: other users of this machine may write ~/gateway/tokens.json, and give themselves a token',
    )
    writeFileSync(file, '{')
    chmodSync(file, 0o600)
    expect(said(await check({})).at(-1)).toContain(
      'fail tokens: The file of tokens ~/gateway/tokens.json cannot be read.',
    )
  })

  it('says whether another gateway or another program has the port', async () => {
    await using gateway = await answering('{"status":"ok","running":true,"mode":"daemon"}')
    await using other = await answering('hello')
    const [first, second] = [await check({ port: gateway.port }), await check({ port: other.port })]
    expect([said(first)[0], said(second)[0]]).toEqual([
      `fail gateway: the port ${gateway.port} of 127.0.0.1 is taken by another gateway, so "beaver up" cannot start`,
      `fail gateway: the port ${other.port} of 127.0.0.1 is taken by another program, so "beaver up" cannot start`,
    ])
  })

  it('says that a gateway without a configured port takes a free one if another program has its port', async () => {
    await using other = await answering('hello')
    mkdirSync(join(home, 'run'))
    const before = {
      pid: 0,
      process_start: null,
      url: 'http://127.0.0.1',
      port: other.port,
      port_found: true,
    }
    writeFileSync(join(home, 'run', `gateway-${other.port}.json`), JSON.stringify(before))
    expect(said(await check({ port: undefined }))[0]).toBe(
      `ok gateway: "beaver up" starts one at any free port of 127.0.0.1, because ${other.port} is taken`,
    )
    await other[Symbol.asyncDispose]()
    expect(said(await check({ port: undefined }))[0]).toBe(
      `ok gateway: "beaver up" starts one at http://127.0.0.1:${other.port}, which is free`,
    )
  })

  it('asks the gateway of the system that runs here', async () => {
    await using gateway = await answering('{"status":"ok","running":true,"mode":"daemon"}')
    await using deaf = await answering('hello')
    writeSystemFile(home, {
      nats_url: 'nats://x',
      embedded: true,
      namespace: 'n',
      tenant: 'local',
      started_at: '',
      children: { gateway: 4711 },
    })
    expect(said(await check({ port: gateway.port }))[0]).toBe(
      `ok gateway: answers at http://127.0.0.1:${gateway.port} (process 4711)`,
    )
    expect(said(await check({ port: deaf.port }))[0]).toBe(
      `fail gateway: runs (process 4711), but does not answer at http://127.0.0.1:${deaf.port}`,
    )
  })

  it('warns of an address that others can reach, and names one that this machine does not have', async () => {
    expect(said(await check({ host: '0.0.0.0' }))[1]).toMatch(
      /^warn gateway host: listens on every address of this machine, without TLS/,
    )
    expect(said(await check({ host: '203.0.113.1', port: 1_234 }))[0]).toMatch(
      /^fail gateway: it cannot listen at http:\/\/203\.0\.113\.1:1234: /,
    )
  })
})
