import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { homeKeys } from './home-keys.ts'

let home: string
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'beaver-keys-'))))
afterEach(() => rmSync(home, { recursive: true, force: true }))
const folder = (): string => join(home, 'keys')

describe('the keys of a home', () => {
  it('are made when they are first needed, for their owner alone, and stay', () => {
    const keys = homeKeys(folder())
    expect(keys.operator()).toBeNull()
    expect(keys.own('daemon').id).toBe(homeKeys(folder()).own('daemon').id)
    expect(keys.makeOperator().id).toBe(keys.operator()?.id)
    expect(new Set([keys.own('daemon').id, keys.own('projector').id, keys.makeOperator().id]).size).toBe(3)
    expect(statSync(folder()).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(folder())) expect(statSync(join(folder(), name)).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder()).toSorted()).toEqual(['daemon.key', 'operator.key', 'projector.key'])
  })

  it('are put aside once, by the id that was revoked', () => {
    const keys = homeKeys(folder())
    const first = keys.own('daemon')
    keys.putAside('daemon', first.id)
    const second = keys.own('daemon')
    expect(second.id).not.toBe(first.id)
    keys.putAside('daemon', first.id)
    expect(keys.own('daemon').id).toBe(second.id)
  })

  it('that are no keys are an error that names the file', () => {
    homeKeys(folder()).own('daemon')
    writeFileSync(join(folder(), 'daemon.key'), 'no key')
    expect(() => homeKeys(folder()).own('daemon')).toThrow(/daemon\.key is not an Ed25519 key/)
  })

  it('know the first operator of a namespace, and keep it', () => {
    const keys = homeKeys(folder())
    expect(keys.pinned('default')).toBeNull()
    keys.pin('default', 'first')
    keys.pin('default', 'second')
    expect([keys.pinned('default'), keys.pinned('other')]).toEqual(['first', null])
  })
})
