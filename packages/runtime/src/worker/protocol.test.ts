import { switchOff } from '@beaver/core'
import { afterEach, expect, it } from 'vitest'
import { batchedPort } from './protocol.ts'

afterEach(() => switchOff(undefined))

it('posts what one callback sends as one array, and one by one where a bench has switched that off', async () => {
  const posted: unknown[] = []
  const heard: unknown[] = []
  const port = {
    postMessage: (value: unknown) => void posted.push(value),
    on: (_: 'message', listener: (message: unknown) => void) => listener([1, 2, 3]),
  }
  const batched = batchedPort(port)
  for (const each of [1, 2, 3]) batched.postMessage(each, [])
  expect(posted).toEqual([])
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect(posted.splice(0)).toEqual([[1, 2, 3]])
  switchOff('batched_posts')
  const plain = batchedPort(port)
  for (const each of [1, 2, 3]) plain.postMessage(each, [])
  expect(posted).toEqual([[1], [2], [3]])
  plain.on('message', (message) => heard.push(message))
  expect(heard).toEqual([1, 2, 3])
})
