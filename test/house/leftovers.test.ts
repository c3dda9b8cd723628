// What a test file may leave behind is seen (test/support/leftovers.ts). test/support/each-file.ts fails the
// file for it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { protectSecrets } from '@beaver/core/secrets'
import { connectNats, natsJournal, subjectsOf } from '@beaver/nats'
import { until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { present } from '../support/leftovers.ts'
import { testServer } from '../support/nats.ts'

/** What is there after `leave` and was not before, by name. It is taken away again. */
async function left(leave: () => unknown): Promise<string[]> {
  const before = await present()
  const takeAway = await (leave() as Promise<() => unknown>)
  const found = [...(await present()).keys()].filter((name) => !before.has(name))
  await takeAway()
  await until('it is gone', async () => [...(await present()).keys()].every((name) => before.has(name)))
  return found
}

it('a process is a leftover, and so is what it started', async () => {
  const names = await left(async () => {
    const child = spawn('sh', ['-c', 'sleep 600 & echo $!; wait'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await once(child.stdout, 'data')
    return async () => {
      const gone = once(child, 'close')
      process.kill(-(child.pid ?? 0), 'SIGKILL')
      await gone
    }
  })
  expect(names).toEqual([expect.stringMatching(/^process \d+$/), expect.stringMatching(/^process \d+$/)])
})

it('a temporary folder is a leftover', async () => {
  const names = await left(() => {
    const folder = mkdtempSync(join(tmpdir(), 'beaver-left-'))
    return () => rmSync(folder, { recursive: true })
  })
  expect(names).toEqual([expect.stringContaining('folder beaver-left-')])
})

it('an open port is a leftover', async () => {
  const names = await left(async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return () => new Promise((resolve) => server.close(resolve))
  })
  expect(names).toEqual([expect.stringMatching(/^open port \d+$/)])
})

it('a secret that is still protected is a leftover', async () => {
  expect(await left(() => protectSecrets([{ name: 'LEFT', value: 'l3ft-beh1nd-by-a-test' }]))).toEqual([
    'secret LEFT',
  ])
})

it('the streams of a namespace are a leftover, until the use of the server ends', async () => {
  const names = await left(async () => {
    const server = await testServer()
    const nc = await connectNats({ url: server.url, name: 'test' })
    const journal = await natsJournal(nc, subjectsOf(server.newNamespace()))
    journal.close()
    await nc.close()
    return () => server[Symbol.asyncDispose]()
  })
  expect(names).toEqual([expect.stringMatching(/^namespace n\d+_\d+$/)])
})
