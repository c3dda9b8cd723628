import { hash } from 'node:crypto'
import { imageLimits } from '@beaver/core/images'
import { expect, it } from 'vitest'
import { withImageParts } from './patient-requests.ts'

/** A store of parts, as a daemon has it. */
function stored() {
  const parts = new Map<string, Buffer>()
  const store = async (data: string): Promise<string> => {
    const content = Buffer.from(data, 'base64')
    const sha256 = hash('sha256', content)
    parts.set(sha256, content)
    return sha256
  }
  return { parts, store }
}

it('sends a small image as it is', async () => {
  const { parts, store } = stored()
  const task = { task: 'x', images: ['a.png', { data: 'aGk=', name: 'b' }] }
  expect(await withImageParts(task, store)).toBe(task)
  expect(await withImageParts({ task: 'x' }, store)).toEqual({ task: 'x' })
  expect(parts.size).toBe(0)
})

it.each([200_001, 512 * 1024, 512 * 1024 + 1, imageLimits.bytesMax])(
  'stores an image of %i bytes in parts that are the image, each small enough',
  async (bytes) => {
    const { parts, store } = stored()
    const content = Buffer.from(Array.from({ length: bytes }, (_, i) => (i * 31 + (i >> 8)) & 255))
    const { images } = await withImageParts(
      { task: 'x', images: ['a.png', { data: content.toString('base64'), name: 'b' }] },
      store,
    )
    const [path, sent] = images ?? []
    expect(path).toBe('a.png')
    const named = typeof sent === 'object' && 'parts' in sent ? sent.parts : []
    expect(sent).toEqual({ parts: named, name: 'b' })
    expect(Buffer.concat(named.map((sha256) => parts.get(sha256) ?? Buffer.alloc(0))).equals(content)).toBe(
      true,
    )
    expect(Math.max(...[...parts.values()].map(({ length }) => length))).toBeLessThanOrEqual(512 * 1024)
    expect(named.length).toBeLessThanOrEqual(10)
  },
)
