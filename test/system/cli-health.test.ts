// `beaver up` with `status.listen`, and what `beaver health` says before, during and after it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPrometheusText, until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commandHost, startBeaver } from '../support/cli.ts'

const host = commandHost()
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-health-'))
  // A port that is named would be taken by another test.
  writeFileSync(join(folder, 'beaver.config.json'), JSON.stringify({ gateway: { enabled: false } }))
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const health = (listen: string, ...args: readonly string[]) =>
  host.run(['health', ...args], { cwd: folder, env: { BEAVER_STATUS_LISTEN: listen, BEAVER_TRUST: '1' } })
const up = (listen: string) =>
  startBeaver(['up'], { cwd: folder, env: { BEAVER_STATUS_LISTEN: listen, BEAVER_TRUST: '1' } })

it('"beaver up" shows the addresses, and "beaver health" says what is missing', async () => {
  expect((await health('on')).err).toMatch(/Nothing runs in .*\.beaver\. Start it: ".*beaver up"/)
  await using on = up('on')
  await until('it is up', () => on.out.includes('Ctrl-C stops everything'))
  const shown = [...on.out.matchAll(/(http:\S+\/metrics) \((\w+)\)/g)]
  expect(shown.map(([, , process]) => process)).toEqual(['daemon', 'projector'])
  for (const [, url = ''] of shown)
    expect(readPrometheusText(await (await fetch(url)).text()).has('beaver_nats_connected')).toBe(true)
  expect(await health('on')).toMatchObject({ exit: 0 })
  const none = await health('on', 'gateway')
  expect([none.exit, none.err.trim()]).toEqual([
    3,
    expect.stringMatching(/No gateway of .* can be asked\. These can: daemon, projector\.$/),
  ])
  on.kill('SIGTERM')
  await on.ended
  expect((await health('on')).err).toContain('Nothing runs in ')
})

it('"beaver up" without it says nothing of metrics, and "beaver health" says to switch it on', async () => {
  await using off = up('off')
  await until('it is up', () => off.out.includes('Ctrl-C stops everything'))
  expect(off.out).not.toContain('metrics')
  expect((await health('off')).err).toMatch(
    /Beaver runs in .*"status\.listen" is off.*BEAVER_STATUS_LISTEN=on/s,
  )
  expect((await health('on')).err).toMatch(/no process of it listens\. .*start it again/s)
  off.kill('SIGTERM')
  await off.ended
})
