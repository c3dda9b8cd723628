import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { whileLocked } from './file-lock.ts'

function fileInFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'new folder', 'counts.txt')
}

const longAgo = new Date(Date.now() - 60_000)

it('one at a time changes the file, so that no change is lost', async () => {
  const file = fileInFolder()
  const addOne = () =>
    whileLocked(
      file,
      async () => {
        const count = Number(await readFile(file, 'utf8').catch(() => '0'))
        await writeFile(file, String(count + 1))
      },
      { waitMsMax: 60_000 },
    )
  await Promise.all(Array.from({ length: 20 }, addOne))
  expect([readFileSync(file, 'utf8'), existsSync(`${file}.lock`)]).toEqual(['20', false])
})

it('an error of the act is passed on, and the lock is given back', async () => {
  const file = fileInFolder()
  await expect(whileLocked(file, () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
  expect(await whileLocked(file, async () => 'free')).toBe('free')
})

it('a lock that is held for too long is told, with what to do', async () => {
  const file = fileInFolder()
  await whileLocked(file, async () => {
    const refused = whileLocked(file, async () => 'never', { waitMsMax: 60 })
    await expect(refused).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`${file}.lock. Try again`) as string,
    })
  })
})

it('a lock whose owner has just died is waited for until it is old', async () => {
  const file = fileInFolder()
  await whileLocked(file, async () => {})
  writeFileSync(`${file}.lock`, 'of a dead process')
  expect(await whileLocked(file, async () => 'mine', { staleMs: 50 })).toBe('mine')
})

it('an old lock is taken over, and its late owner does not end the lock of the next one', async () => {
  const file = fileInFolder()
  const lock = `${file}.lock`
  await whileLocked(file, async () => {
    utimesSync(lock, longAgo, longAgo)
    const next = await whileLocked(file, async () => {
      writeFileSync(file, 'of the next owner')
      return readFileSync(file, 'utf8')
    })
    expect([next, existsSync(lock)]).toEqual(['of the next owner', false])
    writeFileSync(lock, '') // The third owner.
  })
  expect(existsSync(lock)).toBe(true)
})
