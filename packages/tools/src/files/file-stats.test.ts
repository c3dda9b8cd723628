import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextCounter } from './file-stats.ts'

const count = (chunks: readonly Uint8Array[]): { lines: number; words: number; bytes: number } => {
  const counter = new TextCounter()
  for (const chunk of chunks) counter.add(chunk)
  counter.endFile()
  return { lines: counter.lines, words: counter.words, bytes: counter.bytes }
}
const of = (text: string): { lines: number; words: number; bytes: number } => count([Buffer.from(text)])

/** What one call of the real program says of each input. */
function wc(inputs: readonly Uint8Array[]): { lines: number; words: number; bytes: number }[] {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-wc-'))
  try {
    for (const [at, input] of inputs.entries()) writeFileSync(join(folder, String(at)), input)
    const { stdout } = spawnSync('wc', ['-lwc', ...inputs.keys().map(String)], {
      cwd: folder,
      env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    })
    return stdout
      .toString()
      .split('\n')
      .slice(0, inputs.length)
      .map((line) => {
        const [lines = NaN, words = NaN, bytes = NaN] = line.trim().split(/\s+/).map(Number)
        return { lines, words, bytes }
      })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The rules are those of this version; the comparisons with the real program run where it is installed. */
const reference =
  spawnSync('wc', ['--version']).stdout?.toString().includes('coreutils) 9.1') === true &&
  process.platform === 'linux'

test.each([
  ['', 0, 0],
  ['\n', 1, 0],
  ['one two', 0, 2],
  ['one\r\ntwo\r\n', 2, 2],
  ['a\tb\vc\fd', 0, 4],
  ['no-break\u00a0space', 0, 2],
  ['em\u2014dash', 0, 1],
  ['中文 字\u3000字', 0, 3],
  ['zero\u200bwidth', 0, 1],
  ['line\u2028separator', 0, 1],
])('%j has %d lines and %d words', (text, lines, words) => {
  expect(of(text)).toEqual({ lines, words, bytes: Buffer.byteLength(text) })
})

test('a control character neither begins nor ends a word', () => {
  expect(of('\u0001 \u0002 a\u0003b').words).toBe(1)
})

test('a byte that is not UTF-8 neither begins nor ends a word, and is told', () => {
  expect(count([Buffer.from([0xff, 0x20, 0x61, 0xe4, 0xb8, 0x62])]).words).toBe(1)
  const counter = new TextCounter()
  counter.add(Buffer.from([0x61, 0xe4]))
  counter.endFile()
  expect(counter.uncertain).toBe(true)
})

test('a word does not go on in the next file', () => {
  const counter = new TextCounter()
  for (const text of ['one', 'two']) {
    counter.add(Buffer.from(text))
    counter.endFile()
  }
  expect(counter.words).toBe(2)
})

test('the sum does not depend on where the chunks are cut', () => {
  const bytes = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.uint8Array().map((array) => Buffer.from(array)),
  )
  fc.assert(
    fc.property(bytes, fc.nat(), (all, at) => {
      const cut = at % (all.length + 1)
      expect(count([all.subarray(0, cut), all.subarray(cut)])).toEqual(count([all]))
    }),
  )
})

test.runIf(reference)('every code point is classed as wc classes it', () => {
  // The planes with characters in them, and the first of the private ones.
  const codePoints = Array.from({ length: 0xf_1000 }, (_, code) => code).filter(
    (code) => code < 0xd800 || (code > 0xdfff && code < 0x3_4000) || code >= 0xe_0000,
  )
  // Alone it makes one word or none, between letters one or two: if two classings differ, so does one of
  // these sums.
  const alone = (code: number): string => ` ${String.fromCodePoint(code)} \n`
  const between = (code: number): string => `a${String.fromCodePoint(code)}b\n`
  const parts = Array.from({ length: Math.ceil(codePoints.length / 8192) }, (_, at) =>
    codePoints.slice(at * 8192, (at + 1) * 8192),
  )
  const texts = parts.flatMap((part) =>
    [alone, between].map((shape) => ({
      text: part.map(shape).join(''),
      from: `from U+${part[0]?.toString(16)}`,
    })),
  )
  const counted = wc(texts.map(({ text }) => Buffer.from(text)))
  expect(texts.map(({ text, from }) => [from, of(text).words])).toEqual(
    texts.map(({ from }, at) => [from, counted[at]?.words]),
  )
})

test.runIf(reference)('random bytes are counted as wc counts them', () => {
  const piece = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => new Uint8Array(Buffer.from(text))),
    fc.constantFrom(
      ...['\n', ' ', '\t', 'a', '\u00a0', '\u2060', '\ufffd', '\0'].map(
        (text) => new Uint8Array(Buffer.from(text)),
      ),
      Uint8Array.of(0xe4, 0xb8),
      Uint8Array.of(0xf4, 0x90, 0x80, 0x80),
      Uint8Array.of(0xed, 0xa0, 0x80),
    ),
  )
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 60 }), { minLength: 1, maxLength: 50 }), (inputs) => {
      const all = inputs.map((pieces) => Buffer.concat(pieces))
      expect(all.map((bytes) => count([bytes]))).toEqual(wc(all))
    }),
    { numRuns: 6 },
  )
})
