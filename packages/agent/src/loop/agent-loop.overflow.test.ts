import type { ChatMessage } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import { calls, hangsPaid, rootSpec, says, type ScriptedReply, until, workerSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { advanceUntilSettled, begin, lastMessages, type Loop, probe, resumed } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'

const tooLong = () =>
  new ProviderError('context_overflow', 'The conversation has 9000 tokens; the model takes 8000.', {
    status: 400,
  })
const read = () => probe('read', ({ n }) => `${n}:`.padEnd(n === 0 ? 10 : 2_000, 'x'), true)
const reads = (...ns: number[]) => ns.map((n, i): ScriptedReply => calls(['read', { n }, `r${i + 1}`]))
const spec = rootSpec({ start: { max_tool_iterations: 100 } })
const told = (loop: Loop) =>
  lastMessages(loop.provider).map(({ role, content }) => `${role}: ${(content ?? '').slice(0, 60)}`)
const typed = <T extends RecordedEvent['type']>(loop: Loop, type: T) =>
  loop.host.events.flatMap((event) =>
    event.type === type ? [event.data as Extract<RecordedEvent, { type: T }>['data']] : [],
  )

describe('a conversation that is too long', () => {
  it('first leaves out long results of earlier exchanges, tells the model what stood there, and asks again', async () => {
    const loop = begin({ replies: [...reads(1, 0, 2), tooLong(), says('done')], tools: [read()], spec })
    expect((await loop.end).status).toBe('completed')
    expect(typed(loop, 'context_compacted')).toEqual([
      { results: [{ call_id: 'r1', tool_name: 'read', chars: 2_000 }] },
    ])
    const results = lastMessages(loop.provider).flatMap((message) =>
      message.role === 'tool' ? [message.content] : [],
    )
    expect(results[0]).toBe(
      '[result of read, call r1: 2000 characters, left out because the conversation was too long; call the tool again if you need it]',
    )
    expect(results.slice(1).map((text) => text.length)).toEqual([10, 2_000]) // short ones and the newest stay
    expect(typed(loop, 'provider_call_failed')).toEqual([])
  })

  it('is cancelled while a summary is written: the summary, and an answer that filled the window, are paid', async () => {
    const used = { input_tokens: 900, output_tokens: 40, calls: 1, estimated_calls: 1 }
    const full = tooLong()
    full.paid = { usage: { input_tokens: 8_000, output_tokens: 0, calls: 1 }, model: 'm' }
    const replies = [...reads(1, 2, 3), tooLong(), full, hangsPaid({ usage: used, model: 's' })]
    const loop = begin({ replies, tools: [read()], spec })
    await until('the summary is asked for', () => loop.provider.requests.length === 6)
    loop.cancel()
    expect(await loop.end).toMatchObject({
      status: 'cancelled',
      usage: { input_tokens: 8_930, output_tokens: 55, calls: 5, estimated_calls: 1 },
    })
    expect(loop.host.entries.at(-1)).toMatchObject([
      { type: 'provider_call_failed', data: { failure: { class: 'context_overflow' }, model: 'm' } },
      { type: 'provider_call_failed', data: { failure: { class: 'cancelled' }, model: 's', usage: used } },
      { type: 'run_cancelled', data: { usage: { calls: 5 } } },
    ])
  })

  it('then has a summary in the place of the earlier exchanges, asked for without tools, and its usage counts', async () => {
    const replies = [...reads(1, 2, 3), tooLong(), tooLong(), says('r1 and r2 were read.'), says('done')]
    const loop = begin({ replies, tools: [read()], spec })
    expect(await loop.end).toMatchObject({ status: 'completed', usage: { calls: 5 } })
    expect(typed(loop, 'context_summarized')).toEqual([
      {
        content: 'r1 and r2 were read.',
        messages_dropped: 4,
        usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
        provider_name: 'scripted',
        model: 'scripted-model',
      },
    ])
    expect(told(loop).slice(1)).toEqual([
      'user: do it',
      expect.stringMatching(/^user: <summary_of_earlier_work mark="[a-z]{8}">\nr1 and r2 were rea/),
      'assistant: ',
      `tool: 3:${'x'.repeat(58)}`,
    ])
    const request = loop.provider.requests.at(-2)
    expect([request?.tools, request?.messages.length]).toEqual([[], 2])
    expect(request?.messages[1]?.content).toMatch(
      /<task mark="(\w+)">\ndo it\n<\/task mark="\1">[^]*calls read \(r1\)/,
    )
  })

  it('is summarised by the auxiliary provider where there is one, else by main when that fails', async () => {
    const script = (): ScriptedReply[] => [...reads(0, 0), tooLong()]
    const helped = begin({
      replies: [...script(), says('done')],
      auxiliary: [says('short')],
      tools: [read()],
      spec,
    })
    await helped.end
    expect(typed(helped, 'context_summarized')).toMatchObject([{ provider_name: 'helper' }])
    const refused = new ProviderError('provider_refused', 'no key')
    const alone = begin({
      replies: [...script(), says('short'), says('done')],
      auxiliary: [refused],
      tools: [read()],
      spec,
    })
    expect((await alone.end).status).toBe('completed')
    expect(typed(alone, 'context_summarized')).toMatchObject([{ provider_name: 'scripted' }])
  })

  it('fails the run when nothing is left to leave out', async () => {
    const loop = begin({ replies: [...reads(1), tooLong()], tools: [read()], spec })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'context_overflow', message: expect.stringContaining('9000 tokens') as string },
    })
    expect(loop.host.types.slice(-2)).toEqual(['provider_call_failed', 'run_failed'])
  })

  it.each<[string, ScriptedReply, string]>([
    ['is empty', says(' \u0000'), 'is empty'],
    ['is cut off', { content: 'They read', finishReason: 'length' }, 'cut off'],
    ['is a refusal', { content: 'I cannot.', finishReason: 'content_filter' }, 'refusal'],
    ['is a tool call', calls(['read', { n: 0 }, 's1']), 'tool call'],
    [
      'is a tool call as text',
      says('\u0000<tool_call>{"name":"read","arguments":{"n":0}}</tool_call>'),
      'written as text',
    ],
    ['is as long as what it would replace', says('x'.repeat(2_000)), 'not shorter'],
  ])(
    'twice gets an answer for a summary that %s: it is journaled and paid, and a note takes the place of the older turns',
    async (_, summary, reason) => {
      const loop = begin({
        replies: [...reads(0, 0), tooLong(), summary, renamed(summary), says('done')],
        tools: [read()],
        spec,
      })
      expect(await loop.end).toMatchObject({ status: 'completed', usage: { calls: 5 } })
      const { usage } = await loop.end
      expect(typed(loop, 'summary_refused')).toMatchObject([
        { reason: expect.stringContaining(reason) as string, usage: { calls: 1 }, provider_name: 'scripted' },
        { usage: { calls: 1 } },
      ])
      expect(usage.input_tokens).toBe(50)
      expect(typed(loop, 'context_compacted')).toEqual([{ results: [], messages_dropped: 2 }])
      expect(told(loop).slice(1, 3)).toEqual([
        'user: do it',
        expect.stringMatching(/^user: <summary_of_earlier_work mark="[a-z]{8}">\n\[2 messages of/),
      ])
    },
  )

  it('gets one more try for a summary after a first that is none', async () => {
    const loop = begin({
      replies: [...reads(0, 0), tooLong(), says(''), says('short'), says('done')],
      tools: [read()],
      spec,
    })
    expect((await loop.end).status).toBe('completed')
    expect([typed(loop, 'summary_refused').length, typed(loop, 'context_summarized').length]).toEqual([1, 1])
  })

  it('has a note in the place of the older turns when no model gives a summary', async () => {
    const loop = begin({
      replies: [...reads(0, 0), tooLong(), new ProviderError('refusal', 'no'), says('done')],
      tools: [read()],
      spec,
    })
    expect((await loop.end).status).toBe('completed')
    expect(typed(loop, 'provider_call_failed')).toMatchObject([{ failure: { class: 'refusal' } }])
    expect(typed(loop, 'context_compacted')).toEqual([{ results: [], messages_dropped: 2 }])
  })

  it('is not summarised again for each turn when the summary is longer than the turn', async () => {
    const medium = probe('read', () => 'x'.repeat(450), true)
    const more = (): ScriptedReply[] => reads(0).map(renamed)
    const replies = [
      ...reads(1, 2, 3, 4),
      tooLong(),
      says('found '.repeat(150)),
      ...more(),
      tooLong(),
      ...more(),
      says('done'),
    ]
    const loop = begin({ replies, tools: [medium], spec })
    expect((await loop.end).status).toBe('completed')
    expect(typed(loop, 'context_summarized')).toMatchObject([{ messages_dropped: 6 }])
    expect(typed(loop, 'context_compacted')).toEqual([{ results: [], messages_dropped: 3 }])
  })

  it('is made shorter as often as it grows too long again', async () => {
    // Every third exchange is too long.
    const rounds = Array.from({ length: 6 }, (): ScriptedReply[] => [
      ...reads(1, 2).map(renamed),
      tooLong(),
    ]).flat()
    const loop = begin({ replies: [...interleaved(rounds), says('done')], tools: [read()], spec })
    await advanceUntilSettled(loop)
    expect((await loop.end).status).toBe('completed')
    expect([typed(loop, 'context_compacted').length, typed(loop, 'context_summarized').length]).toEqual([
      6, 6,
    ])
  })

  it('at last has its newest results cut, when nothing else is left to leave out', async () => {
    const big = probe('read', () => 'é'.repeat(40_000), true)
    const loop = begin({ replies: [...reads(1), tooLong(), tooLong(), says('done')], tools: [big], spec })
    expect((await loop.end).status).toBe('completed')
    expect(
      typed(loop, 'context_compacted').flatMap(({ results }) => results.map(({ kept_chars }) => kept_chars)),
    ).toEqual([10_000, expect.any(Number)])
    const [result] = lastMessages(loop.provider).flatMap((message) =>
      message.role === 'tool' ? [message.content] : [],
    )
    expect(result).toMatch(
      /^é{2500,2600}\n\[cut: \d+ of the \d+ characters of read, call r1, left out because the conversation was too long\]$/,
    )
  })

  it('whose newest call has long arguments and a short result loses the arguments at last', async () => {
    const write = probe('write', () => 'written')
    const loop = begin({
      replies: [calls(['write', { n: 1, text: 'x'.repeat(40_000) }, 'w1']), tooLong(), says('done')],
      tools: [write],
      spec,
    })
    expect((await loop.end).status).toBe('completed')
    expect(typed(loop, 'context_compacted')).toEqual([
      { results: [], arguments: [{ call_id: 'w1', tool_name: 'write', chars: 40_017 }] },
    ])
    const call = lastMessages(loop.provider).flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []) : [],
    )[0]
    expect(JSON.parse(call?.arguments ?? '')).toEqual({
      left_out: '40017 characters, because the conversation was too long. The call was made with them.',
    })
  })

  it('whose window is known has its newest results cut to what fits, and not to a quarter', async () => {
    const big = probe('read', () => 'x'.repeat(40_000), true)
    const loop = begin({ replies: [...reads(1), says('done')], tools: [big], spec, contextTokens: 11_000 })
    expect((await loop.end).status).toBe('completed')
    const [cut] = typed(loop, 'context_compacted').flatMap(({ results }) => results)
    expect(cut?.kept_chars).toBeGreaterThan(20_000)
    expect(cut?.kept_chars).toBeLessThan(36_000)
    expect(loop.provider.requests).toHaveLength(2)
  })

  it('fails the run when the model still says so after every measure', async () => {
    const big = probe('read', () => 'x'.repeat(200_000), true)
    const loop = begin({
      replies: [...reads(1), tooLong(), tooLong(), tooLong(), tooLong()],
      tools: [big],
      spec,
    })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'context_overflow' } })
    expect(typed(loop, 'context_compacted')).toHaveLength(3)
  })

  it('leaves out the older half of the session history first, then the rest, and says how much', async () => {
    const history = [1, 2, 3].flatMap((n): ChatMessage[] => [
      { role: 'user', content: `ask ${n}` },
      { role: 'assistant', content: `answer ${n}` },
    ])
    const loop = begin({ replies: [tooLong(), tooLong(), says('done')], spec: rootSpec({ history }) })
    expect((await loop.end).status).toBe('completed')
    expect(typed(loop, 'context_compacted').map(({ history_messages_dropped: dropped }) => dropped)).toEqual([
      4, 6,
    ])
    const roles = loop.provider.requests.map(({ messages }) =>
      messages.slice(1).map(({ content }) => content),
    )
    expect(roles).toEqual([
      [...history.map(({ content }) => content), 'do it'],
      ['ask 3', 'answer 3', 'do it'],
      ['do it'],
    ])
  })

  it('a call id that a summary stands for is taken still', async () => {
    const replies = [...reads(0, 0), tooLong(), says('short'), calls(['read', { n: 0 }, 'r1']), says('done')]
    const loop = begin({ replies, tools: [read()], spec })
    await loop.end
    expect(typed(loop, 'tool_result_recorded').map(({ call_id }) => call_id)).toEqual(['r1', 'r2', 'r1~1'])
  })

  it('never has an answer that calls tools without its results, nor a result without its call', async () => {
    const replies = [
      calls(['read', { n: 1 }, 'a'], ['read', { n: 2 }, 'b']),
      ...reads(3, 4),
      tooLong(),
      tooLong(),
      says('short'),
      says('done'),
    ]
    const loop = begin({ replies, tools: [read()], spec })
    await loop.end
    for (const { messages } of loop.provider.requests) {
      const called = messages.flatMap((message) =>
        message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [],
      )
      const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []))
      expect(answered).toEqual(called)
    }
  })
})

