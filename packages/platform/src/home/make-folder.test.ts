import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeFolder } from './make-folder.ts'

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-make-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('makes the missing folders, for the user alone, and leaves one that is there', () => {
  const folder = place()
  makeFolder(join(folder, 'a', 'b'))
  writeFileSync(join(folder, 'a', 'b', 'kept'), 'kept')
  makeFolder(join(folder, 'a', 'b'))
  expect(readFileSync(join(folder, 'a', 'b', 'kept'), 'utf8')).toBe('kept')
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700)
})

test('refuses a path with a file, or with a link to nothing, in the place of a folder', () => {
  const folder = place()
  writeFileSync(join(folder, 'file'), '')
  symlinkSync(join(folder, 'nothing'), join(folder, 'link'))
  expect(() => makeFolder(join(folder, 'file'))).toThrow('EEXIST')
  expect(() => makeFolder(join(folder, 'file', 'a'))).toThrow('ENOTDIR')
  expect(() => makeFolder(join(folder, 'link'))).toThrow('ENOENT')
})

test.runIf(existsSync('/proc'))(
  'refuses a folder where nothing can be made, instead of trying without end',
  () => {
    expect(() => makeFolder('/proc/beaver/home')).toThrow('ENOENT')
  },
)
