import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  emptyMemory,
  type MemoryAnswer,
  type MemoryChange,
  type MemorySnapshot,
} from '../ports/memory-store.ts'
import { type ChangedMemory, changeMemory } from './change-memory.ts'

const limits = { memory: 100, user: 50 }
const holding = (...memory: string[]): MemorySnapshot => ({ ...emptyMemory, memory })
const change = (snapshot: MemorySnapshot, of: MemoryChange): ChangedMemory =>
  changeMemory(snapshot, of, limits)
const add = (content: string): MemoryChange => ({ action: 'add', target: 'memory', content })
const replace = (old_text: string, content: string): MemoryChange => ({
  action: 'replace',
  target: 'memory',
  old_text,
  content,
})
const remove = (old_text: string): MemoryChange => ({ action: 'remove', target: 'memory', old_text })
/** The entries after a change that was accepted. */
const after = (entries: string[], of: MemoryChange): readonly string[] | undefined =>
  change(holding(...entries), of).next?.memory
const refusal = (entries: string[], of: MemoryChange): Extract<MemoryAnswer, { ok: false }> => {
  const { answer, next } = change(holding(...entries), of)
  expect(next).toBeNull()
  if (answer.ok) throw new Error('it was not refused')
  return answer
}

describe('add', () => {
  it('appends the entry to its target only, and reports the size', () => {
    expect(change({ memory: ['a'], user: ['u'] }, add('bb'))).toEqual({
      answer: { ok: true, changed: true, entries: ['a', 'bb'], chars: 3, charsMax: 100 },
      next: { memory: ['a', 'bb'], user: ['u'] },
    })
  })

  it('succeeds without a second entry if the entry exists', () => {
    expect(change(holding('a', 'b'), add(' a\n'))).toEqual({
      answer: { ok: true, changed: false, entries: ['a', 'b'], chars: 2, charsMax: 100 },
      next: null,
    })
  })

  it('trims the entry, composes characters (NFC) and unifies line breaks', () => {
    expect(after([], add('  Zu\u0308rich\r\nline\ttwo '))).toEqual(['Z\u00fcrich\nline\ttwo'])
  })

  it.each([
    ['', 'empty'],
    [' \n\t', 'empty'],
    ['a\u0000b', 'U+0000'],
    ['a\u001b[31mb', 'U+001B'],
    ['a\rb', 'U+000D'],
    ['a\u0085b', 'U+0085'],
  ])('refuses %j and says why', (content, why) => {
    expect(refusal([], add(content))).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining(why) as string,
    })
  })

  it('fills the target to its last character, and refuses one more with the sizes', () => {
    expect(after(['x'.repeat(60)], add('y'.repeat(40)))).toHaveLength(2)
    const { code, message } = refusal(['x'.repeat(60)], add('y'.repeat(41)))
    expect(code).toBe('memory_full')
    expect(message).toContain('memory has 60 of 100 characters and would have 101')
    expect(
      changeMemory(emptyMemory, { action: 'add', target: 'user', content: 'y'.repeat(51) }, limits).answer,
    ).toMatchObject({ code: 'memory_full' })
  })
})

describe('replace and remove', () => {
  it('find an entry by a part of it', () => {
    expect(after(['uses vim', 'likes tea'], replace('vim', 'uses helix'))).toEqual([
      'uses helix',
      'likes tea',
    ])
    expect(after(['uses vim', 'likes tea'], remove(' tea '))).toEqual(['uses vim'])
  })

  it('find an entry by its whole text, even if other entries contain the text', () => {
    expect(after(['cat food', 'cat', 'cats'], remove('cat'))).toEqual(['cat food', 'cats'])
    expect(after(['cat food', 'cat', 'cats'], replace('cat', 'dog'))).toEqual(['cat food', 'dog', 'cats'])
  })

  it('refuse a text that several different entries contain, and show them', () => {
    const { code, message } = refusal(['cat food', 'cats', 'dog'], remove('cat'))
    expect(code).toBe('ambiguous_match')
    expect(message).toContain('2 entries of memory contain "cat": "cat food", "cats".')
    expect(refusal([`cat ${'x'.repeat(200)}`, 'cats'], replace('cat', 'dog')).message.length).toBeLessThan(
      250,
    )
  })

  it('change one entry if the entries that contain the text are identical', () => {
    expect(after(['a cat', 'dog', 'a cat'], remove('cat'))).toEqual(['dog', 'a cat'])
    expect(after(['a cat', 'a cat'], replace('cat', 'one'))).toEqual(['one', 'a cat'])
  })

  it('refuse a text that no entry contains, and show the entries', () => {
    expect(refusal(['dog'], remove('cat'))).toMatchObject({
      code: 'no_match',
      message: 'No entry of memory contains "cat". Entries: "dog".',
    })
    expect(refusal([], replace('cat', 'dog')).message).toBe(
      'No entry of memory contains "cat". memory is empty.',
    )
    expect(
      refusal(
        Array.from({ length: 40 }, (_, i) => `${i}`),
        remove('x'),
      ).message,
    ).toContain('and 28 more')
  })

  it('refuse an empty text', () => {
    expect(refusal(['only'], remove(' '))).toMatchObject({ code: 'invalid_arguments' })
    expect(refusal(['only'], replace('', 'x'))).toMatchObject({ code: 'invalid_arguments' })
  })
})

