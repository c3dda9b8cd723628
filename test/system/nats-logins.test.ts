// A nats-server that asks who connects: each way to log in, and what `beaver nats-config` prints for a system
// in which nobody can do more than its role. The identities of an embedded server are in
// nats-permissions.test.ts.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type BeaverClient, clientOn } from '@beaver/client'
import {
  beyondRole,
  connectNats,
  type NatsLogin,
  ofAnotherTenant,
  permitted,
  type Role,
  roleLogin,
  roles,
  subjectsOf,
} from '@beaver/nats'
import { held, until } from '@beaver/testing'
import { nkeys } from '@nats-io/nats-core'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliPlace, type Ran, runBeaver, startBeaver } from '../support/cli.ts'
import { type DaemonProcess, daemonProcess } from '../support/daemon.ts'
import { type FakeProvider, fakeProvider, type FakeReply, say } from '../support/fake-provider.ts'
import { keptCommands } from '../support/kept-system.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { operatorMode, type SecuredServer, securedServer } from '../support/secured-nats.ts'

/** With the users ann, who has a password, and `nkey`. */
let withUsers: SecuredServer
const nkey = nkeys.createUser()
/** With anna, who has a password and may do everything. */
let permissive: SecuredServer
/** Without users. */
let open: SecuredServer
beforeAll(async () => {
  await keptCommands()
  withUsers = await securedServer(
    () => `authorization { users: [{ user: ann, password: "a b:c%" }, { nkey: ${nkey.getPublicKey()} }] }\n`,
  )
  permissive = await securedServer(() => 'authorization { users: [{ user: anna, password: p }] }\n')
  open = await securedServer(() => '')
})
afterAll(async () => {
  for (const server of [withUsers, permissive, open]) await server[Symbol.asyncDispose]()
})

const beaver = async (
  args: readonly string[],
  place: Pick<CliPlace, 'cwd' | 'env'> = { cwd: '/' },
): Promise<Ran> => (await keptCommands()).run(args, place)

const connected = async (url: string, login: NatsLogin = {}): Promise<boolean> => {
  const nc = await connectNats({ url, login, name: 'login', timeoutMs: 5_000 })
  await nc.close()
  return true
}
const refused = {
  code: 'unreachable',
  message: expect.stringMatching(/ refuses (a connection without a login|this login)\. Give it /) as string,
}
const file = ({ folder }: SecuredServer, name: string, content: string): string => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

