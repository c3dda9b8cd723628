// A real nats-server that asks who connects, with a configuration of the test's own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { nkeys } from '@nats-io/nats-core'
import { natsServerBinary } from './nats.ts'

export interface SecuredServer extends AsyncDisposable {
  /** Without a login. */
  readonly host: string
  /** For files of the test: it goes with the server. */
  readonly folder: string
}

/**
 * @param configOf the text of the server's configuration, without where it listens and keeps its data
 * @param env what the configuration reads from the environment
 */
export async function securedServer(
  configOf: (folder: string) => string,
  env: Record<string, string> = {},
): Promise<SecuredServer> {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-secured-'))
  const config = join(folder, 'nats.conf')
  const own = `listen: "127.0.0.1:-1"\nports_file_dir: ${JSON.stringify(folder)}\njetstream { store_dir: ${JSON.stringify(join(folder, 'data'))} }\n`
  writeFileSync(config, own + configOf(folder))
  const child = spawn(natsServerBinary(), ['-c', config], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const host = await until('the server listens', () => {
    if (child.exitCode !== null) throw new Error(said)
    const ports = readdirSync(folder).find((name) => name.endsWith('.ports'))
    if (ports === undefined) return null
    const text = readFileSync(join(folder, ports), 'utf8')
    return /127\.0\.0\.1:\d+/.exec(text)?.[0] ?? null
  })
  return {
    host,
    folder,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * What a server in operator mode is configured with, and the credentials of one user with every right in one
 * account.
 */
export function operatorMode(): { readonly config: string; readonly creds: string } {
  const [operator, system, account, user] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
    nkeys.createUser(),
  ]
  const token = (
    issuer: typeof operator,
    subject: typeof operator,
    name: string,
    nats: Record<string, unknown>,
  ): string => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = {
      jti: name,
      iat: 1_700_000_000,
      iss: issuer.getPublicKey(),
      sub: subject.getPublicKey(),
      name,
      nats: { ...nats, version: 2 },
    }
    const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`
    return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`
  }
  const unbounded = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
  }
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }
  const accounts = {
    [system.getPublicKey()]: token(operator, system, 'SYS', { type: 'account', limits: unbounded }),
    [account.getPublicKey()]: token(operator, account, 'BEAVER', {
      type: 'account',
      limits: { ...unbounded, ...storage },
    }),
  }
  const userToken = token(account, user, 'daemon', {
    type: 'user',
    pub: {},
    sub: {},
    subs: -1,
    data: -1,
    payload: -1,
  })
  const seed = Buffer.from(user.getSeed()).toString()
  return {
    config: [
      `operator: ${token(operator, operator, 'O', { type: 'operator' })}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      `resolver_preload: { ${Object.entries(accounts)
        .map(([key, jwt]) => `${key}: ${jwt}`)
        .join(', ')} }`,
    ].join('\n'),
    creds: `-----BEGIN NATS USER JWT-----\n${userToken}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  }
}
