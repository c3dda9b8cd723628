import { spawnSync } from 'node:child_process'
import {
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { EmbeddingProvider } from '@beaver/agent'
import { systemClock } from '@beaver/core'
import { knowledgeBaseContract, until } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { type KnowledgePlaces, knowledgePlaces, never, opened } from '../test/kit.ts'
import { indexFile } from './index-file.ts'

knowledgeBaseContract('folderKnowledgeBase', async () => {
  const places = await knowledgePlaces()
  return { base: opened(places), write: places.write, remove: (file) => rm(join(places.folder, file)) }
})

const found = async (base: ReturnType<typeof opened>, query: string, limit = 20): Promise<string[]> =>
  (await base.search({ query, limit }, never)).passages.map(({ file }) => file).toSorted()

/** How many bytes this process has read so far, from files and elsewhere. */
const bytesRead = async (): Promise<number> =>
  Number(/^rchar: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1])

describe('a folder', () => {
  it('gives only text that is really in it', async () => {
    const places = await knowledgePlaces()
    const told: string[] = []
    await places.write('good.txt', 'needle in a document')
    await places.write('page.html', '<h1>Title</h1>\n<script>needle()</script>\n<p>a needle &amp; thread</p>')
    await places.write('latin.txt', Buffer.from('caf\xe9 needle', 'latin1'))
    await places.write('utf16.txt', Buffer.from('\ufeffneedle in UTF-16', 'utf16le'))
    await places.write('binary.txt', Buffer.from('needle\0needle'))
    await places.write('picture.png', 'needle')
    await places.write('.env.md', 'needle')
    await places.write('node_modules/a.md', 'needle')
    const outside = join(places.folder, '../outside.txt')
    await writeFile(outside, 'needle of a stranger')
    await symlink(outside, join(places.folder, 'link.txt'))
    await symlink(join(places.folder, '..'), join(places.folder, 'up'))
    await link(outside, join(places.folder, 'second-name.txt'))
    const base = opened(places, { tell: (message) => told.push(message) })
    expect(await found(base, 'needle')).toEqual(['good.txt', 'latin.txt', 'page.html', 'utf16.txt'])
    const { passages } = await base.search({ query: 'thread', limit: 1 }, never)
    expect(passages).toMatchObject([{ file: 'page.html', first_line: 1, last_line: 3 }])
    expect(passages[0]?.text).toContain('a needle & thread')
    expect(passages[0]?.text).not.toContain('needle()')
    expect(told).toHaveLength(1)
    for (const says of ['binary: 1', 'links: 2', 'passwords: 1']) expect(told[0]).toContain(says)
  })

  it('that does not exist is an error that says where it is configured, and counts when it exists', async () => {
    const places = await knowledgePlaces()
    const told: string[] = []
    const base = opened(
      { ...places, folder: join(places.folder, 'later') },
      { tell: (message) => told.push(message) },
    )
    await expect(base.search({ query: 'a', limit: 1 }, never)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('"knowledge_bases.handbook.folder"') as string,
    })
    await writeFile(join(places.folder, 'later'), 'a file')
    await expect(base.search({ query: 'a', limit: 1 }, never)).rejects.toThrow('It is not a folder.')
    await rm(join(places.folder, 'later'))
    await places.write('later/a.md', 'needle')
    expect(await found(base, 'needle')).toEqual(['a.md'])
    await rm(join(places.folder, 'later'), { recursive: true })
    await expect(base.search({ query: 'needle', limit: 1 }, never)).rejects.toThrow('It does not exist.')
    expect(told).toHaveLength(2)
  })

  it('that is empty, or has only empty folders, finds nothing', async () => {
    const places = await knowledgePlaces()
    await mkdir(join(places.folder, 'a/b'), { recursive: true })
    expect(await opened(places).search({ query: 'needle', limit: 5 }, never)).toEqual({
      passages: [],
      ranked_by: 'words',
      complete: true,
    })
  })

  it('may contain the home of Beaver, whose files are no documents', async () => {
    const { folder } = await knowledgePlaces()
    const home = join(folder, 'state')
    await mkdir(join(home, 'logs'), { recursive: true })
    await writeFile(join(home, 'logs/a.log'), 'needle')
    expect(await found(opened({ folder, home }), 'needle')).toEqual([])
  })

  it('leaves out a file of 100 MB without reading it, and one that is just too large', async () => {
    const places = await knowledgePlaces()
    await places.write('huge.txt', 'needle ')
    await truncate(join(places.folder, 'huge.txt'), 104_857_600)
    await places.write('over.txt', 'needle '.repeat(200))
    await places.write('fits.txt', 'needle')
    const base = opened(places, { of: { fileBytesMax: 1_024 } })
    const before = await bytesRead()
    expect(await found(base, 'needle')).toEqual(['fits.txt'])
    expect((await bytesRead()) - before).toBeLessThan(50_000_000)
  })

  it('beyond the bounds is searched as far as they go, always with the same documents', async () => {
    const places = await knowledgePlaces()
    for (const name of ['a', 'b', 'c', 'd']) await places.write(`${name}.txt`, `needle ${name}`)
    const told: string[] = []
    const base = opened(places, { bounds: { documentsMax: 2 }, tell: (message) => told.push(message) })
    expect(await found(base, 'needle')).toEqual(['a.txt', 'b.txt'])
    expect(told[0]).toContain('beyond the bounds of a knowledge base: 2')
    expect(await found(opened(places, { bounds: { bytesMax: 8 } }), 'needle')).toEqual(['a.txt'])
  })

  it('whose file is exchanged for a link while it is read gives nothing of the link', async () => {
    const places = await knowledgePlaces()
    const secret = join(places.folder, '../secret.txt')
    await writeFile(secret, 'needle of a stranger')
    for (let i = 0; i < 50; i++) await places.write(`${i}.txt`, `document ${i}`)
    const base = opened(places)
    const swaps = (async () => {
      for (let i = 49; i >= 0; i--) {
        await rm(join(places.folder, `${i}.txt`))
        await symlink(secret, join(places.folder, `${i}.txt`))
      }
    })()
    await base.refresh().catch(() => {})
    await swaps
    expect(await found(base, 'needle stranger')).toEqual([])
  })

  it('with a thousand documents answers while it is indexed, and completely afterwards', async () => {
    const places = await knowledgePlaces()
    for (let i = 0; i < 1_000; i += 100) {
      await mkdir(join(places.folder, String(i)))
      await Promise.all(
        Array.from({ length: 100 }, (_, j) =>
          writeFile(join(places.folder, String(i), `${i + j}.txt`), `document number${i + j}`),
        ),
      )
    }
    // Indexing takes many turns of this thread, and the search waits for one turn only.
    const base = opened(places, { clock: { ...systemClock, after: (_ms, act) => systemClock.after(0, act) } })
    expect(await base.search({ query: 'number999', limit: 5 }, never)).toMatchObject({ complete: false })
    await base.refresh()
    const patient = opened(places)
    expect(await patient.search({ query: 'number999', limit: 5 }, never)).toMatchObject({
      complete: true,
      passages: [{ file: '900/999.txt' }],
    })
    expect((await patient.search({ query: 'document', limit: 20 }, never)).passages).toHaveLength(20)
  })

  it('notices a change that keeps the size and the time, and a rename', async () => {
    const places = await knowledgePlaces()
    const base = opened(places)
    for (let round = 0; round < 5; round++) {
      await places.write('a.txt', `round${round}x`)
      expect(await found(base, `round${round}x`)).toEqual(['a.txt'])
      expect(await found(base, `round${round - 1}x`)).toEqual([])
    }
    await rename(join(places.folder, 'a.txt'), join(places.folder, 'b.txt'))
    expect(await found(base, 'round4x')).toEqual(['b.txt'])
  })
})

