// `beaver doctor`: checks what Beaver needs. Each check is one line, with advice if something is wrong. Exit
// code 0 if no check fails, otherwise 1.
import { existsSync, statSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { findSandbox, sandboxAdvice, type SandboxPrograms } from '@beaver/agent/tool-kit'
import { BeaverError, messageOf, shellWord, systemClock } from '@beaver/core'
import { firstPort, runningGateways, tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import {
  knowledgeFolders,
  type LeftOutReason,
  leftOutReasons,
  surveyFolder,
  surveyOptions,
} from '@beaver/knowledge'
import {
  beyondRole,
  callerName,
  connectNats,
  embeddedLogin,
  findNatsServer,
  type NatsLogin,
  permitted,
  type Role,
  roles,
  subjectsOf,
} from '@beaver/nats'
import { type Config, type FolderTrust, installation, readSystemFile } from '@beaver/platform'
import { configOf, type GlobalOptions } from '../context.ts'
import { checkChannels } from '../doctor/check-channels.ts'
import { checkCheckpointsElsewhere } from '../doctor/check-checkpoints.ts'
import { checkLoaded } from '../doctor/check-loaded.ts'
import { checkSystem } from '../doctor/check-system.ts'
import { fail, type Finding, ok, warn } from '../doctor/check.ts'
import { screenOf } from '../screen.ts'
import { type FoundSystem, lookForSystem } from '../system/find-system.ts'
import { bytes } from '../text/figures.ts'
import { findingLines } from '../text/finding-lines.ts'
import { oneLine } from '../text/plain-text.ts'
import { tokenAdvice, withoutTokens } from '../text/token-advice.ts'
import { surveyText } from './kb.ts'

export async function doctor(options: { readonly json?: true }, globals: GlobalOptions): Promise<number> {
  const screen = screenOf({ colour: globals.color })
  const findings = await examine(globals)
  const healthy = findings.every(({ status }) => status !== 'fail')
  if (options.json === true) screen.json({ ok: healthy, checks: findings })
  else screen.print(...findings.flatMap((finding) => findingLines(finding, screen)), '', verdict(findings))
  return healthy ? 0 : 1
}

async function examine(globals: GlobalOptions): Promise<Finding[]> {
  try {
    const config = configOf(globals)
    const read = ok(
      'configuration',
      config.file === null
        ? 'there is no beaver.config.json here, so Beaver uses the environment and the defaults'
        : config.file,
    )
    const checks = [
      checkNatsServer(config),
      checkDisk(config.home),
      checkLoopback(),
      checkLoaded(config),
      checkKnowledge(config),
      checkSandbox(config),
      checkCheckpointsElsewhere(config),
    ]
    const found = await Promise.all([
      ...checks,
      checkSystem(config),
      checkPermissions(config),
      checkGateway(config),
      checkChannels(config),
    ])
    return [read, ...checkTrust(config.trust), checkNode(), ...found.flat()]
  } catch (error) {
    if (!(error instanceof BeaverError) || error.code !== 'invalid_configuration') throw error
    return [
      checkNode(),
      fail('configuration', error.message, 'Correct the configuration. Beaver checked nothing else.'),
    ]
  }
}

function verdict(findings: readonly Finding[]): string {
  const of = (status: string): number => findings.filter((finding) => finding.status === status).length
  if (of('fail') > 0) return `${of('fail')} of ${findings.length} checks failed.`
  return of('warn') > 0 ? `Ready, with ${of('warn')} thing${of('warn') === 1 ? '' : 's'} to know.` : 'Ready.'
}

// Reports whether the folder's requests for code, servers and permissions are accepted, and what they would
// do. The doctor itself never asks for consent.

const because = {
  named: 'you named the file, so all of it counts',
  own_code: 'it is part of the program that runs, so all of it counts',
  told: 'BEAVER_TRUST or --trust says so, so all of it counts',
  accepted: 'you accepted what it asks for',
} as const

function checkTrust({ state, by, asked, changed }: FolderTrust): Finding[] {
  if (asked.length === 0) return []
  const what = asked.length === 1 ? '1 setting that needs' : `${asked.length} settings that need`
  if (state === 'trusted')
    return by === null || by === 'nothing_asked' ? [] : [ok('trust', `${what} consent: ${because[by]}`)]
  const says = asked.map((each) => each.says).join('; ')
  if (state === 'refused')
    return [
      warn(
        'trust',
        `left out, as you said: ${says}`,
        'To use these settings: unset BEAVER_TRUST, or leave --no-trust out.',
      ),
    ]
  const [todo, why] = [
    'If you agree: beaver trust. To work without these settings: --no-trust. Beaver checked the others.',
    changed ? 'the folder has changed since you trusted it' : 'nobody trusted this folder yet',
  ]
  return [warn('trust', `${why}, so Beaver leaves out what it asks for: ${says}`, todo)]
}

// Checks the sandbox for the programs that agents run, and says what it does not cover.

const notCovered = 'it bounds the memory of each process, not of all together'

const missing = ({ prlimit, perl }: SandboxPrograms): string[] => [
  ...(prlimit === null ? ['without prlimit there are no bounds for processes'] : []),
  ...(perl === null ? ['system calls are not filtered, which needs perl on x64 or arm64'] : []),
]

async function checkSandbox({
  sandbox,
  run_command: command,
}: Pick<Config, 'sandbox' | 'run_command'>): Promise<Finding> {
  if (sandbox === 'off')
    return warn(
      'sandbox',
      'is off: commands and MCP servers have the rights of this user',
      'Set "sandbox" to "auto" or "required".',
    )
  const found = await findSandbox()
  if (found !== null) return ok('sandbox', [found.backend, notCovered, ...missing(found)].join('; '))
  if (sandbox === 'required')
    return fail(
      'sandbox',
      'is required and this machine has none: Beaver runs no commands and no MCP programs',
      sandboxAdvice,
    )
  const says = command.enabled
    ? 'there is none: commands have the rights of this user, and can read its keys'
    : 'there is none on this machine'
  return warn('sandbox', says, sandboxAdvice)
}

// Checks the folders of the knowledge bases: whether they exist, and which of their files agents cannot find.

async function checkKnowledge({
  knowledge_bases,
  home,
}: Pick<Config, 'knowledge_bases' | 'home'>): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const of of knowledgeFolders(knowledge_bases)) {
    const name = `kb:${of.id}`
    try {
      await using survey = await surveyFolder(of, surveyOptions(home, systemClock.now()))
      // Files of other formats are not reported, because they are usual, such as pictures beside a text.
      const left = (Object.keys(survey.leftOut) as LeftOutReason[]).filter(
        (reason) => reason !== 'other_format',
      )
      const says = left.map(
        (reason) =>
          `${leftOutReasons[reason]}: ${survey.leftOut[reason]} (such as ${survey.examples[reason]?.[0]})`,
      )
      if (survey.documents.length === 0)
        findings.push(
          warn(
            name,
            `${of.folder} has no document`,
            'Agents find nothing there. Documents are text files, such as .md or .txt.',
          ),
        )
      else findings.push(ok(name, `${surveyText(survey)} in ${of.folder}`))
      if (left.length > 0)
        findings.push(
          warn(name, oneLine(`left out. ${says.join('; ')}`, 600), 'Agents do not find these files.'),
        )
    } catch (error) {
      if (!(error instanceof BeaverError)) throw error
      findings.push(warn(name, oneLine(error.message, 600), 'Until then, agents find nothing there.'))
    }
  }
  return findings
}

