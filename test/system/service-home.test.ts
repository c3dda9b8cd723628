// AgentService with a nats-server of its own: nothing outlives the program, and nothing of its tasks is lost
// with it.
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectBeaver } from '@beaver/client'
import { AgentService, type AgentServiceOptions } from '@beaver/service'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileCache } from '../support/compile-cache.ts'
import { say } from '../support/fake-provider.ts'
import { type TestServices, testServices } from '../support/service.ts'

let kit: TestServices
beforeAll(async () => void (kit = await testServices(null)))
afterAll(() => kit[Symbol.asyncDispose]())

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
/** Processes this one has started. */
function children(): string[] {
  try {
    return execFileSync('pgrep', ['-P', String(process.pid)])
      .toString()
      .trim()
      .split('\n')
      .filter((pid) => lives(Number(pid)))
  } catch {
    return [] // none
  }
}

describe('a service with a nats-server of its own', () => {
  it('tells what to do when there is no nats-server, and holds nothing', async () => {
    const home = join(kit.workspace, 'missing')
    const service = kit.service({ home, natsServer: '/nonexistent/nats-server' })
    const refused = {
      code: 'server_missing',
      message: expect.stringContaining('BEAVER_NATS_SERVER') as string,
    }
    await expect(service.start()).rejects.toMatchObject(refused)
    expect(service.state).toBe('idle')
    await expect(service.processDirect('x')).rejects.toMatchObject(refused) // tried again, not "in use"
    await service.close()
  })
})

describe('the services of one home, one after the other', () => {
  const { promise: gate, resolve: release } = Promise.withResolvers<void>()
  let options: AgentServiceOptions
  beforeAll(() => {
    const env = { PATH: process.env['PATH'] }
    options = {
      home: join(kit.workspace, 'own'),
      workspace: kit.workspace,
      env,
      config: { daemon: { worker_threads: 1, lease_ms: 500, drain_ms: 0 } },
    }
  })

  it('the first one starts its nats-server again when it dies, goes on, and leaves no process and no lock behind', async () => {
    const before = children()
    const service = new AgentService({ ...options, onWarning: () => {} })
    const { nats_server_pid: pid, provider, nats_url } = await service.boot()
    expect([provider, lives(pid ?? 0)]).toEqual(['simulated', true])
    expect(await service.processDirect('Say what you are.', { taskId: 'before' })).toMatchObject({
      status: 'completed',
      simulated: true,
    })

    process.kill(pid ?? 0, 'SIGKILL')
    await until(
      'the daemon answers again',
      () => service.client.status({ timeoutMs: 250 }).catch(() => null),
      { everyMs: 20 },
    )
    expect(await service.processDirect('Say it again.')).toMatchObject({ status: 'completed' })
    expect(await service.result('before')).toMatchObject({ status: 'completed' })

    await service.close()
    await until('all its processes are gone', () => children().every((child) => before.includes(child)), {
      everyMs: 10,
    })
    await expect(
      connectBeaver({ url: nats_url, namespace: 'default', tenant: 'local', timeoutMs: 500 }),
    ).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('the second one is in a program that is killed, and takes its nats-server with it', async () => {
    kit.provider.answerBy(async ({ number }) => {
      if (number === 1) await gate
      return say('survived')
    })
    const config = {
      ...options.config,
      model: { base_url: kit.provider.url },
      agent: { skill_selection: 'off' as const },
    }
    options = { ...options, apiKey: 'sk-test', config }
    const program = fileURLToPath(new URL('../support/embedding-program.ts', import.meta.url))
    const child = spawn(process.execPath, [program, JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { PATH: process.env['PATH'], ...compileCache },
    })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('message', (message: { nats_server_pid: number }) => resolve(message.nats_server_pid))
      child.once('exit', (code) => reject(new Error(`The program ended with ${code}.`)))
    })
    await until('its model is asked', () => kit.provider.requests.length === 1, { everyMs: 5 })
    child.kill('SIGKILL')
    await exited
    await until('its nats-server is gone', () => !lives(pid), { everyMs: 5 })
  })

  it('the third one goes on with the task of the second, and has the result of the first', async () => {
    await using service = new AgentService(options)
    // The same task with the same id, or its id alone: either returns its result.
    const [asked, again] = await Promise.all([
      service.result('survivor'),
      service.processDirect('Survive your program.', { taskId: 'survivor' }),
    ])
    release()
    expect(asked).toMatchObject({ task_id: 'survivor', status: 'completed', output_text: 'survived' })
    expect(again).toEqual(asked)
    expect(kit.provider.about('Survive your program.')).toHaveLength(2)
    expect(await service.result('before')).toMatchObject({ status: 'completed' })
  })
})
