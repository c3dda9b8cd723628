import { type QuestionAnswer, questionBounds } from '@beaver/core/question'
import { calls, memoryHost, says, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { begin, type Loop, results, resumed, toolMessages, turns } from '../../test/loop-kit.ts'
import { defineTool, type ToolContext } from '../tools/tool.ts'

type Ask = ToolContext['ask']
const asking = (
  run: (ask: Ask) => Promise<unknown>,
  over: { readonly idempotent?: boolean; readonly timeoutMs?: number } = {},
) =>
  defineTool({
    name: 'asks',
    description: 'Asks.',
    input: z.strictObject({}),
    idempotent: true,
    effects: 'reads',
    ...over,
    run: (_, { ask }) => run(ask),
  })
const given = (run: (ask: Ask) => Promise<unknown>) => ({
  tools: [asking(run)],
  replies: [calls(['asks', {}]), says('done')],
})
const said = ({ action, answers = [], reason }: QuestionAnswer & { readonly reason?: string }): string =>
  `${action} ${answers.join()}${reason ?? ''}`
const main: QuestionAnswer = { action: 'accept', answers: ['main'] }
const about = (loop: Loop): string[] =>
  loop.host.types.filter((type) => /question|tool_call|tool_result/.test(type))
const waits = (loop: Loop, ...keys: string[]) =>
  until('it waits for the answer', () => loop.host.unanswered.join() === keys.join())

describe('a question of a call', () => {
  it('is durable before anybody is asked, and its answer before the tool gets it', async () => {
    const host = memoryHost()
    host.hold('question_asked')
    const heard: string[] = []
    const loop = begin({
      ...given(
        async (ask) => (
          heard.push(said(await ask({ message: 'Which?', options: ['main', 'next'] }))),
          heard.join()
        ),
      ),
      host,
    })
    await until('the question waits', () => host.waiting.length === 1)
    await turns()
    expect(host.unanswered).toEqual([])
    host.settle()
    await waits(loop, 'c1 0')
    host.answerQuestion('c1', 0, main)
    for (const what of ['the result waits', 'the end waits']) {
      await until(what, () => host.waiting.length === 1)
      host.settle()
    }
    await loop.end
    expect(heard).toEqual(['accept main'])
    expect(about(loop)).toEqual([
      'tool_call_started',
      'question_asked',
      'question_answered',
      'tool_result_recorded',
    ])
    expect(toolMessages(loop.provider)).toEqual([['c1', 'accept main']])
  })

  it('comes after the one before has its answer, also if the tool asks both at once', async () => {
    const loop = begin(
      given(async (ask) =>
        (await Promise.all([ask({ message: 'One?' }), ask({ message: 'Two?' })])).map(said).join(' and '),
      ),
    )
    await waits(loop, 'c1 0')
    loop.host.answerQuestion('c1', 0, { action: 'decline' })
    await waits(loop, 'c1 1')
    loop.host.answerQuestion('c1', 1, main)
    await loop.end
    expect(toolMessages(loop.provider)).toEqual([['c1', 'decline  and accept main']])
  })

  it('has the deadline that counts: a later one is recorded as the longest wait of this daemon', async () => {
    const asked = async (ask: Ask) => said(await ask({ message: 'Which?', timeout_ms: 90_000_000 }))
    const first = begin({ ...given(asked), answerWaitMsMax: 86_400_000 })
    await waits(first, 'c1 0')
    const recorded = (loop: Loop) =>
      loop.host.events.flatMap((each) =>
        each.type === 'question_asked' ? [each.data.question.timeout_ms] : [],
      )
    expect(recorded(first)).toEqual([86_400_000])
    // The next daemon waits for longer. It is the same question.
    const next = resumed(first.host.entries, { tools: [asking(asked)], replies: [says('done')] })
    await waits(next, 'c1 0')
    next.host.answerQuestion('c1', 0, main)
    await next.end
    expect([recorded(next), toolMessages(next.provider)]).toEqual([[86_400_000], [['c1', 'accept main']]])
  })

  it.each<[string, (ask: Ask) => Promise<unknown>, string]>([
    ['cannot be asked', (ask) => ask({ message: ' ' }), 'invalid_question'],
    [
      'has too many options',
      (ask) => ask({ message: 'Which?', options: Array.from({ length: 21 }, (_, i) => `${i}`) }),
      'invalid_question',
    ],
  ])('that %s fails the call, and nobody is asked', async (_, run, code) => {
    const loop = begin(given(run))
    await loop.end
    expect(results(loop.host)).toMatchObject([{ success: false, error: code }])
    expect(about(loop)).not.toContain('question_asked')
  })

  it('beyond the bound of a call fails it', async () => {
    const loop = begin(
      given(async (ask) => {
        for (let i = 0; i <= questionBounds.ofCall; i++) await ask({ message: `Question ${i}?` })
      }),
    )
    for (let i = 0; i < questionBounds.ofCall; i++) {
      await waits(loop, `c1 ${i}`)
      loop.host.answerQuestion('c1', i, main)
    }
    await loop.end
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'too_many_questions' }])
  })

  it('that waits ends with its run when the run is cancelled', async () => {
    const loop = begin(given(async (ask) => said(await ask({ message: 'Which?' }))))
    await waits(loop, 'c1 0')
    loop.cancel()
    expect((await loop.end).status).toBe('cancelled')
    expect(loop.host.unanswered).toEqual([])
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'cancelled' }])
  })
})

describe('a call that is made again', () => {
  /** The journal of a call that asked twice, of which the first question has an answer. */
  async function interrupted(): Promise<Loop['host']['entries']> {
    const loop = begin(
      given(
        async (ask) => `${said(await ask({ message: 'One?' }))}, ${said(await ask({ message: 'Two?' }))}`,
      ),
    )
    await waits(loop, 'c1 0')
    loop.host.answerQuestion('c1', 0, main)
    await waits(loop, 'c1 1')
    return loop.host.entries
  }

  it('gets its recorded answers again in their order, and waits for the others', async () => {
    const loop = resumed(await interrupted(), {
      tools: [
        asking(
          async (ask) => `${said(await ask({ message: 'One?' }))}, ${said(await ask({ message: 'Two?' }))}`,
        ),
      ],
      replies: [says('done')],
    })
    await waits(loop, 'c1 1')
    loop.host.answerQuestion('c1', 1, { action: 'accept', answers: ['next'] })
    await loop.end
    expect(about(loop).filter((type) => type === 'question_asked')).toHaveLength(2)
    expect(toolMessages(loop.provider)).toEqual([['c1', 'accept main, accept next']])
  })

  it.each<[string, (ask: Ask) => Promise<unknown>]>([
    ['another text', (ask) => ask({ message: 'Uno?' })],
    ['other options', (ask) => ask({ message: 'One?', options: ['main'] })],
  ])('and asks %s fails: the answer was given to another question', async (_, run) => {
    const loop = resumed(await interrupted(), { tools: [asking(run)], replies: [says('done')] })
    await loop.end
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'question_changed' }])
  })
})
