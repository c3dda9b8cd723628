// Logins at a nats-server that asks who connects: each way, the right one and a wrong one, and the files of TLS.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectNats, type NatsLogin } from '@beaver/nats'
import { until } from '@beaver/testing'
import { nkeys } from '@nats-io/nats-core'
import { generate } from 'selfsigned'
import { describe, expect, it } from 'vitest'
import { runBeaver } from './support/cli.ts'
import { operatorMode, type SecuredServer, securedServer } from './support/secured-nats.ts'

const connected = async (url: string, login: NatsLogin = {}): Promise<boolean> => {
  const nc = await connectNats({ url, login, name: 'login', timeoutMs: 5_000 })
  await nc.close()
  return true
}
const refused = { code: 'unreachable', message: expect.stringMatching(/ refuses (a connection without a login|this login)\. Give it /) as string }
const file = ({ folder }: SecuredServer, name: string, content: string): string => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

describe('a server with users', () => {
  const users = 'authorization { users: [{ user: ann, password: "a b:c%" }] }\n'

  it('takes user and password from the URL, encoded or not, and refuses others without showing them', async () => {
    await using server = await securedServer(() => users)
    await expect(connected(`nats://ann:${encodeURIComponent('a b:c%')}@${server.host}`)).resolves.toBe(true)
    await expect(connected(`nats://ann:a b:c%@${server.host}`)).resolves.toBe(true)
    await expect(connected(`nats://${server.host}`)).rejects.toMatchObject(refused)
    const wrong = connected(`nats://ann:hush@${server.host}`)
    await expect(wrong).rejects.toMatchObject(refused)
    await expect(wrong).rejects.not.toMatchObject({ message: expect.stringContaining('hush') as string })
  })

  it('takes them from the login, and what the URL says comes first', async () => {
    await using server = await securedServer(() => users)
    await expect(connected(server.host, { user: 'ann', password: 'a b:c%' })).resolves.toBe(true)
    await expect(connected(`nats://ann:hush@${server.host}`, { user: 'ann', password: 'a b:c%' })).rejects.toMatchObject(refused)
  })

  it('may be one of several with the same login, or with none of their own', async () => {
    await using server = await securedServer(() => users)
    const login = `ann:${encodeURIComponent('a b:c%')}`
    await expect(connected(`nats://${login}@127.0.0.1:1, nats://${login}@${server.host}`)).resolves.toBe(true)
    await expect(connected(`nats://${login}@127.0.0.1:1,nats://${server.host}`)).resolves.toBe(true)
  })

  it('may be one of several with logins of their own, at the first connection and at later ones', async () => {
    await using one = await securedServer(() => 'authorization { users: [{ user: ann, password: "first" }] }\n')
    await using other = await securedServer(() => 'authorization { users: [{ user: ann, password: "second" }] }\n')
    const url = `nats://ann:first@${one.host},nats://ann:second@${other.host}`
    const reached = new Set<string>()
    for (let i = 0; i < 30; i++) {
      const nc = await connectNats({ url, name: 'login' })
      reached.add(nc.getServer())
      await nc.close()
    }
    expect([...reached].toSorted()).toEqual([one.host, other.host].toSorted())
    const wrong = connected(`nats://ann:second@${one.host},ann:first@${other.host}`)
    await expect(wrong).rejects.toMatchObject(refused)
    await expect(wrong).rejects.not.toMatchObject({ message: expect.stringMatching(/ann|first|second/) as string })

    const nc = await connectNats({ url, name: 'login' })
    const [first, second] = nc.getServer() === one.host ? [one, other] : [other, one]
    await first[Symbol.asyncDispose]()
    await until(
      'it is connected to the other one',
      () =>
        nc.getServer() === second.host &&
        nc.rtt().then(
          () => true,
          () => false,
        ),
    )
    await nc.close()
  })

  it('that have different users need a name in which the process asks', async () => {
    await using server = await securedServer(() => users)
    const url = `nats://ben:hush@127.0.0.1:1,nats://ann:${encodeURIComponent('a b:c%')}@${server.host}`
    const nobody = connected(url)
    await expect(nobody).rejects.toMatchObject({ code: 'invalid_configuration', message: expect.stringContaining('different users (ben, ann)') as string })
    await expect(nobody).rejects.not.toMatchObject({ message: expect.stringContaining('hush') as string })
    await expect(connected(url, { caller: 'program' })).resolves.toBe(true)
    await expect(connected(`nats://t0ken@127.0.0.1:1,nats://ann:b@${server.host}`)).rejects.toMatchObject({ code: 'invalid_configuration' })
  })
})

