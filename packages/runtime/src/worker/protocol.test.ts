import { switchOff } from '@beaver/core'
import { afterEach, expect, it } from 'vitest'
import { batchedPost } from './protocol.ts'

afterEach(() => switchOff(undefined))

it('posts what one callback sends as one array, and one by one where a bench has switched that off', async () => {
  const posted: unknown[] = []
  const port = { postMessage: (value: unknown) => void posted.push(value) }
  const batched = batchedPost<number>(port)
  for (const each of [1, 2, 3]) batched(each)
  expect(posted).toEqual([])
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect(posted.splice(0)).toEqual([[1, 2, 3]])
  switchOff('batched_posts')
  const plain = batchedPost<number>(port)
  for (const each of [1, 2, 3]) plain(each)
  expect(posted).toEqual([[1], [2], [3]])
})
