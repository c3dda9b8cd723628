// A script plays the nats-server of a service: it says that it listens, and waits. The pauses before restarts
// take no time.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, silentLogger } from '@beaver/core'
import { expect, it, onTestFinished } from 'vitest'
import { ownServer } from './runtime.ts'

const clock: Clock = {
  now: () => 0,
  after(_delayMs, act) {
    const turn = setImmediate(act)
    return { cancel: () => clearImmediate(turn) }
  },
}

/** @param refused a pattern of the numbers of the starts that fail */
function serverWhoseStartsFail(refused: string) {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-own-server-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const binary = join(folder, 'nats-server')
  writeFileSync(
    binary,
    `#!/bin/sh
[ "$1" = --version ] && { echo "nats-server: v2.99.0"; exit; }
echo started >> "${folder}/starts"
case $(wc -l < "${folder}/starts" | tr -d ' ') in ${refused}) exit 1;; esac
echo '{"nats":["nats://127.0.0.1:4999"]}' > "${dataDir}/ports/nats-server_$$.ports"
exec sleep 60
`,
  )
  chmodSync(binary, 0o700)
  const told: string[] = []
  const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').length
  return {
    told,
    starts,
    start: () =>
      ownServer({
        binary,
        dataDir,
        identities: [],
        tell: (message) => told.push(message),
        logger: silentLogger,
        clock,
      }),
  }
}

it('tries again if a restart of the server fails', async () => {
  const { told, starts, start } = serverWhoseStartsFail('2')
  const server = await start()
  const first = server.pid
  process.kill(first, 'SIGKILL')
  await expect.poll(() => server.pid).not.toBe(first)
  await server.stop()
  expect([starts(), told.length]).toEqual([3, 2])
})

it('fails after five restarts within a minute', async () => {
  const { starts, start, told } = serverWhoseStartsFail('[2-9]')
  const server = await start()
  process.kill(server.pid, 'SIGKILL')
  await expect(server.failed).rejects.toMatchObject({
    code: 'start_failed',
    message: expect.stringMatching(/^The nats-server died 6 times within 60 s/) as string,
  })
  expect([starts(), told.length]).toEqual([6, 5])
  await server.stop()
})