it('a server with a token takes it from the URL or the login', async () => {
  await using server = await securedServer(() => 'authorization { token: "t0ken" }\n')
  await expect(connected(`nats://t0ken@${server.host}`)).resolves.toBe(true)
  await expect(connected(server.host, { token: 't0ken' })).resolves.toBe(true)
  await expect(connected(server.host, { token: 'other' })).rejects.toMatchObject(refused)
})

it('a server with nkeys takes the seed of a file, which may have comments; a file without one is named', async () => {
  const [ann, ben] = [nkeys.createUser(), nkeys.createUser()]
  const seedOf = (key: typeof ann): string => Buffer.from(key.getSeed()).toString()
  await using server = await securedServer(() => `authorization { users: [{ nkey: ${ann.getPublicKey()} }] }\n`)
  await expect(connected(server.host, { nkeyFile: file(server, 'ann', `# ann\n${seedOf(ann)}\n`) })).resolves.toBe(true)
  await expect(connected(server.host, { nkeyFile: file(server, 'ben', seedOf(ben)) })).rejects.toMatchObject(refused)
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
  await expect(connected(server.host, { credsFile: file(server, 'other.creds', operatorMode().creds) })).rejects.toMatchObject(refused)
  const broken = file(server, 'broken.creds', 'nothing')
  await expect(connected(server.host, { credsFile: broken })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: `The file ${broken} contains no NATS credentials.`,
  })
})

it('a server with TLS is known by its authority, and knows a client by its certificate', async () => {
  // The library checks the certificate of a server that is named by its address against `localhost`.
  const certificate = (name: string) =>
    generate([{ name: 'commonName', value: name }], { extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }] })
  const [own, client] = [await certificate('server'), await certificate('client')]
  const tls = (folder: string): string => {
    for (const [name, content] of Object.entries({ 'own.crt': own.cert, 'own.key': own.private, 'client.crt': client.cert, 'client.key': client.private }))
      writeFileSync(join(folder, name), content)
    return `tls { cert_file: "${folder}/own.crt", key_file: "${folder}/own.key", ca_file: "${folder}/client.crt", verify: true }\n`
  }
  await using server = await securedServer(tls)
  const [caFile, certFile, keyFile] = ['own.crt', 'client.crt', 'client.key'].map((name) => join(server.folder, name)) as [string, string, string]
  await expect(connected(`tls://${server.host}`, { caFile, certFile, keyFile })).resolves.toBe(true)
  await expect(connected(`tls://${server.host}`, { certFile, keyFile })).rejects.toMatchObject({ code: 'unreachable' })
  await expect(connected(`tls://${server.host}`, { caFile })).rejects.toMatchObject({ code: 'unreachable' })
  await expect(connected(`tls://${server.host}`, { caFile, certFile })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: expect.stringContaining('NATS_KEY') as string,
  })
})

it('the whole system logs in, each process with the variables it was given, and no file or output of it has the secret', async () => {
  const ann = nkeys.createUser()
  const seed = Buffer.from(ann.getSeed()).toString()
  await using server = await securedServer(() => `authorization { users: [{ nkey: ${ann.getPublicKey()} }] }\n`)
  const home = join(server.folder, 'home')
  const env = { NATS_URL: `nats://${server.host}`, NATS_NKEY: file(server, 'ann.nk', seed), BEAVER_HOME: home }
  const { out, err } = await runBeaver(['run', '--up', 'Say hello'], { cwd: server.folder, env })
  expect(out).toContain('✔ completed')
  const written = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(written.length).toBeGreaterThan(3)
  for (const text of [out, err, ...written.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'))]) expect(text).not.toContain(seed)
})
