// What every KnowledgeBase must do, for the in-memory twin and the adapter on folders.
import { type KnowledgeAnswer, type KnowledgeBase, knowledgeLimitMax, passageCharsMax } from '@beaver/core'
import { describe, expect, test } from 'vitest'

export interface KnowledgeBaseUnderTest {
  readonly base: KnowledgeBase
  /** Writes a document, or replaces it. */
  write(file: string, text: string): Promise<void>
  remove(file: string): Promise<void>
}

const handbook = {
  'leave.md':
    '# Leave\n\nEverybody works.\n\n## Vacation\n\nThirty days of vacation a year.\n\n## Illness\n\nCall before nine.\n',
  'travel/hotels.md': '# Travel\n\nHotels in Zürich cost at most 180 francs.\n',
  '假期.md': '# 年假\n\n新员工每年有三十天年假。\n',
  'empty.txt': '',
}

/** @param open opens a knowledge base without documents; called once for each test */
export function knowledgeBaseContract(name: string, open: () => Promise<KnowledgeBaseUnderTest>): void {
  const opened = async (
    documents: Readonly<Record<string, string>> = handbook,
  ): Promise<KnowledgeBaseUnderTest> => {
    const under = await open()
    for (const [file, text] of Object.entries(documents)) await under.write(file, text)
    return under
  }
  const ask = ({ base }: KnowledgeBaseUnderTest, query: string, limit = 5): Promise<KnowledgeAnswer> =>
    base.search({ query, limit }, new AbortController().signal)
  const places = async (under: KnowledgeBaseUnderTest, query: string, limit = 5): Promise<string[]> =>
    (await ask(under, query, limit)).passages.map(
      ({ file, first_line, last_line }) => `${file}:${first_line}-${last_line}`,
    )

  describe(`${name} as a knowledge base`, () => {
    test('finds a passage with its document, its lines and its headings', async () => {
      const { passages, complete } = await ask(await opened(), 'How many days of vacation do I have?', 1)
      expect(complete).toBe(true)
      expect(passages).toEqual([
        {
          file: 'leave.md',
          first_line: 5,
          last_line: 7,
          heading: 'Leave > Vacation',
          text: '## Vacation\n\nThirty days of vacation a year.',
        },
      ])
    })

    test.each<[string, string]>([
      ['ZURICH hotel', 'travel/hotels.md:1-3'],
      ['年假有几天', '假期.md:1-3'],
      ['travel', 'travel/hotels.md:1-3'],
      ['180', 'travel/hotels.md:1-3'],
    ])('finds %j', async (query, place) => expect((await places(await opened(), query))[0]).toBe(place))

    test.each(['', ' ', '…!?*"()', 'zebra', 'ban*', '"'])('finds nothing for %j', async (query) =>
      expect(await places(await opened(), query)).toEqual([]),
    )

    test('takes any query for words', async () => {
      const under = await opened()
      for (const query of [
        'vacation AND NOT hotels',
        'words : vacation',
        '"vacation',
        "vacation'; drop table words",
        'NEAR(vacation, 1)',
        '^vacation',
        '-vacation',
        '{vacation}',
      ])
        expect((await places(under, query))[0]).toMatch(/^leave\.md:5/)
      for (let code = 0; code < 0x100; code++) {
        const character = String.fromCodePoint(code)
        expect(
          (await ask(under, `${character} vacation${character} "${character}* ${character}`)).complete,
        ).toBe(true)
      }
      for (const query of [
        '\ud800',
        '\udfff vacation',
        '😀'.repeat(5_000),
        'vacation '.repeat(5_000),
        '年'.repeat(5_000),
      ])
        await ask(under, query)
    })

    test('gives the best passage first, and as many as are wanted', async () => {
      const under = await opened(
        Object.fromEntries(
          Array.from({ length: 40 }, (_, i) => [`${i}.txt`, i === 17 ? 'red green blue' : 'red paint']),
        ),
      )
      expect((await places(under, 'red green blue', 3))[0]).toBe('17.txt:1-1')
      expect(await places(under, 'red blue', 3)).toHaveLength(3)
      expect(await places(under, 'red paint', 1_000)).toHaveLength(knowledgeLimitMax)
      expect(await places(under, 'red paint', -1)).toHaveLength(1)
    })

    test('finds what is written, changed and removed between two searches', async () => {
      const under = await opened()
      expect(await places(under, 'parking')).toEqual([])
      await under.write('parking.md', 'Parking is free.')
      expect(await places(under, 'parking')).toEqual(['parking.md:1-1'])
      await under.write('parking.md', 'Garage is free.')
      expect(await places(under, 'parking')).toEqual(['parking.md:1-1']) // Its name.
      expect((await ask(under, 'parking')).passages[0]?.text).toBe('Garage is free.')
      await under.remove('parking.md')
      expect(await places(under, 'parking garage')).toEqual([])
    })

    test('gives no passage beyond its bound', async () => {
      const under = await opened({ 'long.txt': 'needle '.repeat(10_000) })
      for (const { text } of (await ask(under, 'needle', 20)).passages)
        expect(text.length).toBeLessThanOrEqual(passageCharsMax)
    })

    test('ends with the reason of the signal', async () => {
      const { base } = await opened()
      await expect(
        base.search({ query: 'vacation', limit: 1 }, AbortSignal.abort(new Error('enough'))),
      ).rejects.toThrow('enough')
    })
  })
}
