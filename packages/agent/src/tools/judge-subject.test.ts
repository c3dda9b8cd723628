import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { judgedSubject, type SubjectKind } from './judge-subject.ts'

const holds = (
  kind: SubjectKind,
  pattern: string,
  subject: string,
): readonly [restricts: boolean, allows: boolean] => {
  const judged = judgedSubject(kind, subject)
  return [judged.restricts(pattern) !== null, judged.allows(pattern)]
}

describe('a path', () => {
  test.each([
    ['in capitals', '*.env', 'app/.ENV'],
    ['in capitals, named in capitals', 'SECRET/*', 'secret/a'],
    ['composed in another way', 'caf\u00e9/*', 'cafe\u0301/menu'],
    ['named in another composition', 'cafe\u0301/*', 'caf\u00e9/menu'],
    ['with wide letters', '.env', '.ｅｎｖ'],
    ['with a letter that cannot be seen', '.git/*', '.g\u200cit/config'],
    ['with a sharp s', 'strasse/*', 'stra\u00dfe/1'],
    ['with the other sigma', 'ΟΔΟΣ/*', 'οδος/1'],
    ['with the other sigma in the middle', 'οδοσ*', 'ΟΔΟΣΑ'],
    ['with the Kelvin sign', 'key', '\u212aey'],
    ['with a dot at the end', '*.env', '.env.'],
    ['with a stream', '*.env', '.env::$DATA'],
    ['with spaces at the end of a folder', 'secret/*', 'secret  /a'],
  ])('%s is held back, and not allowed', (_, pattern, subject) =>
    expect(holds('path', pattern, subject)).toEqual([true, false]),
  )

  test.each([
    ['*.env', 'env', false],
    ['*.env', '.environment', false],
    ['secret/*', 'secrets/a', false],
    ['*.', 'a.b', false],
    ['*', 'a', true],
    ['a', 'a', true],
  ])('%s holds for %s: %s', (pattern, subject, fits) =>
    expect(holds('path', pattern, subject)).toEqual([fits, fits]),
  )

  it('in any spelling of its letters is held back', () => {
    const letter = fc.constantFrom('a', 'K', 'é', 'ß', 'Σ', 'ǆ', 'ﬁ', 'İ', 'ộ', '.', ' x')
    const spelling = fc.constantFrom(
      (text: string) => text.toUpperCase(),
      (text: string) => text.toLowerCase(),
      (text: string) => text.normalize('NFD'),
      (text: string) => text.normalize('NFC'),
    )
    fc.assert(
      fc.property(
        fc.array(letter, { minLength: 1, maxLength: 6 }),
        fc.array(spelling, { maxLength: 4 }),
        (letters, spellings) => {
          const name = letters.join('')
          const other = spellings.reduce((text, spell) => spell(text), name)
          expect(holds('path', `dir/${name}`, `dir/${other}`)[0]).toBe(true)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('an address', () => {
  test.each([
    ['a user name', 'https://internal.example/*', 'https://ann@internal.example/a'],
    ['a password', 'https://internal.example/*', 'https://ann:b@internal.example/a'],
    ['an escaped letter', 'https://internal.example/admin*', 'https://internal.example/%61dmin'],
    ['a dot at the end of the host', 'https://internal.example/*', 'https://internal.example./a'],
  ])('with %s is held back, and not allowed', (_, pattern, subject) =>
    expect(holds('url', pattern, subject)).toEqual([true, false]),
  )

  test.each([
    ['https://Internal.Example/*', 'https://internal.example/a'],
    ['https://internal.example./*', 'https://internal.example/a'],
    ['https://internal.example:443/*', 'https://internal.example/a'],
    ['HTTP://internal.example:80/*', 'http://internal.example/a'],
    ['https://b\u00fccher.example/*', 'https://xn--bcher-kva.example/a'],
    ['https://B\u00dcCHER.example', 'https://xn--bcher-kva.example/'],
    ['https://*.B\u00fccher.example/*', 'https://www.xn--bcher-kva.example/a'],
    ['*://Internal.Example/*', 'http://internal.example/a'],
    ['https://internal.example', 'https://internal.example/'],
    ['https://internal.example/\u00fc*', 'https://internal.example/%C3%BCa'],
    ['https://internal.example:8443/*', 'https://internal.example:8443/a'],
    ['https://[::1]:8443/*', 'https://[::1]:8443/a'],
    ['*internal*', 'https://internal.example/'],
  ])('%s holds for %s', (pattern, subject) => expect(holds('url', pattern, subject)).toEqual([true, true]))

  test.each([
    ['https://internal.example/*', 'https://internal.example:8443/a'],
    ['https://internal.example:8443/*', 'https://internal.example/a'],
    ['https://a.example/*', 'https://a.example.evil.example/'],
  ])('%s does not hold for %s', (pattern, subject) =>
    expect(holds('url', pattern, subject)).toEqual([false, false]),
  )

  it('whose user name looks like an allowed host is not allowed', () => {
    expect(holds('url', 'https://a.example*', 'https://a.example@evil.example/')[1]).toBe(false)
    expect(holds('url', 'https://a.example*', 'https://a.example/x')[1]).toBe(true)
  })
})

it('a text is compared as it is', () => {
  expect(holds('text', 'Git*', 'git push')).toEqual([false, false])
  expect(holds('text', 'git*', 'git push')).toEqual([true, true])
})
