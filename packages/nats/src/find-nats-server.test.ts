import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { thisPlatform } from '@beaver/platform/installation'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findNatsServer } from './find-nats-server.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-nats-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function fake(place: string, version: string): string {
  mkdirSync(join(folder, place))
  const file = join(folder, place, 'nats-server')
  writeFileSync(file, `#!/bin/sh\necho "nats-server: v${version}"\n`)
  chmodSync(file, 0o755)
  return file
}

test('one that was named wins over PATH', async () => {
  const named = fake('named', '2.12.1')
  fake('path', '2.15.0')
  expect(await findNatsServer(named, join(folder, 'path'))).toEqual({
    binary: named,
    version: '2.12.1',
    from: 'BEAVER_NATS_SERVER',
  })
})

test('one that was named and is too old is refused, not passed over', async () => {
  fake('path', '2.15.0')
  await expect(findNatsServer(fake('named', '2.9.10'), join(folder, 'path'))).rejects.toMatchObject({
    code: 'server_too_old',
    message: expect.stringContaining('2.9.10') as string,
  })
})

test('on PATH the first that is new enough is taken', async () => {
  fake('old', '2.10.27')
  const good = fake('new', '2.14.0')
  expect(await findNatsServer(null, `${join(folder, 'old')}:${join(folder, 'new')}`)).toMatchObject({
    binary: good,
    from: 'PATH',
  })
})

/** An installed Beaver whose package brings nats-servers. */
function installed() {
  const home = join(folder, 'node_modules', '@acme', 'beaver')
  mkdirSync(home, { recursive: true })
  const optional = [`@acme/nats-server-${thisPlatform}`, '@acme/nats-server-amiga-68k']
  return {
    folder: home,
    kind: 'package' as const,
    name: '@acme/beaver',
    version: '1.0.0',
    optional,
    peers: {},
  }
}

function packed(version: string): string {
  mkdirSync(join(folder, 'node_modules', '@acme'), { recursive: true })
  const place = join('node_modules', '@acme', `nats-server-${thisPlatform}`)
  const file = fake(place, version)
  const exports = { './nats-server': './nats-server' }
  writeFileSync(join(folder, place, 'package.json'), JSON.stringify({ exports }))
  return file
}

test('the one of the package for this platform is found beside Beaver, after those on PATH', async () => {
  const file = packed('2.15.1')
  expect(await findNatsServer(null, '', installed())).toEqual({
    binary: realpathSync(file),
    version: '2.15.1',
    from: 'its package',
  })
  const onPath = fake('path', '2.14.0')
  expect(await findNatsServer(null, join(folder, 'path'), installed())).toMatchObject({ binary: onPath })
})

test('one that is too old on PATH gives way to the one of the package', async () => {
  packed('2.15.1')
  fake('path', '2.10.0')
  expect(await findNatsServer(null, join(folder, 'path'), installed())).toMatchObject({ from: 'its package' })
})

test('without one, an installed Beaver names the package that brings it', async () => {
  await expect(findNatsServer(null, '', installed())).rejects.toMatchObject({
    code: 'server_missing',
    message: `No nats-server was found. Run "npm install @acme/nats-server-${thisPlatform}", set BEAVER_NATS_SERVER to one, or name a running server in NATS_URL.`,
  })
})
