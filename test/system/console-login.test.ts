// `beaver up` without a word about the gateway in the configuration: it has one, and prints a link with which a
// person logs in. All tests use one system, whose usual port another program has.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSystemFile } from '@beaver/platform'
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import {
  cliEntry,
  cliEnvironment,
  type CliPlace,
  type CliProcess,
  type Ran,
  startBeaver,
} from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'
import { natsServerBinary } from '../support/nats.ts'

let folder: string
let place: CliPlace & { readonly env: Record<string, string> }
let taken: Server
let up: CliProcess
/** The link with which a person logs in first. */
let printed: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-console-'))
  const env = { BEAVER_HOME: join(folder, 'home'), BEAVER_NATS_SERVER: natsServerBinary() }
  place = { cwd: folder, env: { ...env, BEAVER_WORKER_THREADS: '1', BEAVER_LOG: 'debug' } }
  taken = createServer().listen(20_000, '127.0.0.1')
  // If it is not ours, another program has it, which is as good.
  await once(taken, 'listening').catch(() => {})
  up = startBeaver(['up'], place)
  await until('it says where the console is', () => /^Console {2}http:\/\/\S+\/console\/$/m.test(up.out), {
    withinMs: 60_000,
    everyMs: 20,
  })
  printed = await newLink()
  return async () => {
    taken.close()
    await up[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }
})

const beaver = async (...args: readonly string[]): Promise<Ran> => (await keptCommands()).run(args, place)

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<'token' | 'name' | 'detail', string>>
}
async function ask(method: string, path: string, token?: string, body?: object): Promise<Answer> {
  const { origin } = new URL(printed)
  const answer = await fetch(`${origin}/api/v1/${path}`, {
    method,
    headers: {
      // As the page sends it that the gateway serves.
      origin,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}
const codeIn = (link: string): string =>
  /^http:\/\/127\.0\.0\.1:\d+\/console\/#login=([\w-]{22})$/.exec(link)?.[1] ?? ''
const logIn = (link: string): Promise<Answer> => ask('POST', 'login', undefined, { code: codeIn(link) })
async function newLink(...args: readonly string[]): Promise<string> {
  const { exit, out, err } = await beaver('console', ...args)
  expect([exit, err]).toEqual([0, expect.stringContaining('The link works once, for ten minutes.') as string])
  return out.trim()
}

it('no pipe gets a code, and the link of "beaver console" logs in once, as an admin of any user, and the login ends with the logout', async () => {
  expect(new URL(printed).port).not.toBe('20000')
  expect(up.out).toContain('To log in: ')
  expect(up.out).not.toContain('#login')
  const { status, body } = await logIn(printed)
  expect(status).toBe(200)
  const { token } = body
  expect(await ask('GET', 'me', token)).toMatchObject({
    status: 200,
    body: { name: body.name, roles: ['admin'], user_id: null },
  })
  expect((await ask('GET', 'tasks', token)).status).toBe(200)
  expect((await logIn(printed)).status).toBe(401)
  expect((await ask('POST', 'logout', token)).status).toBe(200)
  expect((await ask('GET', 'me', token)).status).toBe(401)
})

it('"beaver console" prints a link for the roles and the user that it names', async () => {
  const { body } = await logIn(await newLink('--role', 'read', '--role', 'approve', '--user', 'ann'))
  expect(await ask('GET', 'me', body.token)).toMatchObject({
    body: { roles: ['read', 'approve'], user_id: 'ann' },
  })
  const { out } = await beaver('console', '--json')
  const link = JSON.parse(out) as Record<'link' | 'expires_at', string>
  expect(link).toMatchObject({ roles: ['admin'], user_id: null })
  expect((await logIn(link.link)).status).toBe(200)
  expect((await beaver('console', '--user', '')).exit).toBe(2)
})

it('a login is in the list of tokens, and ends when it is revoked there', async () => {
  const { token, name } = (await logIn(await newLink())).body
  const { tokens } = JSON.parse((await beaver('token', 'list', '--json')).out) as {
    readonly tokens: readonly { readonly name: string }[]
  }
  expect(tokens.find((each) => each.name === name)).toMatchObject({ login: true, roles: ['admin'] })
  expect((await beaver('token', 'revoke', name)).exit).toBe(0)
  expect((await ask('GET', 'me', token)).status).toBe(401)
})

it('a gateway that was killed comes back at its port, with the codes and the logins of before', async () => {
  const { token } = (await logIn(await newLink())).body
  const link = await newLink()
  const home = place.env['BEAVER_HOME'] ?? ''
  const before = readSystemFile(home)?.children['gateway'] ?? 0
  process.kill(before, 'SIGKILL')
  await until(
    'it is back',
    () => ![null, undefined, before].includes(readSystemFile(home)?.children['gateway']),
  )
  expect((await ask('GET', 'me', token)).status).toBe(200)
  expect((await logIn(link)).status).toBe(200)
})

it('no file of the home has a code or a token', async () => {
  const link = await newLink()
  const { token } = (await logIn(link)).body
  await logIn(link)
  const files = readdirSync(place.env['BEAVER_HOME'] ?? '', { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'))
  expect(files.length).toBeGreaterThan(5)
  for (const text of files)
    for (const secret of [codeIn(printed), codeIn(link), token.slice(7)]) expect(text).not.toContain(secret)
})

it('in a terminal, "beaver up" prints the link itself, and the link logs in', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'beaver-console-terminal-'))
  // A pseudo-terminal of Python, as for the screens of the documentation.
  const inTerminal = 'import pty, sys; pty.spawn(sys.argv[1:])'
  const child = spawn('python3', ['-c', inTerminal, process.execPath, cliEntry, 'up'], {
    cwd,
    env: cliEnvironment({ ...place.env, BEAVER_HOME: join(cwd, 'home'), TERM: 'xterm', NO_COLOR: '1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  try {
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    const link = await until(
      'it prints the link',
      () => /Console {2}(http:\S+#login=[\w-]{22})\s/.exec(said)?.[1],
      { withinMs: 60_000 },
    )
    const { origin } = new URL(link)
    const answer = await fetch(`${origin}/api/v1/login`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ code: codeIn(link) }),
    })
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ roles: ['admin'] }) as object,
    ])
  } finally {
    // Ctrl-C, as a person types it.
    child.stdin.end('\u0003')
    await closed
    rmSync(cwd, { recursive: true })
  }
})

// This test is the last one, because it ends the system.
it('without a running gateway, "beaver console" says what starts one', async () => {
  up.kill('SIGINT')
  expect((await up.ended).exit).toBe(0)
  const { exit, out, err } = await beaver('console')
  expect([exit, out]).toEqual([3, ''])
  expect(err).toContain(`No gateway runs with its data in ${place.env['BEAVER_HOME']}. "`)
  expect(err).toContain('beaver up" starts one')
})