// Checks the machine: Node.js, the nats-server binary, the disk and the ports.

const nodeMajorMin = 24
const diskBytesMin = 100_000_000
const diskBytesComfortable = 1_000_000_000

export function checkNode(version = process.versions.node): Finding {
  const major = Number(version.split('.')[0])
  return major >= nodeMajorMin
    ? ok('Node.js', version)
    : fail(
        'Node.js',
        `${version} is too old; Beaver needs ${nodeMajorMin} or newer`,
        installation().kind === 'checkout'
          ? 'Run "npm start" once. It installs a current Node.js in the project.'
          : 'Install a newer one from https://nodejs.org.',
      )
}

/**
 * Checks the binary, and reports the sync mode of the embedded server. `checkSystem` checks a server that
 * Beaver did not start.
 */
async function checkNatsServer(config: Config): Promise<Finding[]> {
  const external = config.nats_url !== undefined
  try {
    const { binary, version, from } = await findNatsServer(config.natsServerBinary, process.env['PATH'])
    const found = ok('nats-server', `${version} (${binary}, from ${from})`)
    return external
      ? [found]
      : [found, ok('sync policy', 'always: the embedded server writes every event to disk before it answers')]
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    const [says = '', ...todo] = error.message.split(/(?<=\.) /)
    return [
      external
        ? warn('nats-server', `${says} You do not need it while NATS_URL names a server.`, todo.join(' '))
        : fail('nats-server', says, todo.join(' ')),
    ]
  }
}

