import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lastPort, runningGateways, writeGatewayFile } from './gateway-file.ts'

let home = ''
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'beaver-gateway-file-'))))
afterEach(() => rmSync(home, { recursive: true }))

const write = (port: number, started: string, found = true): (() => void) =>
  writeGatewayFile(home, {
    url: `http://127.0.0.1:${port}`,
    port,
    port_found: found,
    started_at: `2026-11-29T0${started}Z`,
  })
const urls = (): string[] => runningGateways(home).map(({ url }) => url)
const files = (): string[] => readdirSync(join(home, 'run')).toSorted()

it('tells the gateways that run, first the one that started first, to the owner of the home', () => {
  expect([urls(), lastPort(home)]).toEqual([[], null])
  const [second, first] = [write(2, '2:00'), write(1, '1:00', false)]
  expect(urls()).toEqual(['http://127.0.0.1:1', 'http://127.0.0.1:2'])
  expect(statSync(join(home, 'run', 'gateway-1.json')).mode & 0o777).toBe(0o600)
  first()
  second()
  expect(urls()).toEqual([])
})

it('remembers the port that a gateway found, also of one that was killed, and no configured port', () => {
  write(1, '1:00', false)()
  expect([lastPort(home), existsSync(join(home, 'run', 'gateway-1.json'))]).toEqual([null, false])
  const stopped = write(2, '2:00')
  expect(lastPort(home)).toBeNull() // Its gateway still has it.
  stopped()
  expect(lastPort(home)).toBe(2)
  const killed = { pid: 2 ** 22, process_start: 'another boot:1', url: 'http://127.0.0.1:3', port: 3 }
  writeFileSync(
    join(home, 'run', 'gateway-3.json'),
    JSON.stringify({ ...killed, port_found: true, started_at: '2026-11-29T01:00Z' }),
  )
  expect([lastPort(home), urls()]).toEqual([3, []])
})

it('keeps one port for the next gateway, and passes over files that it did not write', () => {
  write(1, '1:00')()
  write(2, '2:00')()
  writeFileSync(join(home, 'run', 'gateway-4.json'), '{')
  writeFileSync(join(home, 'run', 'gateway-5.json'), '{"pid":1}')
  expect([lastPort(home), files()]).toEqual([2, ['gateway-2.json', 'gateway-4.json', 'gateway-5.json']])
})
