// Checks the gateway: whether it listens or could, who may reach it, and who may change the tokens that it
// takes.
import { statSync } from 'node:fs'
import { createServer } from 'node:net'
import { messageOf } from '@beaver/core'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { type Config, readSystemFile } from '@beaver/platform'
import { shellWord } from '../text/shell-word.ts'
import { tokenAdvice, withoutTokens } from '../text/token-advice.ts'
import { fail, type Finding, ok, warn } from './check.ts'

type GatewayConfig = Pick<Config, 'gateway' | 'home' | 'foreignHome'>

const pingMsMax = 2_000
const mayWrite = 0o022
const mayRead = 0o044

export async function checkGateway(config: GatewayConfig): Promise<Finding[]> {
  const { enabled } = config.gateway
  const tokens = checkTokens(config)
  if (!enabled)
    return [
      ok('gateway', '"beaver up" starts none here: gateway.enabled is false'),
      ...tokens.filter(({ status }) => status !== 'ok'),
    ]
  return [
    await checkPort(config),
    ...checkExposure(config),
    ...(tokens.length > 0 ? tokens : [noTokens(Object.keys(config.gateway.channels))]),
  ]
}

/** A gateway may serve channels alone. */
function noTokens(channels: readonly string[]): Finding {
  const says = `there are none, ${withoutTokens(channels)}`
  return channels.length > 0 ? ok('tokens', says) : warn('tokens', says, tokenAdvice())
}

async function checkPort({ gateway: { host, port }, home, foreignHome }: GatewayConfig): Promise<Finding> {
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const running = foreignHome ? null : readSystemFile(home)
  if (running?.children['gateway'] !== undefined) return checkAnswer(at, port, running.children['gateway'])
  const refused = await refusalOf(host, port)
  if (refused === null)
    return ok(
      'gateway',
      `"beaver up" starts one at ${port === 0 ? `any free port of ${host}` : `${at}, which is free`}`,
    )
  if (refused.code !== 'EADDRINUSE')
    return fail(
      'gateway',
      `it cannot listen at ${at}: ${refused.message}`,
      'Set "gateway": {"host": …, "port": …} to an address of this machine.',
    )
  return fail(
    'gateway',
    `the port ${port} of ${host} is taken by ${(await answers(at)) ? 'another gateway' : 'another program'}, so "beaver up" cannot start`,
    'End that program, or set "gateway": {"port": …} to another port.',
  )
}

async function checkAnswer(at: string, port: number, pid: number | null): Promise<Finding> {
  const process = pid === null ? 'it is being restarted' : `process ${pid}`
  if (port === 0) return ok('gateway', `runs (${process}). Its log has its port`)
  if (await answers(at)) return ok('gateway', `answers at http://${at} (${process})`)
  return fail(
    'gateway',
    `runs (${process}), but does not answer at ${at}`,
    'Look at logs/gateway.log in the home. After a change of its address, restart "beaver up".',
  )
}

/** Whether a gateway answers there, of whatever home. */
async function answers(at: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://${at}/api/ping`, {
      signal: AbortSignal.timeout(pingMsMax),
      redirect: 'error',
    })
    const said: unknown = await answer.json()
    return typeof said === 'object' && said !== null && 'mode' in said && 'running' in said
  } catch {
    return false
  }
}

function refusalOf(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

function checkExposure({ gateway: { host, hosts } }: GatewayConfig): Finding[] {
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return []
  const everywhere = host === '0.0.0.0' || host === '::'
  return [
    warn(
      'gateway host',
      `listens on ${everywhere ? 'every address of this machine' : host}, without TLS: who can read the network can read the tokens`,
      `Listen on 127.0.0.1, and put a proxy with TLS in front.${everywhere && hosts.length === 0 ? ' Name the proxy in gateway.hosts: without it, no name of this machine is answered.' : ''}`,
    ),
  ]
}

/** Nothing if there are no tokens. */
function checkTokens({ home }: GatewayConfig): Finding[] {
  const file = tokensFile(home)
  try {
    const tokens = new TokenStore(file).list()
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    const close = `Run: chmod 600 ${shellWord(file)}`
    if ((mode & mayWrite) !== 0)
      return [
        fail('tokens', `other users of this machine may write ${file}, and give themselves a token`, close),
      ]
    if ((mode & mayRead) !== 0)
      return [warn('tokens', `other users of this machine may read the names and hashes in ${file}`, close)]
    const admins = tokens.filter(({ roles }) => roles.includes('admin')).length
    return tokens.length === 0
      ? []
      : [ok('tokens', `${tokens.length} in ${file}, ${admins} of them with the role admin`)]
  } catch (error) {
    return [fail('tokens', messageOf(error), 'The gateway refuses every request until then.')]
  }
}
