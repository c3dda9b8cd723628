import type { LoadDiagnostic } from '@beaver/agent'
import { describe, expect, it } from 'vitest'
import { LookPace, WatchedFiles } from './agents.ts'

const broken = (file: string): LoadDiagnostic => ({ file, severity: 'error', message: 'It is broken.' })

/** Files in memory: `write` changes them, and `steps` are what they become while they are read. */
async function files(first: readonly LoadDiagnostic[] = []) {
  const disk = { stamp: 1, content: 'a', diagnostics: first, steps: 0 }
  const watched = await WatchedFiles.open<string>({
    name: 'the files',
    stamp: async () => String(disk.stamp),
    async read() {
      if (disk.content === 'throws') throw new Error('They do not fit together.')
      const { content, diagnostics } = disk
      if (disk.steps > 0) {
        disk.steps--
        disk.stamp++
      }
      return { content, diagnostics }
    },
  })
  const write = (content: string, diagnostics: readonly LoadDiagnostic[] = [], steps = 0): void =>
    void Object.assign(disk, { stamp: disk.stamp + 1, content, diagnostics, steps })
  return { watched, write }
}

describe('watched files', () => {
  it('are used when they change, and not read when they do not', async () => {
    const { watched, write } = await files()
    expect([await watched.look(), watched.content]).toEqual(['same', 'a'])
    write('b')
    expect([await watched.look(), watched.content, await watched.look()]).toEqual(['used', 'b', 'same'])
  })

  it('that are broken leave the old content; the fault is told by the second look, once', async () => {
    const { watched, write } = await files()
    write('b', [broken('b.json')])
    expect([await watched.look(), watched.content, watched.faults]).toEqual(['doubtful', 'a', []])
    expect([await watched.look(), watched.content, watched.faults]).toEqual([
      'broken',
      'a',
      [broken('b.json')],
    ])
    expect(await watched.look()).toBe('same')
    write('c')
    expect([await watched.look(), watched.content, watched.faults]).toEqual(['used', 'c', []])
  })

  it('that an editor writes in two steps are never told as broken', async () => {
    const { watched, write } = await files()
    write('half', [broken('b.json')])
    expect(await watched.look()).toBe('doubtful')
    write('whole')
    expect([await watched.look(), watched.content]).toEqual(['used', 'whole'])
  })

  it('that change while they are read are read again', async () => {
    const { watched, write } = await files()
    write('b', [], 1)
    expect([await watched.look(), watched.content, await watched.look(), watched.content]).toEqual([
      'doubtful',
      'a',
      'used',
      'b',
    ])
  })

  it('are used although a file is broken that was broken before', async () => {
    const { watched, write } = await files([broken('old.json')])
    write('b', [broken('old.json')])
    expect([await watched.look(), watched.content]).toEqual(['used', 'b'])
  })

  it('that cannot be read together leave the old content', async () => {
    const { watched, write } = await files()
    write('throws')
    await watched.look()
    expect([await watched.look(), watched.content, watched.faults]).toEqual([
      'broken',
      'a',
      [{ file: 'the files', severity: 'error', message: 'They do not fit together.' }],
    ])
  })
})

describe('looks', () => {
  it('are shared by all who ask, and there is one at a time', async () => {
    let looks = 0
    let open = 0
    const pace = new LookPace(async () => {
      looks++
      expect(++open).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      open--
    })
    await Promise.all(Array.from({ length: 100 }, () => pace.ask()))
    await pace.ask()
    expect(looks).toBe(1)
    await Promise.all(Array.from({ length: 100 }, () => pace.ask({ now: true })))
    expect(looks).toBe(2)
  })

  it('are made again 5 s after one that took a minute', async () => {
    let [looks, now] = [0, 0]
    const pace = new LookPace(
      async () => {
        looks++
        now += 60_000
      },
      () => now,
    )
    await pace.ask()
    now += 4_999
    await pace.ask()
    expect(looks).toBe(1)
    now += 1
    await pace.ask()
    expect(looks).toBe(2)
  })

  it('that fail reject for those who asked for them, and the next one is made', async () => {
    let looks = 0
    const pace = new LookPace(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      if (++looks === 1) throw new Error('The disk is away.')
    })
    const first = pace.ask()
    const next = pace.ask({ now: true })
    await expect(first).rejects.toThrow('The disk is away.')
    await expect(next).resolves.toBeUndefined()
    await expect(pace.ask({ now: true })).resolves.toBeUndefined()
    expect(looks).toBe(3)
  })
})
