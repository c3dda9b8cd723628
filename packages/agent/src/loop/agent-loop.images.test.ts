import type { ChatMessage } from '@beaver/core'
import { imageLimits, type ImagePart } from '@beaver/core/images'
import type { RecordedEvent } from '@beaver/core/journal'
import { calls, memoryHost, rootSpec, says, type ScriptedReply } from '@beaver/testing'
import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { begin, lastMessages, type Loop, results, resumed } from '../../test/loop-kit.ts'
import { imageOf } from '../images/image-file.ts'
import { externalTool } from '../tools/external-tools.ts'
import { defineTool, type ExternalResult } from '../tools/tool.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import { z } from 'zod'

/** A GIF of one size, with content of its own. */
const gif = (n: number, bytes = 16): Buffer =>
  Buffer.concat([Buffer.from('GIF89a\u0003\0\u0002\0', 'latin1'), Buffer.alloc(bytes - 10, n)])
const camera = (bytes?: number) =>
  defineTool({
    name: 'camera',
    description: 'Shows.',
    input: z.strictObject({ n: z.number(), times: z.number().default(1) }),
    idempotent: true,
    effects: 'reads',
    async run({ n, times }, { showImage }) {
      for (let i = 0; i < times; i++) await showImage?.(gif(n + i, bytes), `${n + i}.gif`)
      return 'shown'
    },
  })
const spec = rootSpec({ start: { max_tool_iterations: 100 } })
const shots = (count: number): ScriptedReply[] =>
  Array.from({ length: count }, (_, n) => calls(['camera', { n }, `s${n}`]))
const imagesIn = (messages: readonly ChatMessage[]): readonly ImagePart[] =>
  messages.flatMap((message) =>
    message.role === 'user' || message.role === 'tool' ? (message.images ?? []) : [],
  )
const typed = <T extends RecordedEvent['type']>(loop: Loop, type: T) =>
  loop.host.events.flatMap((event) =>
    event.type === type ? [event.data as Extract<RecordedEvent, { type: T }>['data']] : [],
  )

describe('an image that a tool shows', () => {
  it('is stored before its result is recorded, is in the result, and is content of the next request', async () => {
    const order: string[] = []
    const host = memoryHost({ services: { storeBlob: async (sha256) => void order.push(sha256) } })
    const { append } = host
    const watched = {
      ...host,
      append: (...of: Parameters<typeof append>) => (
        order.push(...of[0].map(({ type }) => type)),
        append(...of)
      ),
    }
    const loop = begin({
      replies: [calls(['camera', { n: 1 }, 'c1']), says('a picture')],
      tools: [camera()],
      spec,
      host: watched as typeof host,
    })
    expect((await loop.end).status).toBe('completed')
    const sha256 = hash('sha256', gif(1))
    expect(order.indexOf(sha256)).toBeGreaterThan(-1)
    expect(order.indexOf(sha256)).toBeLessThan(order.indexOf('tool_result_recorded'))
    const image = { media_type: 'image/gif', sha256, bytes: 16, width: 3, height: 2, name: '1.gif' }
    expect(results(host)[0]?.images).toEqual([image])
    expect(imagesIn(lastMessages(loop.provider))).toEqual([image])
    expect(Buffer.from(loop.provider.requests.at(-1)?.images?.get(sha256) ?? [])).toEqual(gif(1))
    expect(loop.provider.requests[0]).not.toHaveProperty('images')
  })

  it('is shown again as it was when the run is resumed', async () => {
    const loop = begin({
      replies: [calls(['camera', { n: 7 }, 'c1']), says('a picture')],
      tools: [camera()],
      spec,
    })
    await loop.end
    const before = loop.provider.requests.at(-1)
    const upTo = loop.host.entries.findIndex((entry) =>
      entry.some(({ type }) => type === 'tool_result_recorded'),
    )
    const again = resumed(loop.host.entries.slice(0, upTo + 1), {
      replies: [says('a picture')],
      tools: [camera()],
      spec,
    })
    await again.end
    expect(again.provider.requests.at(-1)?.messages).toEqual(before?.messages)
    expect(again.provider.requests.at(-1)?.images).toEqual(before?.images)
  })

  it('is not in the result of a call that failed', async () => {
    const failing = defineTool({
      name: 'camera',
      description: 'd',
      input: z.strictObject({}),
      async run(_, { showImage }) {
        await showImage?.(gif(1))
        throw new Error('broken')
      },
    })
    const loop = begin({ replies: [calls(['camera', {}, 'c1']), says('none')], tools: [failing], spec })
    await loop.end
    expect(results(loop.host)[0]).toMatchObject({ success: false, error: 'tool_crash' })
    expect(results(loop.host)[0]).not.toHaveProperty('images')
  })

  it.each<[string, Partial<ExternalResult>, number, string]>([
    ['is shown', {}, 1, 'here'],
    [
      'is shown as far as it is one',
      { images: [{ content: gif(1) }, { content: Buffer.from('<svg>'), name: '#2' }] },
      1,
      'here\n[Beaver: an image is not shown: "#2" ',
    ],
    [
      'is shown with a bounded number of others',
      { images: Array.from({ length: 9_000 }, (_, n) => ({ content: gif(n) })) },
      10,
      'here\n[Beaver: the last 8990 images are not shown: a call shows at most 10]',
    ],
    [
      'is not shown if the call failed',
      { success: false, error: 'mcp_tool_failed' },
      0,
      '[Beaver: the images of a call that failed are not shown]',
    ],
  ])('of a tool in the host %s', async (_, over, shown, text) => {
    const result = {
      success: true,
      content: 'here',
      error: null,
      images: [{ content: gif(1), name: '#1' }],
      ...over,
    }
    const camera = externalTool({
      name: 'camera',
      description: 'd',
      parameters: { type: 'object' },
      idempotent: true,
      permission: 'allow',
    })
    const host = memoryHost({ services: { callExternal: async () => result } })
    const loop = begin({ replies: [calls(['camera', {}, 'c1']), says('seen')], tools: [camera], spec, host })
    await loop.end
    const [recorded] = results(host)
    expect([recorded?.images?.length ?? 0, recorded?.content.includes(text)]).toEqual([shown, true])
  })

  it('has bounds: a call that shows too many fails', async () => {
    const loop = begin({
      replies: [calls(['camera', { n: 0, times: imageLimits.perTaskMax + 1 }, 'c1']), says('none')],
      tools: [camera()],
      spec,
    })
    await loop.end
    expect(results(loop.host)[0]?.error).toBe('too_many_images')
  })

  it('is told as removed, if nobody has its content any more', async () => {
    const host = memoryHost({ services: { loadBlob: async () => gif(99) } })
    const { image } = imageOf(gif(200), 'gone.gif')
    const loop = begin({ replies: [says('nothing')], spec: rootSpec({ part: { images: [image] } }), host })
    await loop.end
    expect(loop.provider.requests[0]?.images).toEqual(new Map())
  })
})