describe('a server with users', () => {
  it('takes user and password from the URL, encoded or not, and refuses others without showing them', async () => {
    await expect(connected(`nats://ann:${encodeURIComponent('a b:c%')}@${withUsers.host}`)).resolves.toBe(
      true,
    )
    await expect(connected(`nats://ann:a b:c%@${withUsers.host}`)).resolves.toBe(true)
    await expect(connected(`nats://${withUsers.host}`)).rejects.toMatchObject(refused)
    const wrong = connected(`nats://ann:hush@${withUsers.host}`)
    await expect(wrong).rejects.toMatchObject(refused)
    await expect(wrong).rejects.not.toMatchObject({ message: expect.stringContaining('hush') as string })
  })

  it('takes them from the login, and what the URL says comes first', async () => {
    await expect(connected(withUsers.host, { user: 'ann', password: 'a b:c%' })).resolves.toBe(true)
    await expect(
      connected(`nats://ann:hush@${withUsers.host}`, { user: 'ann', password: 'a b:c%' }),
    ).rejects.toMatchObject(refused)
  })

  it('may be one of several with the same login, or with none of their own', async () => {
    const login = `ann:${encodeURIComponent('a b:c%')}`
    await expect(connected(`nats://${login}@127.0.0.1:1, nats://${login}@${withUsers.host}`)).resolves.toBe(
      true,
    )
    await expect(connected(`nats://${login}@127.0.0.1:1,nats://${withUsers.host}`)).resolves.toBe(true)
  })

  it('may be one of several with logins of their own, at the first connection and at later ones', async () => {
    await using second = await securedServer(
      () => 'authorization { users: [{ user: ann, password: "second" }] }\n',
    )
    const first = `ann:${encodeURIComponent('a b:c%')}`
    const url = `nats://${first}@${withUsers.host},nats://ann:second@${second.host}`
    const reached = new Set<string>()
    for (let i = 0; i < 30; i++) {
      const nc = await connectNats({ url, name: 'login' })
      reached.add(nc.getServer())
      await nc.close()
    }
    expect([...reached].toSorted()).toEqual([withUsers.host, second.host].toSorted())
    const wrong = connected(`nats://ann:second@${withUsers.host},${first}@${second.host}`)
    await expect(wrong).rejects.toMatchObject(refused)
    await expect(wrong).rejects.not.toMatchObject({
      message: expect.stringMatching(/ann|a b|a%20b|second/) as string,
    })

    let nc = await connectNats({ url, name: 'login' })
    while (nc.getServer() !== second.host) {
      await nc.close()
      nc = await connectNats({ url, name: 'login' })
    }
    await second[Symbol.asyncDispose]()
    await until(
      'it is connected to the other one',
      () =>
        nc.getServer() === withUsers.host &&
        nc.rtt().then(
          () => true,
          () => false,
        ),
    )
    await nc.close()
  })

  it('that have different users need a name in which the process asks', async () => {
    const url = `nats://ben:hush@127.0.0.1:1,nats://ann:${encodeURIComponent('a b:c%')}@${withUsers.host}`
    const nobody = connected(url)
    await expect(nobody).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining('different users (ben, ann)') as string,
    })
    await expect(nobody).rejects.not.toMatchObject({ message: expect.stringContaining('hush') as string })
    await expect(connected(url, { caller: 'program' })).resolves.toBe(true)
    await expect(connected(`nats://t0ken@127.0.0.1:1,nats://ann:b@${withUsers.host}`)).rejects.toMatchObject({
      code: 'invalid_configuration',
    })
  })
})

it('a server with a token takes it from the URL or the login', async () => {
  await using server = await securedServer(() => 'authorization { token: "t0ken" }\n')
  await expect(connected(`nats://t0ken@${server.host}`)).resolves.toBe(true)
  await expect(connected(server.host, { token: 't0ken' })).resolves.toBe(true)
  await expect(connected(server.host, { token: 'other' })).rejects.toMatchObject(refused)
})

it('a server with nkeys takes the seed of a file, which may have comments; a file without one is named', async () => {
  const [server, ann, ben] = [withUsers, nkey, nkeys.createUser()]
  const seedOf = (key: typeof ann): string => Buffer.from(key.getSeed()).toString()
  await expect(
    connected(server.host, { nkeyFile: file(server, 'ann', `# ann\n${seedOf(ann)}\n`) }),
  ).resolves.toBe(true)
  await expect(connected(server.host, { nkeyFile: file(server, 'ben', seedOf(ben)) })).rejects.toMatchObject(
    refused,
  )
  const empty = file(server, 'empty', ann.getPublicKey())
  await expect(connected(server.host, { nkeyFile: empty })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: `The file ${empty} contains no NATS nkey.`,
  })
  const gone = join(server.folder, 'gone')
  await expect(connected(server.host, { nkeyFile: gone })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: expect.stringContaining(gone) as string,
  })
})

it('a server in operator mode takes a file of credentials', async () => {
  const { config, creds } = operatorMode()
  await using server = await securedServer(() => config)
  await expect(connected(server.host, { credsFile: file(server, 'daemon.creds', creds) })).resolves.toBe(true)
  await expect(
    connected(server.host, { credsFile: file(server, 'other.creds', operatorMode().creds) }),
  ).rejects.toMatchObject(refused)
  const broken = file(server, 'broken.creds', 'nothing')
  await expect(connected(server.host, { credsFile: broken })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: `The file ${broken} contains no NATS credentials.`,
  })
})

