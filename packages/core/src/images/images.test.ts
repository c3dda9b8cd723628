import { describe, expect, it, test } from 'vitest'
import { event } from '../events/catalog.ts'
import { evolveRun } from '../fold/evolve-run.ts'
import { type RunState, startRun } from '../fold/run-state.ts'
import { runId } from '../ids.ts'
import { readImageHeader } from './image-header.ts'
import { imagePart, type ImagePart } from './image-part.ts'
import { imageText, imageTokens } from './image-measures.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
const png = bytes('\u0089PNG\r\n\u001a\n\0\0\0\rIHDR\0\0\u0002\u0080\0\0\u0001\u00e0\b\u0006\0\0\0')
const jpeg = bytes(
  '\u00ff\u00d8\u00ff\u00e0\0\u0010JFIF\0\u0001\u0001\0\0\u0001\0\u0001\0\0\u00ff\u00c0\0\u0011\b\0\u0020\0\u0040\u0003',
)
const image = (name: string, sha = '4'): ImagePart => ({
  media_type: 'image/png',
  sha256: sha.repeat(64),
  bytes: 35_000,
  name,
  width: 640,
  height: 480,
})

describe('what an image is', () => {
  test.each([
    ['png', png, { media_type: 'image/png', width: 640, height: 480 }],
    ['gif', bytes('GIF87a\u0003\0\u0002\0'), { media_type: 'image/gif', width: 3, height: 2 }],
    ['jpeg', jpeg, { media_type: 'image/jpeg', width: 64, height: 32 }],
    [
      'jpeg with other segments alone',
      bytes('\u00ff\u00d8\u00ff\u00e1\u0000\u0004ab'),
      { media_type: 'image/jpeg' },
    ],
    [
      'webp, lossy',
      bytes('RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\u009d\u0001\u002a\u0010\0\u0008\0'),
      { media_type: 'image/webp', width: 16, height: 8 },
    ],
    [
      'webp, extended',
      bytes('RIFF\0\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0\u000f\0\0\u0007\0\0'),
      { media_type: 'image/webp', width: 16, height: 8 },
    ],
    ['a png that is cut', png.subarray(0, 12), { media_type: 'image/png' }],
  ])('is read from its first bytes: %s', (_, content, header) =>
    expect(readImageHeader(content)).toEqual(header),
  )

  test.each([
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'BM......',
    '%PDF-1.7',
    '\u0089PNG',
    'RIFF\0\0\0\0WAVE',
    '\u00ff\u00d8',
  ])('is nothing that models take: %j', (text) => expect(readImageHeader(bytes(text))).toBeNull())

  it('is told in one line, whatever its name has', () => {
    expect(imageText(image('chart.png'))).toBe('image chart.png 640×480 png 35 KB')
    expect(imageText(image('a\nb\u202e'))).not.toMatch(/[\n\u202e]/)
  })

  it('costs what it measures, and most if that is not known', () => {
    expect([
      imageTokens({ width: 64, height: 64 }),
      imageTokens({ width: 2_048, height: 4_096 }),
      imageTokens({}),
    ]).toEqual([255, 1_105, 1_445])
    expect(imageTokens({ width: 100_000, height: 1 })).toBeLessThanOrEqual(1_445)
  })

  it('has a hash and not a path in its place', () =>
    expect(imagePart.safeParse({ ...image('a'), sha256: '../../etc' }).success).toBe(false))
})

describe('given a run that was shown an image and called for another', () => {
  const id = runId.parse('run1')
  const start = {
    ...{
      run_id: id,
      parent_run_id: null,
      attempt_index: 1,
      agent_name: 'root',
      team_run_id: null,
      node_id: null,
      source: 'cli',
    },
    ...{ max_tool_iterations: 9, tools: [] },
  }
  const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }
  const calls = [{ id: 'c1', name: 'view_image', arguments: '{}' }]
  const answer = {
    content: null,
    tool_calls: calls,
    finish_reason: 'tool_calls',
    usage,
    provider_name: 'p',
    model: 'm',
    response_id: null,
    duration_ms: 1,
  }
  const result = {
    call_id: 'c1',
    tool_name: 'view_image',
    success: true,
    content: 'shown',
    error: null,
    duration_ms: 1,
    images: [image('b.png', '5')],
  }
  const run = [
    event('system_prompt_snapshotted', { content: 's' }, id),
    event('user_message_added', { content: 'look', images: [image('a.png')] }, id),
    event('assistant_message_added', answer, id),
    event('tool_result_recorded', result, id),
  ].reduce<RunState>((state, each, i) => evolveRun(state, each, { taskseq: i + 2 }), startRun(start))

  it('then its messages show both', () => {
    expect(run.messages[1]).toEqual({ role: 'user', content: 'look', images: [image('a.png')] })
    expect(run.messages[3]).toEqual({
      role: 'tool',
      tool_call_id: 'c1',
      content: 'shown',
      images: [image('b.png', '5')],
    })
  })

  it('when images are left out, then references take their places, and nothing else changes', () => {
    const compacted = {
      results: [],
      images: [
        { call_id: 'c1', sha256: '5'.repeat(64) },
        { call_id: 'c1', sha256: '4'.repeat(64) },
      ],
    }
    const after = evolveRun(run, event('context_compacted', compacted, id), { taskseq: 6 })
    expect(after.messages[1]).toEqual(run.messages[1])
    expect(after.messages[3]).toEqual({
      role: 'tool',
      tool_call_id: 'c1',
      content:
        'shown\n[image b.png 640×480 png 35 KB: left out because the conversation was too long; look at it again if you need it]',
    })
    const own = evolveRun(
      after,
      event('context_compacted', { results: [], images: [{ call_id: null, sha256: '4'.repeat(64) }] }, id),
      { taskseq: 7 },
    )
    expect(own.messages[1]).toMatchObject({
      content: expect.stringMatching(/^look\n\[image a\.png /) as unknown,
    })
    expect(own.messages[1]).not.toHaveProperty('images')
  })
})
