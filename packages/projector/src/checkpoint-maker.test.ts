import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepNote, lastKeptNote, readyKept } from './checkpoint-maker.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'beaver-kept-'))))
afterEach(() => rmSync(folder, { recursive: true }))

describe('the kept checkpoints', () => {
  it('give the last whole line, also after a line that was cut short by a crash', () => {
    const file = join(folder, 'kept.ndjson')
    expect(lastKeptNote(file)).toBeNull()
    keepNote(file, '2026-01-01T00:00:00.000Z', 'one')
    keepNote(file, '2026-01-01T00:01:00.000Z', 'two')
    expect(lastKeptNote(file)).toBe('two')
    writeFileSync(file, readFileSync(file, 'utf8') + '{"time":"2026-01-01T00:02:00.000Z","no')
    expect(lastKeptNote(file)).toBe('two')
    readyKept(file)
    keepNote(file, '2026-01-01T00:03:00.000Z', 'three')
    expect(lastKeptNote(file)).toBe('three')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('lose their older half when the file is too large, and never the newest', () => {
    const file = join(folder, 'kept.ndjson')
    const line = (n: number): string => JSON.stringify({ time: 't', note: `${n} ${'x'.repeat(1_000_000)}` })
    writeFileSync(file, Array.from({ length: 10 }, (_, n) => `${line(n)}\n`).join(''))
    readyKept(file)
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(6)
    expect(lastKeptNote(file)?.slice(0, 2)).toBe('9 ')
  })
})