describe('many images', () => {
  it('do not all go with each request: the older half becomes references, which are recorded', async () => {
    const count = imageLimits.perRequestMax + 5
    const loop = begin({ replies: [...shots(count), says('done')], tools: [camera()], spec })
    expect((await loop.end).status).toBe('completed')
    const sent = loop.provider.requests.map(({ messages }) => imagesIn(messages).length)
    expect(Math.max(...sent)).toBe(imageLimits.perRequestMax)
    const [left] = typed(loop, 'context_compacted')
    expect(typed(loop, 'context_compacted')).toHaveLength(1)
    expect(left?.images).toHaveLength(imageLimits.perRequestMax / 2 + 1)
    expect(left?.images?.[0]).toEqual({ call_id: 's0', sha256: hash('sha256', gif(0)) })
    const [first] = lastMessages(loop.provider).flatMap((message) =>
      message.role === 'tool' ? [message.content] : [],
    )
    expect(first).toMatch(/^shown\n\[image 0\.gif 3×2 gif 16 B: left out/)
  })

  it('have a bound in bytes, too', async () => {
    const loop = begin({ replies: [...shots(4), says('done')], tools: [camera(imageLimits.bytesMax)], spec })
    await loop.end
    const bytes = loop.provider.requests.map(({ messages }) =>
      imagesIn(messages).reduce((sum, each) => sum + each.bytes, 0),
    )
    expect(Math.max(...bytes)).toBe(imageLimits.totalBytesMax)
  })

  it('go before anything else if the conversation is too long, and the last ones go when nothing else is left', async () => {
    const tooLong = () => new ProviderError('context_overflow', 'too long', { status: 400 })
    const { image } = imageOf(gif(50), 'own.gif')
    const replies = [...shots(2), tooLong(), tooLong(), says('summary'), tooLong(), says('done')]
    const loop = begin({
      replies,
      tools: [camera()],
      spec: rootSpec({ part: { images: [image] }, start: { max_tool_iterations: 9 } }),
    })
    expect((await loop.end).status).toBe('completed')
    const [first, second] = typed(loop, 'context_compacted')
    expect(first?.images).toEqual([{ call_id: 's0', sha256: hash('sha256', gif(0)) }])
    expect(second?.images).toEqual([
      { call_id: null, sha256: image.sha256 },
      { call_id: 's1', sha256: hash('sha256', gif(1)) },
    ])
  })

  it('count for the window of a model before they are sent', async () => {
    const big = { ...imageOf(gif(3), 'big.gif').image, width: 2_000, height: 2_000 }
    const loop = begin({
      replies: [says('done')],
      tools: [],
      contextTokens: 1_400,
      spec: rootSpec({ part: { images: [big] } }),
    })
    await loop.end
    expect(typed(loop, 'context_compacted')[0]?.images).toEqual([{ call_id: null, sha256: big.sha256 }])
  })
})

describe('the images of a task', () => {
  const { image } = imageOf(gif(1), 'downloads/a.gif')

  it('are in the message with which the root begins', async () => {
    const loop = begin({ replies: [says('seen')], spec: rootSpec({ part: { images: [image] } }) })
    await loop.end
    expect(typed(loop, 'user_message_added')).toEqual([{ content: 'do it', images: [image] }])
  })

  it('have the labels of the files that they are', async () => {
    const loop = begin({ replies: [says('seen')], spec: rootSpec({ part: { images: [image] } }) })
    await loop.end
    expect(typed(loop, 'run_started')[0]?.taint).toEqual({
      untrusted: ['image downloads/a.gif'],
      secret: [],
      public: false,
    })
  })
})
