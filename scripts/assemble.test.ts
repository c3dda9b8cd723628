// The package that brings a nats-server: npm installs it only where its file runs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverVersionTested } from '@beaver/nats'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { assembleNatsServer } from './lib/assemble.ts'
import { root } from './lib/layout.mjs'
import { natsServerName } from './lib/published.ts'

let place = ''
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'beaver-assemble-'))
})
afterEach(() => rmSync(place, { recursive: true }))

it.each([
  ['linux-arm64', { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] }],
  ['darwin-arm64', { os: ['darwin'], cpu: ['arm64'] }],
])('the nats-server of %s is for this platform alone, in the version that is tested', (platform, where) => {
  const binary = join(place, 'binary')
  writeFileSync(binary, 'a program')
  const out = join(place, 'out')
  expect(assembleNatsServer(root, out, platform, binary)).toBe(natsServerName(platform))
  const manifest = JSON.parse(readFileSync(join(out, 'package.json'), 'utf8')) as object
  expect(manifest).toMatchObject({
    name: natsServerName(platform),
    version: serverVersionTested,
    exports: { './nats-server': './nats-server' },
    ...where,
  })
  expect('libc' in manifest).toBe('libc' in where)
  expect(readFileSync(join(out, 'nats-server'), 'utf8')).toBe('a program')
})
