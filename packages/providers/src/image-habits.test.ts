import type { ChatMessage } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import { ImageHabits } from './image-habits.ts'

const image = (sha256: string) => ({
  sha256,
  bytes: 1,
  name: `${sha256}.png`,
  media_type: 'image/png' as const,
})
/** A request that shows these images, oldest first. */
const request = (...names: readonly string[]) => ({
  messages: [{ role: 'user', content: 'x', images: names.map(image) } as unknown as ChatMessage],
  images: new Map(names.map((name) => [name, new Uint8Array(1)])),
})
const says = (message: string) =>
  ({ status: 400, codes: '', message }) as unknown as Parameters<ImageHabits['learns']>[0]
/** vLLM says so, whatever is too long. */
const tooLong =
  'The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends on the number of images, and possibly their aspect ratios as well.'

describe('a refusal', () => {
  it('of a conversation that is too long teaches nothing about its images', () => {
    const habits = new ImageHabits()
    const sent = habits.sent(request('a'))
    expect([
      habits.learns(says(tooLong), sent),
      habits.learnsBad(says(tooLong), sent),
      habits.sent(request('a', 'b')),
    ]).toEqual([false, false, ['b', 'a']])
  })

  it('of too many images never leaves none, and counts an image as often as it is shown', () => {
    const habits = new ImageHabits()
    const sent = habits.sent(request('a', 'a', 'a', 'a'))
    expect([sent.length, habits.learns(says('Too many images in request.'), sent)]).toEqual([4, true])
    expect(habits.sent(request('a', 'b'))).toEqual(['b', 'a'])
    expect(habits.learns(says('Too many images in request.'), ['b', 'a'])).toBe(true)
    expect(habits.learns(says('Too many images in request.'), ['b'])).toBe(false)
    expect(habits.sent(request('a', 'b'))).toEqual(['b'])
  })

  it('that two requests get at once is learned by both, so both are asked again', () => {
    const habits = new ImageHabits()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const sent = habits.sent(request(...names))
    const most = says('At most 5 images may be provided in one request.')
    expect([habits.learns(most, sent), habits.learns(most, sent)]).toEqual([true, true])
    expect(habits.learns(most, habits.sent(request(...names)))).toBe(false)
  })

  it.each([
    'Maximum image size is 20 MB.',
    'The maximum image size is 4 MB.',
    'This exceeds the maximum image limit of 10 MB.',
    'Max allowed images size: 20MB',
  ])('that names a size is no number of images: %s', (message) => {
    const habits = new ImageHabits()
    const names = Array.from({ length: 30 }, (_, i) => `i${i}`)
    expect(habits.learns(says(message), habits.sent(request(...names)))).toBe(false)
    expect(habits.sent(request(...names))).toHaveLength(30)
  })
})
