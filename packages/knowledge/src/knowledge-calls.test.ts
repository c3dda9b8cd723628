import { BeaverError, type KnowledgeBase } from '@beaver/core'
import { memoryKnowledgeBase } from '@beaver/testing'
import { expect, it, test } from 'vitest'
import { never } from '../test/kit.ts'
import { knowledgeCalls } from './knowledge-calls.ts'

const documents = new Map([
  ['leave.md', '# Leave\n\nThirty days.'],
  ['a b/年假.txt', 'plain days'],
])
const answering = (base: KnowledgeBase) =>
  knowledgeCalls({
    search: (id, request, signal) =>
      id === 'handbook' ? base.search(request, signal) : Promise.reject(new Error(id)),
  })
const call = (args: object, name = 'kb:handbook', base = memoryKnowledgeBase(documents), signal = never) =>
  answering(base).call({ name, callId: 'c', arguments: args as never }, signal)

it('gives each passage with the place to cite', async () => {
  const { content, ...rest } = await call({ query: 'thirty days' })
  expect(rest).toEqual({ success: true, error: null })
  expect(JSON.parse(content)).toEqual({
    passages: [
      { source: 'kb:handbook/leave.md:1-3', heading: 'Leave', text: '# Leave\n\nThirty days.' },
      { source: 'kb:handbook/a b/年假.txt:1-1', text: 'plain days' },
    ],
  })
  expect(JSON.parse((await call({ query: 'days', limit: 1 })).content)).toMatchObject({ passages: [{}] })
  expect(await call({ query: 'nothing of it' })).toMatchObject({ success: true, content: '{"passages":[]}' })
})

it('says if some documents are not indexed yet', async () => {
  const { content } = await call({ query: 'x' }, 'kb:handbook', {
    search: async () => ({ passages: [], ranked_by: 'words', complete: false }),
  })
  expect(JSON.parse(content)).toMatchObject({ note: expect.stringContaining('not indexed yet') as string })
})

test.each<[string, Error, string]>([
  ['a folder that is not there', new BeaverError('not_found', 'It does not exist.'), 'knowledge_missing'],
  ['a thread that died', new BeaverError('unreachable', 'Try again.'), 'knowledge_unavailable'],
  ['a full disk', new Error('ENOSPC'), 'knowledge_unavailable'],
])('%s is a result', async (_, error, code) => {
  expect(await call({ query: 'x' }, 'kb:handbook', { search: () => Promise.reject(error) })).toEqual({
    success: false,
    error: code,
    content: error.message,
  })
})

it('a search that is cancelled is a result', async () => {
  expect(
    await call({ query: 'x' }, 'kb:handbook', undefined, AbortSignal.abort(new Error('enough'))),
  ).toMatchObject({ success: false, error: 'cancelled' })
})