/** Another process takes the lease and never gives it back. */
function lease({ folder, home }: KnowledgePlaces, owner: string): void {
  using db = new DatabaseSync(indexFile(home, { id: 'handbook', folder }), { timeout: 1_000 })
  db.prepare("insert into lease (work, owner, until_ms) values ('words', ?, ?)").run(
    owner,
    Date.now() + 30_000,
  )
}

describe('the index', () => {
  it('is in the home, for its owner only, and outlives the process', async () => {
    const places = await knowledgePlaces()
    await places.write('a.txt', 'needle')
    await using first = opened(places)
    expect(await found(first, 'needle')).toEqual(['a.txt'])
    const files = await readdir(join(places.home, 'knowledge'))
    expect(files.length).toBeGreaterThan(0)
    for (const file of files)
      expect((await stat(join(places.home, 'knowledge', file))).mode & 0o777).toBe(0o600)
    expect((await stat(join(places.home, 'knowledge'))).mode & 0o777).toBe(0o700)
    expect(await found(opened(places), 'needle')).toEqual(['a.txt'])
  })

  test.each<[string, string | Buffer]>([
    ['garbage', 'this is no database at all, but it is long enough to be one'.repeat(50)],
    ['nothing', ''],
  ])('that contains %s is made again', async (_, content) => {
    const places = await knowledgePlaces()
    await places.write('a.txt', 'needle')
    await mkdir(join(places.home, 'knowledge'), { recursive: true })
    await writeFile(indexFile(places.home, { id: 'handbook', folder: places.folder }), content)
    expect(await found(opened(places), 'needle')).toEqual(['a.txt'])
  })

  it('that cannot be made is an error that names it', async () => {
    const places = await knowledgePlaces()
    await places.write('a.txt', 'needle')
    await writeFile(places.home, 'a file')
    const search = opened(places).search({ query: 'needle', limit: 1 }, never)
    await expect(search).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('handbook-') as string,
    })
  })

  it('is shared by several processes that search and index at the same time', async () => {
    const places = await knowledgePlaces()
    for (let i = 0; i < 180; i++) await places.write(`${i}.txt`, `needle number${i}`)
    const bases = Array.from({ length: 4 }, () => opened(places))
    const answers = await Promise.all(
      bases.map((base) => base.search({ query: 'number17 number170', limit: 5 }, never)),
    )
    for (const { passages, complete } of answers) {
      expect(complete).toBe(true)
      expect(passages.map(({ file }) => file).toSorted()).toEqual(['17.txt', '170.txt'])
    }
    await Promise.all(
      bases.map(async (base, at) => {
        await places.write(`new${at}.txt`, `fresh${at}`)
        expect(await found(base, `fresh${at}`)).toEqual([`new${at}.txt`])
      }),
    )
    expect(await found(bases[0] as (typeof bases)[0], 'fresh0 fresh1 fresh2 fresh3')).toEqual([
      'new0.txt',
      'new1.txt',
      'new2.txt',
      'new3.txt',
    ])
  })

  it('waits for another process that indexes only so long, and then says that it is not complete', async () => {
    const places = await knowledgePlaces()
    await places.write('a.txt', 'needle')
    await using before = opened(places)
    await before.refresh()
    await places.write('b.txt', 'needle')
    lease(places, 'elsewhere')
    const base = opened(places, { bounds: { waitMs: 300 } })
    const answer = await base.search({ query: 'needle', limit: 5 }, never)
    expect(answer).toMatchObject({ complete: false, passages: [{ file: 'a.txt' }] })
  })

  it('does not wait for a process that is gone', async () => {
    const places = await knowledgePlaces()
    await places.write('a.txt', 'needle')
    await using before = opened(places)
    await before.refresh()
    await places.write('b.txt', 'needle')
    lease(places, `${spawnSync(process.execPath, ['-e', '']).pid} gone`)
    expect(await opened(places).search({ query: 'needle', limit: 5 }, never)).toMatchObject({
      complete: true,
    })
  })

  it('is stopped in the middle, and is complete afterwards', async () => {
    const places = await knowledgePlaces()
    for (let i = 0; i < 300; i++) await places.write(`${i}.txt`, `needle number${i}`)
    const stopped = opened(places)
    const work = stopped.refresh()
    work.catch(() => {})
    await until('it has begun', () =>
      readFile(indexFile(places.home, { id: 'handbook', folder: places.folder })).then(
        () => true,
        () => false,
      ),
    )
    await stopped[Symbol.asyncDispose]()
    expect(await found(opened(places), 'number299')).toEqual(['299.txt'])
  })
})

