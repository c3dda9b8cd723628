import { silentLogger } from '@beaver/core'
import { gateBuffer, type ProviderChoices } from '@beaver/providers'
import { until } from '@beaver/testing'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { type KnowledgePlaces, knowledgePlaces, never } from '../test/kit.ts'
import { indexFile } from './index-file.ts'
import { type Knowledge, startKnowledge } from './knowledge-thread.ts'

const limits = {
  requestsPerMinuteMax: null,
  tokensPerMinuteMax: null,
  circuitFailuresMax: 8,
  circuitOpenMs: 1_000,
  turnMsMax: 1_000,
}
const endpoint = {
  provider: 'p',
  baseURL: 'http://127.0.0.1:9/v1',
  apiKey: 'none',
  keyName: 'K',
  model: 'm',
  timeoutMs: 1_000,
  idleMs: 1_000,
  gateIndex: 0,
}
const model: ProviderChoices = {
  ...endpoint,
  fallback: null,
  auxiliary: null,
  embeddings: null,
  gate: gateBuffer(1),
  limits,
}

function started({ folder, home }: KnowledgePlaces): Knowledge {
  const knowledge = startKnowledge(
    {
      folders: [{ id: 'handbook', folder, embeddings: true, fileBytesMax: 10_485_760 }],
      home,
      model,
      secrets: [],
    },
    silentLogger,
  )
  onTestFinished(() => knowledge.close())
  return knowledge
}

it('searches in its thread, and says what is not there', async () => {
  const places = await knowledgePlaces()
  await places.write('a.md', 'needle')
  const knowledge = started(places)
  expect(await knowledge.search('handbook', { query: 'needle', limit: 5 }, never)).toMatchObject({
    passages: [{ file: 'a.md' }],
    complete: true,
  })
  await expect(knowledge.search('laws', { query: 'x', limit: 5 }, never)).rejects.toMatchObject({
    code: 'not_found',
  })
})

it('ends a search at once when its signal aborts, and answers the next one', async () => {
  const places = await knowledgePlaces()
  for (let i = 0; i < 200; i++) await places.write(`${i}.txt`, 'needle '.repeat(1_000))
  const knowledge = started(places)
  const enough = new AbortController()
  const search = knowledge.search('handbook', { query: 'needle', limit: 5 }, enough.signal)
  enough.abort(new Error('enough'))
  await expect(search.then(({ passages }) => passages.length)).rejects.toThrow('enough')
  await expect(
    knowledge.search('handbook', { query: 'x', limit: 5 }, AbortSignal.abort(new Error('before'))),
  ).rejects.toThrow('before')
  expect((await knowledge.search('handbook', { query: 'needle', limit: 5 }, never)).passages).toHaveLength(5)
})

it('fails its searches when it is closed in the middle of its work, is gone, and leaves no lease', async () => {
  const places = await knowledgePlaces()
  for (let i = 0; i < 200; i++) await places.write(`${i}.txt`, 'needle '.repeat(1_000))
  const knowledge = started(places)
  const search = knowledge.search('handbook', { query: 'a', limit: 5 }, never)
  search.catch(() => {})
  const file = indexFile(places.home, { id: 'handbook', folder: places.folder })
  const rows = (table: string): unknown => {
    using db = new DatabaseSync(file, { timeout: 1_000 })
    return db.prepare(`select count(*) as count from ${table}`).get()?.['count']
  }
  await until('it indexes', async () => {
    try {
      return Number(rows('documents')) > 0
    } catch {
      return false
    }
  })
  await knowledge.close()
  await expect(search.then(() => 'answered')).rejects.toThrow()
  await expect(knowledge.search('handbook', { query: 'a', limit: 5 }, never)).rejects.toMatchObject({
    code: 'unreachable',
  })
  expect(rows('lease')).toBe(0)
})

it('that cannot start fails its searches and does not hang', async () => {
  const places = await knowledgePlaces()
  const knowledge = startKnowledge(
    { folders: null as never, home: places.home, model, secrets: [] },
    silentLogger,
  )
  onTestFinished(() => knowledge.close())
  await expect(knowledge.search('handbook', { query: 'x', limit: 5 }, never)).rejects.toMatchObject({
    code: 'unreachable',
  })
})