it('a server with TLS is known by its authority, and knows a client by its certificate', async () => {
  // The library checks the certificate of a server that is named by its address against `localhost`.
  const certificate = (name: string) =>
    generate([{ name: 'commonName', value: name }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
    })
  const [own, client] = [await certificate('server'), await certificate('client')]
  const tls = (folder: string): string => {
    for (const [name, content] of Object.entries({
      'own.crt': own.cert,
      'own.key': own.private,
      'client.crt': client.cert,
      'client.key': client.private,
    }))
      writeFileSync(join(folder, name), content)
    return `tls { cert_file: "${folder}/own.crt", key_file: "${folder}/own.key", ca_file: "${folder}/client.crt", verify: true }\n`
  }
  await using server = await securedServer(tls)
  const [caFile, certFile, keyFile] = ['own.crt', 'client.crt', 'client.key'].map((name) =>
    join(server.folder, name),
  ) as [string, string, string]
  await expect(connected(`tls://${server.host}`, { caFile, certFile, keyFile })).resolves.toBe(true)
  await expect(connected(`tls://${server.host}`, { certFile, keyFile })).rejects.toMatchObject({
    code: 'unreachable',
  })
  await expect(connected(`tls://${server.host}`, { caFile })).rejects.toMatchObject({ code: 'unreachable' })
  await expect(connected(`tls://${server.host}`, { caFile, certFile })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: expect.stringContaining('NATS_KEY') as string,
  })
})

it('the whole system logs in, each process with the variables it was given, and no file or output of it has the secret', async () => {
  const [server, seed] = [withUsers, Buffer.from(nkey.getSeed()).toString()]
  const home = join(server.folder, 'home')
  const env = {
    NATS_URL: `nats://${server.host}`,
    NATS_NKEY: file(server, 'ann.nk', seed),
    BEAVER_HOME: home,
  }
  const { out, err } = await runBeaver(['run', '--up', 'Say hello'], { cwd: server.folder, env })
  expect(out).toContain('✔ completed')
  const written = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  expect(written.length).toBeGreaterThan(3)
  for (const text of [
    out,
    err,
    ...written.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1')),
  ])
    expect(text).not.toContain(seed)
})

