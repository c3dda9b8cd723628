import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { workspaceFolders } from './workspace-folders.ts'

it('tells a folder, a file, and nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-folders-'))
  const file = join(folder, 'a.txt')
  writeFileSync(file, 'a')
  const folders = workspaceFolders(virtualClock())
  expect([await folders.at(folder), await folders.at(file), await folders.at(join(folder, 'none'))]).toEqual(['folder', 'file', 'missing'])
  rmSync(folder, { recursive: true })
})

it('looks again after a second, and at once for what was not there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-folders-'))
  const clock = virtualClock()
  const folders = workspaceFolders(clock)
  const later = join(folder, 'later')
  expect([await folders.at(folder), await folders.at(later)]).toEqual(['folder', 'missing'])
  writeFileSync(later, '')
  expect(await folders.at(later)).toBe('file')
  rmSync(folder, { recursive: true })
  expect(await folders.at(folder)).toBe('folder')
  clock.advance(1_000)
  expect(await folders.at(folder)).toBe('missing')
})
