// A run that does the same again and again ends before its model is asked once more. What counts as the same
// is tested in core (same-turns.test.ts).
import { calls, memoryHost, rootSpec, says, type ScriptedReply, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, type Loop, probe, resumed } from '../../test/loop-kit.ts'
import type { AgentProfile } from '../profile/agent-profile.ts'

const spec = rootSpec({ start: { repeats_max: 3 } })
const reads = (id: string, args: unknown = {}) => calls(['look', args, id])
const unchanging = () => probe('look', () => 'nothing new', true)
const asked = (loop: Loop): number => loop.provider.requests.length
const replies = (...ids: string[]): ScriptedReply[] => ids.map((id) => reads(id))

describe('a run that repeats itself', () => {
  it('fails with a class of its own before the next call of the model, and says what repeated and what it cost', async () => {
    const tool = unchanging()
    const loop = begin({ replies: replies('a', 'b', 'c'), tools: [tool], spec })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: {
        class: 'no_progress',
        message:
          'The run makes no progress: its model made the same call of look in 3 answers in a row, and each time it had the same result. So far the run used 45 tokens in 3 calls of models. Retry the task and tell its agent what to do instead, change what the task asks for, or raise "repeats_max".',
      },
      usage: { input_tokens: 30, output_tokens: 15, calls: 3 },
    })
    expect([asked(loop), tool.calls.length]).toEqual([3, 3])
    expect(loop.host.entries.at(-1)?.map(({ type, data }) => [type, data])).toMatchObject([
      ['run_failed', { tool_iterations: 3, usage: { calls: 3 } }],
    ])
  })

  it('counts a call that fails again although the words of its failure differ', async () => {
    let n = 0
    const tool = probe('look', () => {
      throw new Error(`try ${++n}`)
    })
    const loop = begin({ replies: replies('a', 'b', 'c'), tools: [tool], spec })
    expect((await loop.end).failure).toMatchObject({
      class: 'no_progress',
      message: expect.stringContaining('and each time it failed.') as string,
    })
    expect(asked(loop)).toBe(3)
  })

  it('counts calls that nobody makes: arguments that are no JSON, and a tool that does not exist', async () => {
    for (const call of [calls(['look', '{"n":']), calls(['unknown', {}])]) {
      const loop = begin({ replies: [call, call, call], tools: [unchanging()], spec })
      expect([(await loop.end).failure?.class, asked(loop)]).toEqual(['no_progress', 3])
    }
  })

  it('names the tools of an answer with several calls once each, and at most three of them', async () => {
    const names = ['one', 'two', 'one', 'three', 'four', 'five']
    const answer = calls(...names.map((name, i) => [name, {}, `${i}`] as const))
    const loop = begin({ replies: [answer, answer, answer], tools: [], spec })
    expect((await loop.end).failure?.message).toContain(
      'the same calls of one, two, three and 2 more tools in 3 answers in a row, and each time they failed',
    )
  })

  it('goes on as long as something moves', async () => {
    let n = 0
    const loop = begin({
      replies: [
        ...replies('a', 'b', 'c', 'd'),
        ...[1, 2, 3, 4].map((n) => reads(`n${n}`, { n })),
        says('done'),
      ],
      tools: [probe('look', ({ n: at }) => (at === undefined ? `change ${++n}` : 'nothing new'))],
      spec,
    })
    expect((await loop.end).status).toBe('completed')
  })

  it('has no bound without one', async () => {
    const loop = begin({
      replies: [...replies('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), says('done')],
      tools: [unchanging()],
      spec: rootSpec(),
    })
    expect((await loop.end).status).toBe('completed')
    expect(loop.host.events[0]?.data).not.toHaveProperty('repeats_max')
  })

  it('is not asked for a last answer if its iterations are used up at the same time', async () => {
    const loop = begin({
      replies: replies('a', 'b', 'c'),
      tools: [unchanging()],
      spec: rootSpec({ start: { repeats_max: 3, max_tool_iterations: 3 } }),
    })
    expect([(await loop.end).failure?.class, asked(loop)]).toEqual(['no_progress', 3])
  })

  it('is given what a person says before that, and goes on', async () => {
    const host = memoryHost()
    const tool = probe('look', () => {
      if (tool.calls.length === 3) host.steer('s1', 'Look elsewhere.')
      return 'nothing new'
    })
    const loop = begin({
      replies: [...replies('a', 'b', 'c', 'd', 'e'), says('done')],
      tools: [tool],
      spec,
      host,
    })
    expect(await loop.end).toMatchObject({ status: 'completed', steersGiven: ['s1'] })
  })
})

describe('the count of a run that is taken up again', () => {
  it('follows from its journal: after every prefix it ends the same, and no answer is paid twice', async () => {
    const whole = begin({ replies: replies('a', 'b', 'c'), tools: [unchanging()], spec })
    const { failure } = await whole.end
    const { entries } = whole.host
    expect(entries.length).toBeGreaterThan(6)
    for (let kept = 1; kept < entries.length; kept++) {
      const prefix = entries.slice(0, kept)
      const answered = prefix.flat().filter(({ type }) => type === 'assistant_message_added').length
      const again = resumed(prefix, {
        replies: replies('a', 'b', 'c').slice(answered),
        tools: [unchanging()],
        // The daemon that takes the task over may have another bound: the run keeps its own.
        spec: rootSpec({ start: { repeats_max: 9 } }),
      })
      expect([kept, (await again.end).failure]).toEqual([kept, failure])
      expect([kept, again.provider.repliesLeft]).toEqual([kept, 0])
    }
  })

  it('is reached when the last result is there but not the end: the model is not asked', async () => {
    const host = memoryHost()
    const first = begin({ replies: replies('a', 'b', 'c'), tools: [unchanging()], spec, host })
    host.hold('run_failed')
    await until('the end waits', () => host.waiting.length === 1)
    const second = resumed(host.entries, { replies: [], tools: [unchanging()], spec })
    expect((await second.end).failure?.class).toBe('no_progress')
    expect(asked(second)).toBe(0)
    first.cancel()
  })
})

describe('a profile', () => {
  const profile = (repeatsMax: number | null): AgentProfile => ({
    ...{ name: 'p', description: null, systemPrompt: null, maxToolIterations: null, toolIds: null },
    repeatsMax,
  })
  const begun = (own: number | null, count: number): Loop =>
    begin({
      replies: [...replies(...'abcdefgh'.slice(0, count)), says('done')],
      tools: [unchanging()],
      profiles: [profile(own)],
      profileDefault: 'p',
      spec,
    })

  it('has a bound of its own for its root, or none', async () => {
    const two = begun(2, 8)
    expect([(await two.end).failure?.class, asked(two)]).toEqual(['no_progress', 2])
    expect(two.host.events[0]?.data).toMatchObject({ repeats_max: 2 })
    const none = begun(null, 8)
    expect((await none.end).status).toBe('completed')
    expect(none.host.events[0]?.data).not.toHaveProperty('repeats_max')
  })
})
