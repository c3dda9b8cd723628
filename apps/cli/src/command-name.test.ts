import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandName } from './command-name.ts'

let place = ''
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-name-')))
})
afterEach(() => rmSync(place, { recursive: true }))

function launcherIn(folder: string, name: string): string {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const file = join(folder, 'bin', name)
  writeFileSync(file, '#!/bin/sh\n')
  chmodSync(file, 0o755)
  return file
}

function linkIn(folder: string, launcher: string): string {
  mkdirSync(folder, { recursive: true })
  symlinkSync(launcher, join(folder, 'beaver'))
  return folder
}

const own = (folder: string, kind: 'package' | 'checkout') => ({
  ...{ folder, kind, name: '@beaver-agents/beaver', version: '1.0.0', optional: [], peers: {} },
})

describe('the command of a checkout', () => {
  it('is beaver if PATH leads to its launcher, otherwise the path of that', () => {
    const checkout = join(place, 'checkout')
    const launcher = launcherIn(checkout, 'beaver')
    const PATH = linkIn(join(place, 'bin'), launcher)
    expect(commandName({ PATH }, checkout, own(checkout, 'checkout'))).toBe('beaver')
    expect(commandName({}, checkout, own(checkout, 'checkout'))).toBe('./bin/beaver')
    expect(commandName({ INIT_CWD: join(checkout, 'docs') }, checkout, own(checkout, 'checkout'))).toBe(
      '../bin/beaver',
    )
  })
})

describe('the command of an installed package', () => {
  it('is npx beaver in the project that has it, although npx adds it to PATH', () => {
    const folder = join(place, 'project/node_modules/@beaver-agents/beaver')
    const PATH = linkIn(join(place, 'project/node_modules/.bin'), launcherIn(folder, 'beaver.mjs'))
    expect(commandName({ PATH }, join(place, 'project'), own(folder, 'package'))).toBe('npx beaver')
    expect(commandName({ PATH }, join(place, 'project/src'), own(folder, 'package'))).toBe('npx beaver')
  })

  it('has the whole name elsewhere, because another package is called beaver', () => {
    const folder = join(place, '.npm/_npx/1/node_modules/@beaver-agents/beaver')
    launcherIn(folder, 'beaver.mjs')
    expect(commandName({}, join(place, 'project'), own(folder, 'package'))).toBe('npx @beaver-agents/beaver')
  })

  it('is beaver if it is installed for all projects', () => {
    const folder = join(place, 'lib/node_modules/@beaver-agents/beaver')
    const PATH = linkIn(join(place, 'bin'), launcherIn(folder, 'beaver.mjs'))
    expect(commandName({ PATH }, join(place, 'project'), own(folder, 'package'))).toBe('beaver')
  })
})
