// `beaver nats-config`: a nats-server takes what it prints as its configuration, a whole system runs on it, and nobody can do more than its role.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientOn } from '@beaver/client'
import { beyondRole, connectNats, permitted, type Role, roles, subjectsOf } from '@beaver/nats'
import { expect, it } from 'vitest'
import { runBeaver } from './support/cli.ts'
import { daemonProcess } from './support/daemon.ts'
import { projectorProcess } from './support/projector.ts'
import { securedServer } from './support/secured-nats.ts'

const passwords = Object.fromEntries(['ANNA', 'DAEMON', 'PROJECTOR', 'GATEWAY', 'OPERATOR'].map((name) => [`BEAVER_${name}_PASSWORD`, `secret-of-${name}`]))
const nameOf = (role: Role): string => (role === 'client' ? 'anna' : role)
const loginOf = (role: Role) => ({ user: nameOf(role), password: `secret-of-${nameOf(role).toUpperCase()}` })

it('prints users with passwords, on which a system runs; each can do what it must, and nothing beyond its role', { timeout: 120_000 }, async () => {
  const printed = await runBeaver(['nats-config', '--client', 'anna'], { cwd: '/', env: { BEAVER_NAMESPACE: 'own' } })
  expect(printed).toMatchObject({ exit: 0, err: '' })
  await using server = await securedServer(() => printed.out, passwords)
  const url = `nats://${server.host}`
  writeFileSync(join(server.folder, 'beaver.config.json'), '{}')
  const env = (role: Role): Record<string, string> => ({
    ...{ NATS_URL: url, BEAVER_NAMESPACE: 'own', BEAVER_HOME: join(server.folder, `home-${role}`) },
    ...{ NATS_USER: loginOf(role).user, NATS_PASSWORD: loginOf(role).password },
  })
  const daemon = await daemonProcess({ cwd: server.folder, env: env('daemon') })
  await using _ending = { [Symbol.asyncDispose]: async () => void (daemon.kill('SIGKILL'), await daemon.exited) }
  await using _projector = await projectorProcess({ url, namespace: 'own', env: env('projector') })

  const ran = await runBeaver(['run', 'Say hello', '--json'], { cwd: server.folder, env: env('client') })
  expect(ran).toMatchObject({ exit: 0 })
  const nc = await connectNats({ url, login: loginOf('client'), name: 'reader' })
  const client = clientOn(nc, subjectsOf('own', { caller: 'anna' }))
  const { tasks } = await client.query('tasks', {})
  expect(tasks).toMatchObject([{ status: 'completed' }])
  for await (const event of client.watch(tasks[0]?.task_id ?? '')) if (event.type === 'task_submitted') expect(event.data.by).toBe('anna')
  await expect(client.submit({ task: 'x', user_id: 'ben' })).rejects.toMatchObject({ code: 'not_allowed' })
  await nc.close()

  for (const role of roles) {
    const probing = await connectNats({ url, login: loginOf(role), name: role })
    expect([role, await permitted(probing, beyondRole(role, subjectsOf('own', { caller: nameOf(role) })))]).toEqual([role, []])
    await probing.close()
  }
  const doctor = await runBeaver(['doctor', '--json'], { cwd: server.folder, env: env('client') })
  expect(JSON.parse(doctor.out)).toMatchObject({
    checks: expect.arrayContaining([
      expect.objectContaining({ name: 'permissions', status: 'ok', says: `anna at ${server.host} can do no more than a client` }),
    ]) as unknown,
  })
})

it('denies a client what it may not ask for: one that may submit and cancel may not steer', { timeout: 120_000 }, async () => {
  const args = ['nats-config', '--client', 'anna', '--client', 'ben', '--deny', 'ben:task.steer']
  const printed = await runBeaver(args, { cwd: '/', env: { BEAVER_NAMESPACE: 'own' } })
  await using server = await securedServer(() => printed.out, { ...passwords, BEAVER_BEN_PASSWORD: 'secret-of-BEN' })
  const url = `nats://${server.host}`
  writeFileSync(join(server.folder, 'beaver.config.json'), '{}')
  const env = { NATS_URL: url, BEAVER_NAMESPACE: 'own', BEAVER_HOME: join(server.folder, 'home'), NATS_USER: 'daemon', NATS_PASSWORD: 'secret-of-DAEMON' }
  const daemon = await daemonProcess({ cwd: server.folder, env })
  await using _ending = { [Symbol.asyncDispose]: async () => void (daemon.kill('SIGKILL'), await daemon.exited) }
  const as = async (name: string) => {
    const nc = await connectNats({ url, login: { user: name, password: `secret-of-${name.toUpperCase()}` }, name })
    return clientOn(nc, subjectsOf('own', { caller: name }))
  }
  await using anna = await as('anna')
  await using ben = await as('ben')
  await anna.run({ task: 'Say hello', task_id: 't' })
  await expect(ben.cancel('t', 'x')).rejects.toMatchObject({ code: 'conflict' })
  await expect(ben.steer('t', 'x')).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(anna.steer('t', 'x')).rejects.toMatchObject({ code: 'conflict' })

  for (const [denial, message] of [
    ['carl:task.steer', 'names no client'],
    ['ben:task.sing', 'There is no request "task.sing"'],
    ['ben', 'There is no request ""'],
  ] as const)
    expect(await runBeaver(['nats-config', '--client', 'ben', '--deny', denial], { cwd: '/' })).toMatchObject({
      exit: 2,
      err: expect.stringContaining(message) as string,
    })
})

it('makes nkeys where there are none, keeps those that are there, and prints an account for a tenant', async () => {
  await using server = await securedServer(() => '')
  const keys = join(server.folder, 'keys')
  const once = await runBeaver(['nats-config', '--keys', keys, '--account'], { cwd: '/', env: { BEAVER_TENANT: 'acme: Köln' } })
  expect(once).toMatchObject({ exit: 0, out: expect.stringMatching(/accounts \{\n {2}BEAVER_acme_3A_20K_C3_B6ln \{\n {4}jetstream: enabled/) as string })
  const again = await runBeaver(['nats-config', '--keys', keys, '--account'], { cwd: '/', env: { BEAVER_TENANT: 'acme: Köln' } })
  expect(again.out).toBe(once.out)
  await using secured = await securedServer(() => again.out)
  const nc = await connectNats({ url: `nats://${secured.host}`, login: { nkeyFile: join(keys, 'daemon.nk'), caller: 'daemon' }, name: 'daemon' })
  await nc.close()
})

it('doctor says so if a server asks nobody, and names what a login can do beyond its role', async () => {
  const permissive = 'authorization { users: [ { user: "anna", password: "p" } ] }'
  await using open = await securedServer(() => '')
  await using wide = await securedServer(() => permissive)
  const checks = async (env: Record<string, string>): Promise<unknown> => {
    const { out } = await runBeaver(['doctor', '--json'], { cwd: open.folder, env: { ...env, BEAVER_HOME: join(open.folder, 'home') } })
    return (JSON.parse(out) as { checks: { name: string }[] }).checks.find(({ name }) => name === 'permissions')
  }
  expect(await checks({ NATS_URL: `nats://${open.host}` })).toMatchObject({
    status: 'warn',
    says: expect.stringContaining('asks nobody for a login') as string,
  })
  expect(await checks({ NATS_URL: `nats://${wide.host}`, NATS_USER: 'anna', NATS_PASSWORD: 'p' })).toMatchObject({
    status: 'fail',
    says: expect.stringMatching(/^anna \(client\) can also ask in the name of somebody else, .* and \d+ other things\.$/) as string,
  })
})