/**
 * Checks that the home can be written and has enough free space. If the home does not exist, its nearest
 * parent is checked.
 */
export async function checkDisk(home: string): Promise<Finding> {
  let folder = home
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    const says = `${bytes(free)} free for ${home}`
    if (free < diskBytesMin) return fail('disk', says, 'Make room, or choose another folder with --home.')
    return free < diskBytesComfortable
      ? warn('disk', says, 'Beaver never deletes the journal. Make room before it grows.')
      : ok('disk', says)
  } catch (error) {
    return fail(
      'disk',
      `${folder} cannot be written: ${messageOf(error)}`,
      'Choose another folder with --home, or change its permissions.',
    )
  }
}

/** Checks that a port of the loopback address can be opened. */
export function checkLoopback(): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) =>
      resolve(
        fail(
          'ports',
          `No port on 127.0.0.1 can be opened: ${error.message}`,
          'Allow this user to listen on the loopback address.',
        ),
      ),
    )
    server.listen(0, '127.0.0.1', () =>
      server.close(() =>
        resolve(ok('ports', 'free ports on 127.0.0.1 can be opened; nothing listens on other addresses')),
      ),
    )
  })
}

// Tries what the identities at the NATS server can do beyond their roles, and reports every attempt that
// succeeds. The attempts change nothing.

const connectMsMax = 3_000
const namedMax = 3

/**
 * Checks the identities that this user can use: all identities of the embedded server, otherwise the one that
 * the environment names.
 */
async function checkPermissions(config: Config): Promise<Finding[]> {
  const found = lookForSystem(config)
  if (found === null) return []
  const embedded = config.nats_url === undefined && readSystemFile(config.home)?.embedded === true
  const logins: [Role, NatsLogin][] = embedded
    ? roles.map((role) => [role, embeddedLogin(join(config.home, 'nats'), role)])
    : [[roleOf(found), found.login]]
  try {
    const beyond: string[] = []
    for (const [role, login] of logins) {
      const can = await canBeyond(found, role, login)
      if (can === 'anything') return [asksNobody(found)]
      if (can.length > 0) beyond.push(`${callerName(found.url, login)} (${role}) can also ${listed(can)}`)
    }
    const whom = embedded
      ? 'no identity of the embedded server'
      : `${callerName(found.url, found.login)} at ${new URL(hostOf(found.url)).host}`
    if (beyond.length > 0)
      return [
        fail(
          'permissions',
          `${beyond.join('; ')}.`,
          'Give each user the permissions that "beaver nats-config" prints, and no others.',
        ),
      ]
    return [
      ok(
        'permissions',
        embedded
          ? `${whom} can do more than its role (${logins.length} tried)`
          : `${whom} can do no more than ${roleOf(found) === 'operator' ? 'an' : 'a'} ${roleOf(found)}`,
      ),
    ]
  } catch (error) {
    return [
      warn(
        'permissions',
        `They could not be tried: ${messageOf(error)}`,
        'Correct the login, and run "beaver doctor" again.',
      ),
    ]
  }
}

/**
 * `beaver nats-config` names the users after their roles, except for clients, whose names the operator
 * chooses.
 */
const roleOf = ({ url, login }: FoundSystem): Role =>
  roles.find((role) => role === callerName(url, login)) ?? 'client'