describe('taken up again', () => {
  it('after every prefix of its journal a run goes on with the conversation as it was made shorter, and ends the same', async () => {
    // What is asked and what answers: an overflow is told again as long as it has no measure on record.
    const script = [
      ...reads(1, 2, 3),
      tooLong(),
      tooLong(),
      says('short'),
      calls(['read', { n: 4 }, 'r4']),
      says('done'),
    ]
    const whole = begin({ replies: script, tools: [read()], spec })
    const wholeEnd = await whole.end
    const { entries } = whole.host
    for (let kept = 0; kept <= entries.length; kept++) {
      const prefix = entries.slice(0, kept)
      const types = prefix.flat().map(({ type }) => type)
      const [answers, compactions, summaries] = [
        'assistant_message_added',
        'context_compacted',
        'context_summarized',
      ].map((wanted) => types.filter((type) => type === wanted).length) as [number, number, number]
      const left =
        summaries > 0
          ? script.slice(6 + answers - 3)
          : compactions > 0
            ? script.slice(4)
            : script.slice(answers)
      const again = resumed(prefix, { replies: left, tools: [read()], spec })
      const end = await again.end
      expect([kept, end.status, end.usage, again.provider.repliesLeft]).toEqual([
        kept,
        wholeEnd.status,
        wholeEnd.usage,
        0,
      ])
      expect(messagesOf(again)).toEqual(messagesOf(whole))
    }
  })
})

