import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldedText, unfoldedPlace } from './folded-text.ts'

test.each([
  ['Zürich', 'Zurich'],
  ['Zu\u0308rich', 'Zurich'],
  ['ÉCOLE', 'eCOLE'],
  ['Ångström, naïve', 'angstrom, naive'],
  ['Ελλάδα', 'ελλαδα'],
  ['plain ASCII', 'plain ASCII'],
])('%s becomes %s', (text, folded) => expect(foldedText(text)).toBe(folded))

test.each(['がぎぐ', '한국어', '季度销售额', 'हिन्दी', '😀'])(
  '%s stays as it is, because its marks make the word',
  (text) => expect(foldedText(text)).toBe(text),
)

test('a folded text folds to itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(foldedText(foldedText(text))).toBe(foldedText(text))
    }),
  )
})

test('a place in a folded text is found again in the text', () => {
  const text = 'Zu\u0308rich, Zu\u0308rich and Bern'
  const folded = foldedText(text)
  expect(text.slice(unfoldedPlace(text, folded, folded.indexOf('Bern')))).toBe('Bern')
  expect(unfoldedPlace(text, folded, folded.length)).toBe(text.length)
})