describe('what nats-config prints', () => {
  const people = ['anna', 'ben']
  const names = [...people, 'daemon', 'projector', 'gateway', 'operator']
  const passwords = Object.fromEntries(
    names.map((name) => [`BEAVER_${name.toUpperCase()}_PASSWORD`, `secret-of-${name}`]),
  )
  const loginOf = (name: string) => ({ user: name, password: `secret-of-${name}` })
  const nameOf = (role: Role): string => (role === 'client' ? 'anna' : role)

  let server: SecuredServer
  let daemon: DaemonProcess
  let projector: ProjectorProcess
  /** Between the daemon and the server. */
  let line: TcpProxy
  let provider: FakeProvider
  beforeAll(async () => {
    const denials = ['ben:task.steer', 'ben:actors'].flatMap((denied) => ['--deny', denied])
    const args = ['nats-config', ...people.flatMap((name) => ['--client', name]), ...denials]
    const printed = await beaver(args, { cwd: '/', env: { BEAVER_NAMESPACE: 'own' } })
    expect(printed).toMatchObject({ exit: 0, err: '' })
    server = await securedServer(() => printed.out, passwords)
    writeFileSync(join(server.folder, 'beaver.config.json'), '{}')
    line = await tcpProxy(Number(server.host.split(':')[1]))
    provider = await fakeProvider()
    const at = {
      NATS_URL: `nats://127.0.0.1:${line.port}`,
      OPENAI_BASE_URL: provider.url,
      OPENAI_API_KEY: 'none',
    }
    daemon = await daemonProcess({ cwd: server.folder, env: { ...env('daemon'), ...at } })
    projector = await projectorProcess({ url: url(), namespace: 'own', env: env('projector') })
  })
  afterAll(async () => {
    daemon.kill('SIGKILL')
    await daemon.exited
    await projector[Symbol.asyncDispose]()
    for (const each of [line, provider, server]) await each[Symbol.asyncDispose]()
  })

  const url = (): string => `nats://${server.host}`
  const env = (name: string): Record<string, string> => ({
    ...{ NATS_URL: url(), BEAVER_NAMESPACE: 'own', BEAVER_HOME: join(server.folder, `home-${name}`) },
    ...{ NATS_USER: name, NATS_PASSWORD: `secret-of-${name}` },
  })
  const as = async (name: string): Promise<BeaverClient> => {
    const nc = await connectNats({ url: url(), login: loginOf(name), name })
    return clientOn(nc, subjectsOf('own', { caller: name }))
  }

  it(
    'has users with passwords, on which a system runs; each can do what it must, and nothing beyond its role',
    { timeout: 120_000 },
    async () => {
      expect(
        await beaver(['run', 'Say hello', '--task-id', 'hello', '--json'], {
          cwd: server.folder,
          env: env('anna'),
        }),
      ).toMatchObject({ exit: 0 })
      await using client = await as('anna')
      await until('the projector knows it', async () =>
        (await client.query('tasks', {})).tasks.some(({ status }) => status === 'completed'),
      )
      for await (const event of client.watch('hello'))
        if (event.type === 'task_submitted') expect(event.data.by).toBe('anna')
      await expect(client.submit({ task: 'x', user_id: 'ben' })).rejects.toMatchObject({
        code: 'not_allowed',
      })
      for (const role of roles) {
        const probing = await connectNats({ url: url(), login: loginOf(nameOf(role)), name: role })
        expect([
          role,
          await permitted(probing, beyondRole(role, subjectsOf('own', { caller: nameOf(role) }))),
        ]).toEqual([role, []])
        await probing.close()
      }
      const doctor = await beaver(['doctor', '--json'], { cwd: server.folder, env: env('anna') })
      expect(JSON.parse(doctor.out)).toMatchObject({
        checks: expect.arrayContaining([
          expect.objectContaining({
            name: 'permissions',
            status: 'ok',
            says: `anna at ${server.host} can do no more than a client`,
          }),
        ]) as unknown,
      })
    },
  )

  it('denies a client what it may not ask for: one that may submit and cancel may not steer', async () => {
    await using anna = await as('anna')
    await using ben = await as('ben')
    await anna.run({ task: 'Say hello', task_id: 't' })
    await expect(ben.cancel('t', 'x')).rejects.toMatchObject({ code: 'conflict' })
    await expect(ben.steer('t', 'x')).rejects.toMatchObject({ code: 'not_allowed' })
    await expect(anna.steer('t', 'x')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('lets the gateway look at each part of the system', async () => {
    await using gateway = await as(nameOf('gateway'))
    // A busy machine may be late with a part, which then says so.
    const { streams, daemons, projector } = await until('each part answers', async () => {
      const state = await gateway.system()
      const isWhole = [state.streams, state.projector, ...state.daemons.list].every(
        ({ problem }) => problem === null,
      )
      return isWhole && state.daemons.list.some(({ endpoints }) => endpoints !== null) ? state : null
    })
    expect(streams.list.map(({ what, state }) => `${what} ${state}`)).toEqual(
      expect.arrayContaining(['journal', 'wakes', 'blobs', 'memory'].map((what) => `${what} answers`)),
    )
    expect([daemons.problem, projector.quarantined]).toEqual([null, 0])
  })

  it('lets each client ask every daemon for its actors, unless that is denied', async () => {
    const actors = async (name: string): Promise<Record<'daemons' | 'unanswered', readonly object[]>> =>
      JSON.parse(
        (await beaver(['status', '--actors', '--json'], { cwd: server.folder, env: env(name) })).out,
      ) as never
    expect(await actors('anna')).toMatchObject({ daemons: [{ daemon: daemon.id }], unanswered: [] })
    expect(await actors('ben')).toMatchObject({
      daemons: [],
      unanswered: [
        { daemon: daemon.id, reason: expect.stringContaining('This login may not ask') as string },
      ],
    })
  })

  it('lets a client learn how its task ended from a daemon that has another connection since it was asked', async () => {
    const nc = await connectNats({ url: url(), login: loginOf('anna'), name: 'anna' })
    // By the clock alone it would ask again after an hour.
    await using anna = clientOn(nc, subjectsOf('own', { caller: 'anna' }), { askAgainMs: 3_600_000 })
    const answer = held<FakeReply>()
    provider.answerBy(() => answer.promise)
    const since = Date.now()
    const run = anna.run({ task: 'Say it late', task_id: 'late' })
    await until('the model is asked', () => provider.about('Say it late').length === 1)
    line.cut()
    // The client listens by then.
    await until('the daemon is back', () =>
      anna.status().then(
        () => Date.now() - since > 3_000,
        () => false,
      ),
    )
    answer.settle(say('It is late.'))
    expect(await run).toMatchObject({ status: 'completed', final_output: 'It is late.' })
  })

  it.each([
    ['carl:task.steer', 'names no client'],
    ['ben:task.sing', 'There is no request "task.sing"'],
    ['ben', 'There is no request ""'],
  ])('is nothing if it is to deny %s', async (denial, message) => {
    expect(await beaver(['nats-config', '--client', 'ben', '--deny', denial])).toMatchObject({
      exit: 2,
      err: expect.stringContaining(message) as string,
    })
  })

  it('has nkeys, which it makes where there are none and keeps where there are, and an account for a tenant', async () => {
    const keys = join(server.folder, 'keys')
    const print = (): Promise<Ran> =>
      beaver(['nats-config', '--keys', keys, '--account'], { cwd: '/', env: { BEAVER_TENANT: 'acme: Köln' } })
    const once = await print()
    expect(once).toMatchObject({
      exit: 0,
      out: expect.stringMatching(
        /accounts \{\n {2}BEAVER_acme_3A_20K_C3_B6ln \{\n {4}jetstream: enabled/,
      ) as string,
    })
    const again = await print()
    expect(again.out).toBe(once.out)
    await using secured = await securedServer(() => again.out)
    const nc = await connectNats({
      url: `nats://${secured.host}`,
      login: { nkeyFile: join(keys, 'daemon.nk'), caller: 'daemon' },
      name: 'daemon',
    })
    await nc.close()
  })

  it.each([
    ['passwords', []],
    ['nkeys', ['--keys', 'keys-of-tenants']],
    ['nkeys, each in an account', ['--keys', 'keys-of-accounts', '--account']],
  ])(
    'has the users of several tenants, with %s, and nobody of one tenant reaches another',
    async (_, more) => {
      const { out, exit } = await beaver(
        ['nats-config', '--tenant', 'acme', '--tenant', 'beta', ...more, '--json'],
        { cwd: server.folder },
      )
      expect(exit).toBe(0)
      const { users } = JSON.parse(out) as {
        users: { tenant: string; role: Role; name: string; environment: Record<string, string> }[]
      }
      const text = await beaver(['nats-config', '--tenant', 'acme', '--tenant', 'beta', ...more], {
        cwd: server.folder,
      })
      const secrets = Object.fromEntries(
        users.map(({ name }) => [
          `BEAVER_${name.toUpperCase().replace(/\W/g, '_')}_PASSWORD`,
          `secret-of-${name}`,
        ]),
      )
      await using secured = await securedServer(() => text.out, secrets)
      for (const { tenant, role, name, environment } of users) {
        const { NATS_USER: user, NATS_NKEY: key = '', BEAVER_CALLER: caller = '' } = environment
        // A folder of keys gives each role its own.
        const login =
          user === undefined ? roleLogin({ keysFolder: dirname(key), caller }, role) : loginOf(user)
        const nc = await connectNats({ url: `nats://${secured.host}`, login, name })
        const other = subjectsOf('default', { tenant: tenant === 'acme' ? 'beta' : 'acme', caller: name })
        const probes = ofAnotherTenant(other).filter((_, i) => i % 4 === 0)
        // In an account of its own it may ask for anything, and there is nothing of another tenant.
        expect([name, more.includes('--account') ? [] : await permitted(nc, probes)]).toEqual([name, []])
        await nc.close()
      }
    },
  )
})

it('doctor says so if a server asks nobody, and names what a login can do beyond its role', async () => {
  const checks = async (env: Record<string, string>): Promise<unknown> => {
    const { out } = await beaver(['doctor', '--json'], {
      cwd: open.folder,
      env: { ...env, BEAVER_HOME: join(open.folder, 'home') },
    })
    return (JSON.parse(out) as { checks: { name: string }[] }).checks.find(
      ({ name }) => name === 'permissions',
    )
  }
  expect(await checks({ NATS_URL: `nats://${open.host}` })).toMatchObject({
    status: 'warn',
    says: expect.stringContaining('asks nobody for a login') as string,
  })
  expect(
    await checks({ NATS_URL: `nats://${permissive.host}`, NATS_USER: 'anna', NATS_PASSWORD: 'p' }),
  ).toMatchObject({
    status: 'fail',
    says: expect.stringMatching(
      /^anna \(client\) can also ask in the name of somebody else, .* and \d+ other things\.$/,
    ) as string,
  })
})

describe('beaver up at a server with users', () => {
  let secured: SecuredServer
  let env: Record<string, string>
  beforeAll(async () => {
    const printed = await beaver(['nats-config', '--keys', join(open.folder, 'keys-for-up')])
    secured = await securedServer(() => printed.out)
    writeFileSync(join(secured.folder, 'beaver.config.json'), '{}')
    env = { NATS_URL: `nats://${secured.host}`, BEAVER_HOME: join(secured.folder, 'home'), BEAVER_TRUST: '1' }
  })
  afterAll(() => secured[Symbol.asyncDispose]())

  it('with one login for all parts says which part may not do its work, and is not up', async () => {
    const one = { NATS_NKEY: join(open.folder, 'keys-for-up', 'daemon.nk'), BEAVER_CALLER: 'daemon' }
    const { exit, out, err } = await runBeaver(['up'], { cwd: secured.folder, env: { ...env, ...one } })
    expect([exit, out]).toEqual([
      expect.toSatisfy((code) => code !== 0),
      expect.not.stringContaining('is up'),
    ])
    expect(err).toContain('The login of the projector may not receive queries at')
    expect(err).toContain('BEAVER_NATS_KEYS')
  })

  it('gives each part the key of its role from one folder', async () => {
    const all = { ...env, BEAVER_NATS_KEYS: join(open.folder, 'keys-for-up') }
    await using up = startBeaver(['up'], { cwd: secured.folder, env: all })
    await until('it is up, with its gateway', () => up.out.includes('is up') && up.out.includes('/console/'))
    expect(await beaver(['run', 'Say hello', '--json'], { cwd: secured.folder, env: all })).toMatchObject({
      exit: 0,
    })
    const status = await until('the read model is there', async () => {
      const ran = await beaver(['status'], { cwd: secured.folder, env: all })
      return ran.exit === 0 && ran.out
    })
    expect(status).toContain('1 completed')
    const page = readFileSync(new URL('../../docs/how-to/submit-tasks.md', import.meta.url), 'utf8')
    const program = /```js\n(import \{ readFileSync[^]*?)```/.exec(page)?.[1] ?? ''
    // Beside the packages that it imports.
    const script = join(new URL('../../packages/nats', import.meta.url).pathname, `submit-${process.pid}.mjs`)
    writeFileSync(script, program)
    try {
      const login = {
        NATS_URL: `nats://${secured.host}`,
        NATS_NKEY: join(open.folder, 'keys-for-up', 'client.nk'),
        BEAVER_CALLER: 'client',
      }
      const ran = await runBeaver([], { cwd: secured.folder, env: login, script })
      expect(ran).toMatchObject({
        exit: 0,
        err: '',
        out: expect.stringContaining("task_id: 'task_") as string,
      })
    } finally {
      rmSync(script)
    }
    expect(await beaver(['keys', 'list'], { cwd: secured.folder, env: all })).toMatchObject({
      exit: 0,
      out: expect.stringContaining('operator') as string,
    })
    up.kill('SIGINT')
    expect((await up.ended).exit).toBe(0)
  })
})