const messagesOf = (loop: Loop) => foldTask(loop.host.events).runs.get('run1')?.messages

let renames = 0
/** A call with an id of its own. */
function renamed(reply: ScriptedReply): ScriptedReply {
  const { toolCalls = [], ...rest } = reply as {
    toolCalls?: readonly { id: string; name: string; arguments: string }[]
  }
  return { ...rest, toolCalls: toolCalls.map((call) => ({ ...call, id: `x${++renames}` })) }
}

/** Each overflow twice, and the summary it leads to. */
function interleaved(replies: ScriptedReply[]): ScriptedReply[] {
  return replies.flatMap((reply): ScriptedReply[] =>
    reply instanceof Error ? [reply, reply, says('short')] : [reply],
  )
}

describe('a node whose dependency outputs are too long', () => {
  const dependencies = [
    { node_id: 'short', output: 'brief' },
    { node_id: 'long', output: `${'x'.repeat(40_000)} the end` },
  ]
  const asked = (loop: Loop): string[] =>
    loop.provider.requests.map(({ messages }) => messages.at(-1)?.content ?? '')

  it('for the model gets them cut, the longest first, and the journal says so', async () => {
    const loop = begin({
      replies: [tooLong(), tooLong(), says('done')],
      spec: workerSpec({ part: { dependencies } }),
    })
    expect((await loop.end).status).toBe('completed')
    expect(asked(loop).map(({ length }) => Math.round(length / 1_000))).toEqual([40, 10, 3])
    expect(asked(loop).at(-1)).toMatch(
      />\nbrief\n<[^]*\[cut: \d+ of the \d+ characters of this output, left out[^]* the end\n</,
    )
    expect(typed(loop, 'context_compacted')).toMatchObject([
      { results: [], outputs: [{ index: 1, node_id: 'long', chars: 40_008, kept_chars: 9_998 }] },
      { outputs: [{ index: 1, node_id: 'long' }] },
    ])
    // A run that is resumed is told the same.
    const entries = loop.host.entries.slice(
      0,
      1 + loop.host.entries.findLastIndex(([first]) => first?.type === 'context_compacted'),
    )
    const again = resumed(entries, { spec: workerSpec({ part: { dependencies } }), replies: [says('done')] })
    await again.end
    expect(asked(again)).toEqual(asked(loop).slice(-1))
  })

  it('by the policy gets them cut before the model is asked', async () => {
    const part = { dependencies: [...dependencies, { node_id: 'huge', output: 'y'.repeat(1_000_000) }] }
    const loop = begin({ replies: [says('done')], spec: workerSpec({ part }) })
    await loop.end
    expect(asked(loop)[0]?.length).toBeLessThan(401_500)
    expect(typed(loop, 'context_compacted')).toMatchObject([
      { outputs: [{ node_id: 'huge', chars: 1_000_000, kept_chars: 359_987 }] },
    ])
  })

  it('fails if there is nothing more to cut', async () => {
    const loop = begin({
      replies: [tooLong()],
      spec: workerSpec({ part: { dependencies: dependencies.slice(0, 1) } }),
    })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'context_overflow' } })
  })
})