async function canBeyond(found: FoundSystem, role: Role, login: NatsLogin): Promise<string[] | 'anything'> {
  const nc = await connectNats({ url: found.url, login, name: 'beaver-doctor', timeoutMs: connectMsMax })
  try {
    if (nc.info?.auth_required !== true) return 'anything'
    const subjects = subjectsOf(found.namespace, {
      tenant: found.tenant,
      caller: callerName(found.url, login),
    })
    return (await permitted(nc, beyondRole(role, subjects))).map(({ what }) => what)
  } finally {
    await nc.close()
  }
}

const asksNobody = ({ url }: FoundSystem): Finding =>
  warn(
    'permissions',
    `The NATS server at ${new URL(hostOf(url)).host} asks nobody for a login. Who reaches it can read every task, write into the journal, delete from it and decide approvals.`,
    'Set up the users that "beaver nats-config" prints.',
  )

const hostOf = (url: string): string => {
  const first = url.split(',')[0] ?? url
  return first.includes('://') ? first : `nats://${first}`
}

const listed = (all: readonly string[]): string =>
  all.length <= namedMax
    ? all.join(', ')
    : `${all.slice(0, namedMax).join(', ')}, and ${all.length - namedMax} other things`

// Checks the gateway: whether it listens or could listen, who can reach it, and who can change its tokens.

type GatewayConfig = Pick<Config, 'gateway' | 'home' | 'foreignHome'>

const pingMsMax = 2_000
const mayWrite = 0o022
const mayRead = 0o044

export async function checkGateway(config: GatewayConfig): Promise<Finding[]> {
  const tokens = checkTokens(config)
  if (config.gateway.enabled === false)
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

/** A person logs in with a link, and a channel needs no token. */
const noTokens = (channels: readonly string[]): Finding =>
  ok('tokens', `there are none, ${withoutTokens(channels)}. ${tokenAdvice()}`)

async function checkPort({ gateway: { host, port }, home, foreignHome }: GatewayConfig): Promise<Finding> {
  const running = foreignHome ? null : readSystemFile(home)
  const pid = running?.children['gateway']
  if (pid !== undefined) {
    const url = runningGateways(home).find((each) => each.pid === pid)?.url
    return checkAnswer(url ?? (port === undefined || port === 0 ? null : urlOf(host, port)), pid)
  }
  const first = port ?? firstPort(home)
  const refused = await refusalOf(host, first)
  if (refused === null)
    return ok(
      'gateway',
      `"beaver up" starts one at ${port === 0 ? `any free port of ${host}` : `${urlOf(host, first)}, which is free`}`,
    )
  if (refused.code !== 'EADDRINUSE')
    return fail(
      'gateway',
      `it cannot listen at ${urlOf(host, first)}: ${refused.message}`,
      'Set "gateway": {"host": …, "port": …} to an address of this machine.',
    )
  if (port === undefined)
    return ok('gateway', `"beaver up" starts one at any free port of ${host}, because ${first} is taken`)
  return fail(
    'gateway',
    `the port ${port} of ${host} is taken by ${(await answers(urlOf(host, port))) ? 'another gateway' : 'another program'}, so "beaver up" cannot start`,
    'End that program, or set "gateway": {"port": …} to another port.',
  )
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** @param url `null`: unknown */
async function checkAnswer(url: string | null, pid: number | null): Promise<Finding> {
  const process = pid === null ? 'it is being restarted' : `process ${pid}`
  if (url === null) return ok('gateway', `runs (${process}). Its log has its port`)
  if (await answers(url)) return ok('gateway', `answers at ${url} (${process})`)
  return fail(
    'gateway',
    `runs (${process}), but does not answer at ${url}`,
    'Look at logs/gateway.log in the home. After a change of its address, restart "beaver up".',
  )
}

/** Whether any gateway answers at the address. It may belong to another home. */
async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/api/ping`, {
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

/** Checks the file of the tokens. Empty if there are no tokens. */
function checkTokens({ home }: GatewayConfig): Finding[] {
  const file = tokensFile(home)
  try {
    const tokens = new TokenStore(file).list().filter(({ login }) => login !== true)
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