describe('embeddings', () => {
  /** One number for each of these groups of words, so cars and automobiles mean the same here. */
  const meanings = [/car|automobile/, /tree/, /soup/]
  function fake() {
    const asked: string[] = []
    const state = { fails: false }
    const provider: EmbeddingProvider = {
      name: 'fake',
      model: 'fake-1',
      textsMax: 64,
      async embed(texts) {
        if (state.fails) throw new Error('no answer')
        asked.push(...texts)
        return {
          vectors: texts.map((text) => [...meanings.map((meaning) => (meaning.test(text) ? 1 : 0)), 0.01]),
          usage: { input_tokens: texts.length, output_tokens: 0, calls: 1 },
        }
      },
    }
    return { provider, asked, state }
  }

  it('find what has no word in common, and each text is embedded once, by whichever process', async () => {
    const places = await knowledgePlaces()
    await places.write('a.md', 'My car is red.')
    await places.write('b.md', 'The tree is green.')
    const { provider, asked } = fake()
    const base = opened(places, { embeddings: provider })
    await base.refresh()
    expect(await base.search({ query: 'automobile', limit: 1 }, never)).toMatchObject({
      ranked_by: 'words_and_meaning',
      passages: [{ file: 'a.md' }],
      paid: { provider_name: 'fake', model: 'fake-1', usage: { input_tokens: 1, calls: 1 } },
    })
    expect(asked.toSorted()).toEqual(['a.md\nMy car is red.', 'automobile', 'b.md\nThe tree is green.'])
    await opened(places, { embeddings: provider }).refresh()
    await places.write('b.md', 'The soup is hot.')
    await base.refresh()
    expect(asked.slice(3)).toEqual(['b.md\nThe soup is hot.'])
    expect(await opened(places).search({ query: 'automobile', limit: 1 }, never)).toMatchObject({
      ranked_by: 'words',
      passages: [],
    })
  })

  it('that fail leave the words, are told once, and are asked again later', async () => {
    const places = await knowledgePlaces()
    await places.write('a.md', 'My car is red.')
    const { provider, state } = fake()
    const told: string[] = []
    let now = Date.now()
    const base = opened(places, {
      embeddings: provider,
      tell: (message) => told.push(message),
      clock: { ...systemClock, now: () => now },
    })
    state.fails = true
    await base.refresh()
    expect(await base.search({ query: 'car', limit: 1 }, never)).toMatchObject({
      ranked_by: 'words',
      passages: [{ file: 'a.md' }],
      complete: true,
    })
    state.fails = false
    expect(await base.search({ query: 'car', limit: 1 }, never)).toMatchObject({ ranked_by: 'words' })
    now += 61_000
    await base.refresh()
    expect(await base.search({ query: 'automobile', limit: 1 }, never)).toMatchObject({
      ranked_by: 'words_and_meaning',
      passages: [{ file: 'a.md' }],
    })
    expect(told).toEqual([
      'kb:handbook: The embedding endpoint failed, so searches go by words for now: no answer',
    ])
  })

  it('are not asked for a folder that may not be sent', async () => {
    const places = await knowledgePlaces()
    await places.write('a.md', 'My car is red.')
    const { provider, asked } = fake()
    const base = opened(places, { embeddings: provider, of: { embeddings: false } })
    await base.refresh()
    expect(await base.search({ query: 'car', limit: 1 }, never)).toMatchObject({ ranked_by: 'words' })
    expect(asked).toEqual([])
  })
})