describe('a conversation that would outgrow the window of the model', () => {
  const write = () => probe('read', () => 'ok', true)
  const asked = (n: number, chars: number, id: string): ScriptedReply =>
    calls(['read', JSON.stringify({ n, text: 'x'.repeat(chars) }), id])

  it('is shortened before it is sent, results and arguments, and the model is told', async () => {
    const replies = [asked(1, 6_000, 'c1'), ...reads(2), says('done')]
    const loop = begin({ replies, tools: [write()], spec, contextTokens: 8_000 })
    expect((await loop.end).status).toBe('completed')
    expect(typed(loop, 'context_compacted')).toEqual([])
    const small = begin({
      replies: [asked(1, 6_000, 'c1'), ...reads(2), says('done')],
      tools: [write()],
      spec,
      contextTokens: 3_000,
    })
    expect((await small.end).status).toBe('completed')
    expect(typed(small, 'context_compacted')).toEqual([
      { results: [], arguments: [{ call_id: 'c1', tool_name: 'read', chars: 6_017 }] },
    ])
    const first = lastMessages(small.provider).find(({ role }) => role === 'assistant') as Extract<
      ChatMessage,
      { role: 'assistant' }
    >
    expect(first.tool_calls?.[0]?.arguments).toBe(
      '{"left_out":"6017 characters, because the conversation was too long. The call was made with them."}',
    )
  })

  it('is sent as it is when nothing is left to shorten: the server decides', async () => {
    const loop = begin({
      replies: [says('done')],
      tools: [read()],
      spec: rootSpec({ part: { text: 'x'.repeat(20_000) } }),
      contextTokens: 1_000,
    })
    expect((await loop.end).status).toBe('completed')
  })

  it('is shortened again in the same way after a crash', async () => {
    const loop = begin({
      replies: [asked(1, 6_000, 'c1'), ...reads(2), says('done')],
      tools: [write()],
      spec,
      contextTokens: 3_000,
    })
    await loop.end
    const { entries } = loop.host
    const before = entries.slice(
      0,
      entries.findIndex((entry) => entry.some(({ type }) => type === 'context_compacted')),
    )
    expect(before.length).toBeGreaterThan(0)
    const again = resumed(before, {
      replies: [...reads(2), says('done')],
      tools: [write()],
      spec,
      contextTokens: 3_000,
    })
    await again.end
    expect(again.provider.requests.at(-1)?.messages).toEqual(loop.provider.requests.at(-1)?.messages)
  })
})
