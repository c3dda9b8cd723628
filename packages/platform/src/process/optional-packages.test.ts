import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { optionalPackages, requirePackages } from './optional-packages.ts'

let place = ''
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'beaver-optional-'))
})
afterEach(() => rmSync(place, { recursive: true }))

function install(folder: string, name: string): string {
  const path = join(place, folder, 'node_modules', name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'package.json'), '{}')
  return path
}

const own = (kind: 'package' | 'checkout') => ({
  ...{ folder: install('.', '@beaver-agents/beaver'), kind, name: '@beaver-agents/beaver' },
  ...{ version: '1.0.0', optional: [], peers: { imapflow: '^2.10.2', 'postal-mime': '^4.0.0' } },
})

it('says which packages are missing, and with which command they are added', () => {
  install('.', 'nodemailer')
  const check = () => requirePackages('The channel mail', optionalPackages.email, own('package'))
  expect(check).toThrow(
    expect.objectContaining({
      code: 'package_missing',
      message:
        'The channel mail needs the packages imapflow, postal-mime, which are not installed. Add them beside Beaver: npm install imapflow@^2.10.2 postal-mime@^4.0.0',
    }),
  )
  install('.', 'imapflow')
  expect(check).toThrow('needs the package postal-mime, which is not installed. Add it beside Beaver')
  install('node_modules/@beaver-agents/beaver', 'postal-mime')
  expect(check).not.toThrow()
})

it('names a package without a range if Beaver knows none', () => {
  const check = () => requirePackages('The channel team', ['@chat-adapter/matrix'], own('package'))
  expect(check).toThrow(/npm install @chat-adapter\/matrix$/)
})

it('leaves a checkout to its set-up', () => {
  expect(() => requirePackages('The channel mail', ['imapflow'], own('checkout'))).not.toThrow()
})
