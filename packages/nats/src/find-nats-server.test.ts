import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
