// The classes that `wc -w` gives to characters: GNU coreutils 9.1 with glibc 2.36 in the locale C.UTF-8,
// checked code point by code point. A word is a run without separators that contains a printable character.
// Other characters neither begin nor end a word: control characters, bytes that are not UTF-8, code points
// that Unicode has not assigned. Versions differ: coreutils 9.5 and later begin a word at such bytes too, and
// a newer C library knows characters that Unicode 14 (glibc 2.36) did not. `nothing` marks exactly these
// places, so that a count can say that it depends on the version.

export const wordClass = { unknown: 0, nothing: 1, separator: 2, printable: 3 } as const

/** The class of a code point from U+0080 on. */
export function classOf(codePoint: number): number {
  const known = classes[codePoint]
  if (known !== undefined && known !== wordClass.unknown) return known
  const found = findClass(codePoint)
  classes[codePoint] = found
  return found
}

/** The classes of the ASCII characters, by code. */
export const asciiClasses: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return wordClass.separator
  return code > 0x20 && code < 0x7f ? wordClass.printable : wordClass.nothing
})

const classes = new Uint8Array(0x11_0000)

// The spaces of Unicode, including the no-break ones (U+00A0, U+2007, U+202F) and the word joiner, as in wc.
const separators = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2060\u3000]/u
const unprintable = /[\p{Cc}\p{Cn}\p{Cs}\u2028\u2029]/u

function findClass(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  if (separators.test(character)) return wordClass.separator
  if (unprintable.test(character)) return wordClass.nothing
  return newerThanUnicode14.some(([first, last]) => codePoint >= first && codePoint <= last)
    ? wordClass.nothing
    : wordClass.printable
}

// Characters of Unicode 15 to 17. A range may contain code points that are not assigned.
const newerThanUnicode14: readonly (readonly [number, number])[] = (
  '88f 897 c5c cdc cf3 ece 1acf-1aeb 1b4e-1b4f 1b7f 1c89-1c8a 20c1 2427-2429 2b96 2ffc-2fff 31e4-31ef a7cb-a7cf a7d2 a7d4 ' +
  'a7da-a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce 105c0-105f3 10940-10959 10d40-10d8f 10ec2-10eff 1123f-11241 11380-113e2 ' +
  '116d0-116e3 11b00-11bf9 11db0-11de9 11f00-11f5a 1342f 13439-143fa 16100-16139 16d40-16d79 16ea0-16ed3 16ff2-16ff6 ' +
  '187f8-187ff 18cff 18d09-18df2 1b132 1b155 1cc00-1cef0 1d2c0-1d2d3 1df25-1df2a 1e030-1e08f 1e4d0-1e6ff 1f6d8-1f6dc ' +
  '1f774-1f77f 1f7d9 1f8b2-1f8d8 1fa54-1fa57 1fa75-1fa77 1fa87-1fa8f 1faad-1faaf 1fabb-1fabf 1fac6-1facf 1fada-1fadf ' +
  '1fae8-1faef 1faf7-1faf8 1fbcb-1fbef 1fbfa 2b739-2b73f 2cea2-2cead 2ebf0-2ee5d 31350-33479'
)
  .split(' ')
  .map((range) => {
    const [first = '', last = first] = range.split('-')
    return [Number.parseInt(first, 16), Number.parseInt(last, 16)]
  })
