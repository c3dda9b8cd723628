import { calls, memoryHost, rootSpec, says, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, lastMessages, resumed } from '../../test/loop-kit.ts'

const again = (id: string) => calls(['add', { a: 1, b: 1 }, id])
const spec = rootSpec({ start: { max_tool_iterations: 2 } })

describe('a run that used up its iterations (SCH-07)', () => {
  it('is asked once more, without tools, to answer now; the answer is kept, and the run fails', async () => {
    const loop = begin({ replies: [again('a'), again('b'), says('2, as far as I know')], spec })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: {
        class: 'iterations_exhausted',
        message: expect.stringContaining('max_tool_iterations_finalized') as string,
      },
      facts: { outputText: '2, as far as I know' },
      usage: { calls: 3 },
    })
    expect(loop.provider.requests.map(({ tools }) => tools.length > 0)).toEqual([true, true, false])
    expect(lastMessages(loop.provider).at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('Answer now') as string,
    })
    expect(loop.host.entries.at(-1)?.map(({ type }) => type)).toEqual([
      'assistant_message_added',
      'run_failed',
    ])
    // The instruction is no message of the run.
    expect(loop.host.types.filter((type) => type === 'user_message_added')).toHaveLength(1)
  })

  it('that calls a tool instead has no answer: the run fails, and the call is not made', async () => {
    const loop = begin({ replies: [again('a'), again('b'), again('c')], spec })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: {
        class: 'iterations_exhausted',
        message: expect.stringContaining('without a final answer') as string,
      },
    })
    expect(loop.host.types.filter((type) => type === 'tool_result_recorded')).toHaveLength(2)
  })

  it('taken up again before that answer is durable, is asked the same', async () => {
    const host = memoryHost()
    host.hold('run_failed')
    const first = begin({ replies: [again('a'), again('b'), says('lost')], host, spec })
    await until('the end waits', () => host.waiting.length === 1)
    const second = resumed(host.entries, { replies: [says('2')], spec })
    expect(await second.end).toMatchObject({
      status: 'failed',
      failure: { class: 'iterations_exhausted' },
      facts: { outputText: '2' },
    })
    expect(lastMessages(second.provider)).toEqual(lastMessages(first.provider))
    expect(second.provider.requests[0]?.tools).toEqual([])
    first.cancel()
  })
})
