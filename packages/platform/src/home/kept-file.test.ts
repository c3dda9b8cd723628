import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { keptFile } from './kept-file.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'beaver-kept-'))))
afterEach(() => rmSync(folder, { recursive: true }))

it('keeps the text that was written last, for its owner alone, and leaves nothing beside it', async () => {
  const file = join(folder, 'marks', 'one')
  const kept = keptFile(file)
  expect(kept.read()).toBeNull()
  await Promise.all(['1', '2', '3'].map((text) => kept.write(text)))
  expect(keptFile(file).read()).toBe('3')
  expect(readdirSync(join(folder, 'marks'))).toEqual(['one'])
  expect(
    [statSync(file), statSync(join(folder, 'marks'))].map(({ mode }) => (mode & 0o777).toString(8)),
  ).toEqual(['600', '700'])
})

it('says why it cannot be written, and is written later', async () => {
  const kept = keptFile(folder)
  await expect(kept.write('1')).rejects.toThrow(/EISDIR|ENOTEMPTY|directory/)
})
