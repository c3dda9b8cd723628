// Given a NATS server that goes away and does not come back, a program that embeds Beaver still shuts down, and ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { compileCache } from './support/compile-cache.ts'
import { testServer } from './support/nats.ts'
import { testServices } from './support/service.ts'

it('shuts down without an error, and leaves nothing that keeps the program', async () => {
  await using kit = await testServices(null)
  const server = await testServer()
  const options = {
    home: join(kit.workspace, 'away'),
    workspace: kit.workspace,
    natsUrl: server.url,
    env: { PATH: process.env['PATH'] },
    config: { daemon: { worker_threads: 1 } },
  }
  const program = fileURLToPath(new URL('support/program-without-nats.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH: process.env['PATH'], ...compileCache },
  })
  try {
    await once(child, 'message')
    await server[Symbol.asyncDispose]()
    const ended = once(child, 'exit')
    child.send('shut down')
    expect(await ended).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
  }
})
