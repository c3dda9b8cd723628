import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { htmlLines } from './folder-knowledge-base.ts'

test.each<[string, string]>([
  ['plain', 'plain'],
  ['<p>a &amp; b</p>', ' a & b '],
  ['a<br>b', 'a b'],
  ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
  ['<script>\nif (a < b) alert("</p>")\n</script>text', ' \n\ntext'],
  ['<style>p { }</style ><svg><text>t</text></svg>x', '  x'],
  ['<!-- a > b\n -->x<!-- never ends', ' \nx '],
  ['<scripted>x', ' x'],
  ['<script>never ends', ' '],
  ['a <b', 'a <b'],
  ['&#65;&#x42;&unknown;&#0;&#xd800;&#99999999;', 'AB&unknown;  &#99999999;'],
])('%j becomes %j', (html, text) => expect(htmlLines(html)).toBe(text))

it('keeps the number of lines, whatever the file contains', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '<!--',
    '-->',
    '<script',
    '</script>',
    '<p',
    '\n',
    ' ',
    'a',
    '&#10;',
    '&',
    ';',
    '"',
  )
  const lines = (text: string): number => text.split('\n').length
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      expect(lines(htmlLines(pieces.join('')))).toBe(lines(pieces.join('')))
    }),
  )
})

test.each(['<a', '<', '<!--', '<script>', '</', '&#', '<svg></svg', '<script></script '])(
  'five megabytes of %j take little time',
  async (piece) => {
    const html = piece.repeat(5_000_000 / piece.length)
    expect(await ownMs(() => htmlLines(html))).toBeLessThan(5_000)
  },
)