describe('replace', () => {
  it('has the effect of one if it is repeated, and never changes another entry', () => {
    expect(change(holding('dog', 'cat food'), replace('cat', 'dog'))).toMatchObject({
      answer: { ok: true, changed: false },
      next: null,
    })
    expect(change(holding('dog'), replace('gone', 'dog'))).toMatchObject({
      answer: { ok: true, changed: false },
      next: null,
    })
  })

  it('merges the entry with another entry that has the new text', () => {
    expect(after(['old', 'new', 'x'], replace('old', 'new'))).toEqual(['new', 'x'])
  })

  it('refuses content that exceeds the limit or is not an entry, and keeps the old entry', () => {
    expect(refusal(['x'.repeat(90), 'short'], replace('short', 'y'.repeat(11)))).toMatchObject({
      code: 'memory_full',
    })
    expect(refusal(['short'], replace('short', ' '))).toMatchObject({ code: 'invalid_arguments' })
  })

  it('may shrink a target that a lower limit left too large, but not grow it', () => {
    const over = ['x'.repeat(90), 'y'.repeat(60)]
    expect(after(over, replace('yyy', 'y'.repeat(59)))).toEqual(['x'.repeat(90), 'y'.repeat(59)])
    expect(after(over, remove('xx'))).toEqual(['y'.repeat(60)])
    expect(refusal(over, replace('yyy', 'z'.repeat(60)))).toMatchObject({ code: 'memory_full' })
  })
})

describe('any sequence of changes', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', '\n', '猫', '\u0000', '\ud83d', 'u\u0308'),
    maxLength: 12,
  })
  const anyChange: fc.Arbitrary<MemoryChange> = fc.oneof(
    fc.record({
      action: fc.constant('add' as const),
      target: fc.constantFrom('memory', 'user'),
      content: text,
    }),
    fc.record({
      action: fc.constant('replace' as const),
      target: fc.constantFrom('memory', 'user'),
      old_text: text,
      content: text,
    }),
    fc.record({
      action: fc.constant('remove' as const),
      target: fc.constantFrom('memory', 'user'),
      old_text: text,
    }),
  )

  it('keeps entries within the limit, trimmed, unique and normal, and changes one entry of one target at a time', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 30 }), (changes) => {
        let held = emptyMemory
        for (const each of changes) {
          const before = structuredClone(held)
          const { answer, next } = changeMemory(held, each, { memory: 25, user: 10 })
          expect(held).toEqual(before)
          if (!answer.ok || !answer.changed) {
            expect(next).toBeNull()
            continue
          }
          const now = next as MemorySnapshot
          const other = each.target === 'memory' ? 'user' : 'memory'
          expect(now[other]).toBe(held[other])
          expect(answer.entries).toBe(now[each.target])
          expect(answer.chars).toBe(now[each.target].join('').length)
          expect(answer.chars).toBeLessThanOrEqual(answer.charsMax)
          expect(new Set(now[each.target]).size).toBe(now[each.target].length)
          expect(
            held[each.target].filter((entry) => !now[each.target].includes(entry)).length,
          ).toBeLessThanOrEqual(1)
          for (const entry of now[each.target]) {
            expect(entry).toBe(entry.trim().normalize('NFC').toWellFormed())
            expect(entry).not.toMatch(/^$|[^\P{Cc}\n\t]/u)
          }
          held = now
        }
      }),
      { numRuns: 500 },
    )
  })

  it('has the effect of one for each repeated change, except for a remove', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 15 }), anyChange, (changes, last) => {
        fc.pre(last.action !== 'remove')
        const held = changes.reduce((now, each) => changeMemory(now, each, limits).next ?? now, emptyMemory)
        const once = changeMemory(held, last, limits)
        if (once.next === null) return
        expect(changeMemory(once.next, last, limits)).toMatchObject({
          answer: { ok: true, changed: false },
          next: null,
        })
      }),
      { numRuns: 500 },
    )
  })
})
