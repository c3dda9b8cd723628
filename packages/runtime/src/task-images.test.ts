import { hash } from 'node:crypto'
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { imageLimits } from '@beaver/core/images'
import { memoryBlobStore } from '@beaver/testing'
import { afterEach, beforeEach, expect, it, test } from 'vitest'
import { namedImages, taskImages } from './task-images.ts'

const gif = Buffer.from('GIF89a\u0003\0\u0002\0', 'latin1')
let workspace: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-images-')))
  await writeFile(join(workspace, 'a.gif'), gif)
})
afterEach(() => rm(workspace, { recursive: true }))

it('are read from the workspace and from the request, and are stored', async () => {
  const blobs = memoryBlobStore()
  const images = await taskImages(
    ['a.gif', { data: gif.toString('base64'), name: 'pasted' }, { data: gif.toString('base64') }],
    workspace,
    blobs,
  )
  expect(
    images.map(({ name, media_type, bytes, width, height }) => [name, media_type, bytes, width, height]),
  ).toEqual([
    ['a.gif', 'image/gif', 10, 3, 2],
    ['pasted', 'image/gif', 10, 3, 2],
    [undefined, 'image/gif', 10, 3, 2],
  ])
  expect(Buffer.from(await blobs.get(images[0]?.sha256 ?? ''))).toEqual(gif)
})

test.each([
  ['missing.gif', 'not_found'],
  ['../a.gif', 'outside_workspace'],
  ['link.gif', 'outside_workspace'],
  ['text.txt', 'not_an_image'],
  ['.', 'not_a_file'],
])('%s is refused, with its place, and nothing is stored', async (path, code) => {
  await symlink('/etc/hostname', join(workspace, 'link.gif'))
  await writeFile(join(workspace, 'text.txt'), 'text')
  const stored: string[] = []
  const error = await taskImages(['a.gif', path], workspace, {
    ...memoryBlobStore(),
    put: async (sha256) => void stored.push(sha256),
  }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(BeaverError)
  expect((error as BeaverError).problems).toMatchObject([{ path: 'images.1', code }])
  expect(stored).toEqual([])
})

it('have at most so many bytes together', async () => {
  const large = {
    data: Buffer.concat([gif, Buffer.alloc(imageLimits.bytesMax - gif.length)]).toString('base64'),
  }
  const blobs = memoryBlobStore()
  expect(await taskImages([large, large, large], workspace, blobs)).toHaveLength(3)
  await expect(taskImages([large, large, large, 'a.gif'], workspace, blobs)).rejects.toMatchObject({
    problems: [{ path: 'images.3', code: 'too_many_images' }],
  })
})

it('of parts are joined, checked as a whole, and known again', async () => {
  const blobs = memoryBlobStore()
  const parts = [gif.subarray(0, 4), gif.subarray(4)].map((part) => ({ sha256: hash('sha256', part), part }))
  for (const { sha256, part } of parts) await blobs.put(sha256, part)
  const named = parts.map(({ sha256 }) => sha256)
  const [image] = await taskImages([{ parts: named, name: 'large' }], workspace, blobs)
  expect(image).toMatchObject({ name: 'large', media_type: 'image/gif', bytes: 10 })
  expect(Buffer.from(await blobs.get(image?.sha256 ?? ''))).toEqual(gif)
  expect(await namedImages([{ parts: named, name: 'large' }], blobs)).toEqual([image])
  await expect(taskImages(['a.gif', { parts: named.toReversed() }], workspace, blobs)).rejects.toMatchObject({
    problems: [{ path: 'images.1', code: 'not_an_image' }],
  })
  await expect(taskImages([{ parts: ['0'.repeat(64)] }], workspace, blobs)).rejects.toMatchObject({
    problems: [{ path: 'images.0', code: 'no_such_part', message: expect.stringContaining('image.store') }],
  })
})
