// `beaver nats-config`: a nats-server takes what it prints as its configuration, a whole system runs on it, and nobody can do more than its role.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientOn } from '@beaver/client'
import { beyondRole, connectNats, permitted, type Role, roles, subjectsOf } from '@beaver/nats'
import { expect, it } from 'vitest'
import { compileCache } from './support/compile-cache.ts'
import { daemonProcess } from './support/daemon.ts'
import { projectorProcess } from './support/projector.ts'
import { securedServer } from './support/secured-nats.ts'

const entry = fileURLToPath(new URL('../apps/cli/src/main.ts', import.meta.url))

function beaver(args: readonly string[], env: Record<string, string>, cwd: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const whole = { PATH: process.env['PATH'] ?? '', ...compileCache, ...env }
    execFile(process.execPath, [entry, ...args], { cwd, env: whole }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

const passwords = Object.fromEntries(['ANNA', 'DAEMON', 'PROJECTOR', 'OPERATOR'].map((name) => [`BEAVER_${name}_PASSWORD`, `secret-of-${name}`]))
const nameOf = (role: Role): string => (role === 'client' ? 'anna' : role)
const loginOf = (role: Role) => ({ user: nameOf(role), password: `secret-of-${nameOf(role).toUpperCase()}` })

it('prints users with passwords, on which a system runs; each can do what it must, and nothing beyond its role', { timeout: 120_000 }, async () => {
  const printed = await beaver(['nats-config', '--client', 'anna'], { BEAVER_NAMESPACE: 'own' }, '/')
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  await using server = await securedServer(() => printed.stdout, passwords)
  const url = `nats://${server.host}`
  writeFileSync(join(server.folder, 'beaver.config.json'), '{}')
  const env = (role: Role): Record<string, string> => ({
    ...{ NATS_URL: url, BEAVER_NAMESPACE: 'own', BEAVER_HOME: join(server.folder, `home-${role}`) },
    ...{ NATS_USER: loginOf(role).user, NATS_PASSWORD: loginOf(role).password },
  })
  const daemon = await daemonProcess({ cwd: server.folder, env: env('daemon') })
  await using _ending = { [Symbol.asyncDispose]: async () => void (daemon.kill('SIGKILL'), await daemon.exited) }
  await using _projector = await projectorProcess({ url, namespace: 'own', env: env('projector') })

  const ran = await beaver(['run', 'Say hello', '--json'], env('client'), server.folder)
  expect(ran).toMatchObject({ code: 0 })
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
  const doctor = await beaver(['doctor', '--json'], env('client'), server.folder)
  expect(JSON.parse(doctor.stdout)).toMatchObject({
    checks: expect.arrayContaining([
      expect.objectContaining({ name: 'permissions', status: 'ok', says: `anna at ${server.host} can do no more than a client` }),
    ]) as unknown,
  })
})

it('makes nkeys where there are none, keeps those that are there, and prints an account for a tenant', async () => {
  await using server = await securedServer(() => '')
  const keys = join(server.folder, 'keys')
  const once = await beaver(['nats-config', '--keys', keys, '--account'], { BEAVER_TENANT: 'acme: Köln' }, '/')
  expect(once).toMatchObject({ code: 0, stdout: expect.stringMatching(/accounts \{\n {2}BEAVER_acme_3A_20K_C3_B6ln \{\n {4}jetstream: enabled/) as string })
  const again = await beaver(['nats-config', '--keys', keys, '--account'], { BEAVER_TENANT: 'acme: Köln' }, '/')
  expect(again.stdout).toBe(once.stdout)
  await using secured = await securedServer(() => again.stdout)
  const nc = await connectNats({ url: `nats://${secured.host}`, login: { nkeyFile: join(keys, 'daemon.nk'), caller: 'daemon' }, name: 'daemon' })
  await nc.close()
})

it('doctor says so if a server asks nobody, and names what a login can do beyond its role', async () => {
  const permissive = 'authorization { users: [ { user: "anna", password: "p" } ] }'
  await using open = await securedServer(() => '')
  await using wide = await securedServer(() => permissive)
  const checks = async (env: Record<string, string>): Promise<unknown> => {
    const { stdout } = await beaver(['doctor', '--json'], { ...env, BEAVER_HOME: join(open.folder, 'home') }, open.folder)
    return (JSON.parse(stdout) as { checks: { name: string }[] }).checks.find(({ name }) => name === 'permissions')
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
