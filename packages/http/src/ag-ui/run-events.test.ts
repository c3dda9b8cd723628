import { type AGUIEvent, EventType } from '@ag-ui/core'
import type { Followed } from '@beaver/client'
import { type EventType as JournalType, type LiveDelta, type LiveProgress, noUsage } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Known, nothingKnown } from './interrupts.ts'
import { type Run, runEvents } from './run-events.ts'

let seq = 0
const event = (type: JournalType, data: object, runId?: string): RecordedEvent =>
  ({ type, data, runId, taskseq: ++seq, time: '2026-11-24T00:00:00.000Z' }) as RecordedEvent
const submitted = (): RecordedEvent => {
  seq = 0
  return event('task_submitted', { task_id: 't', session_id: 's', request: { text: 'ask' } })
}
const began = (): RecordedEvent => event('run_started', { run_id: 'root', team_run_id: null }, 'root')
const said = (content: string, ...tools: readonly string[]): RecordedEvent =>
  event(
    'assistant_message_added',
    { content, tool_calls: tools.map((id) => ({ id, name: `tool_${id}`, arguments: '{}' })) },
    'root',
  )
const asked = (callId: string, runId = 'root'): RecordedEvent =>
  event('approval_requested', { call_id: callId, tool_name: 'write', subject: callId, rule: null }, runId)
const granted = (callId: string): RecordedEvent =>
  event('approval_granted', { call_id: callId, by: 'ada' }, 'root')
const result = (callId: string): RecordedEvent =>
  event('tool_result_recorded', { call_id: callId, success: true, content: `did ${callId}` }, 'root')
const suspended = (): RecordedEvent => event('task_suspended', { waits_for: 'person' })
const ended = (
  how: 'completed' | 'incomplete' | 'failed' | 'cancelled',
  text = '',
  used = {},
): RecordedEvent =>
  event(`task_${how}`, {
    final_output: text,
    outputs: [],
    usage: { ...noUsage, calls: 1, input_tokens: 2, output_tokens: 3, ...used },
    provider: null,
    model: null,
    simulated: false,
    failure: null,
  })

type Told = RecordedEvent | LiveProgress | LiveDelta
async function* stream(events: readonly Told[]): AsyncGenerator<Followed> {
  for (const each of events)
    yield 'taskseq' in each ? { event: each } : 'call_id' in each ? { progress: each } : { delta: each }
}

async function run(events: readonly Told[], over: Partial<Run> = {}): Promise<AGUIEvent[]> {
  const all: AGUIEvent[] = []
  const usual = {
    caller: { name: 'x', roles: ['admin'] as const },
    ids: { threadId: 's', runId: 'r' },
    after: 0,
    known: nothingKnown,
  }
  for await (const each of runEvents(stream(events), { ...usual, ...over })) all.push(each)
  return all
}

/** What the log says, for a run that is requested at this moment. */
const known = (
  taskseq: number,
  { waiting = [], answered = [] }: { waiting?: readonly string[]; answered?: readonly string[] } = {},
): Known => ({
  taskseq,
  waiting: new Set(waiting),
  answered: new Set(answered),
})

/** One word for each event. */
const words = (events: readonly AGUIEvent[]): string[] =>
  events.map((each) => {
    if (each.type === EventType.TEXT_MESSAGE_CONTENT) return `+${each.delta}`
    if (each.type === EventType.TOOL_CALL_START)
      return `call ${each.toolCallId} of ${each.parentMessageId ?? ''}`
    if (each.type === EventType.TOOL_CALL_RESULT) return `result ${each.toolCallId}`
    if (each.type === EventType.RUN_FINISHED) return `finished ${each.outcome?.type ?? ''}`
    return each.type
  })
const interrupts = (events: readonly AGUIEvent[]): { id: string; toolCallId?: string }[] => {
  const last = events.at(-1)
  return last?.type === EventType.RUN_FINISHED && last.outcome?.type === 'interrupt'
    ? last.outcome.interrupts
    : []
}
const keyIn = (id: string | undefined): string => id?.split('.')[1] ?? ''

describe('a run', () => {
  it('tells the calls of one answer as one message, with its text or without', async () => {
    const events = [
      submitted(),
      began(),
      said('both', 'a', 'b'),
      result('b'),
      result('a'),
      said('', 'c'),
      result('c'),
      said('done'),
      ended('completed', 'done'),
    ]
    expect(words(await run(events))).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      '+both',
      'TEXT_MESSAGE_END',
      ...[
        'call beaver:t:1 of beaver:t:0',
        'TOOL_CALL_ARGS',
        'TOOL_CALL_END',
        'call beaver:t:2 of beaver:t:0',
        'TOOL_CALL_ARGS',
        'TOOL_CALL_END',
      ],
      ...[
        'result beaver:t:2',
        'result beaver:t:1',
        'call beaver:t:3 of beaver:t:3-calls',
        'TOOL_CALL_ARGS',
        'TOOL_CALL_END',
        'result beaver:t:3',
      ],
      ...['TEXT_MESSAGE_START', '+done', 'TEXT_MESSAGE_END', 'finished success'],
    ])
  })

  it.each([
    ['completed', 'finished success'],
    ['cancelled', 'finished cancelled'],
    ['failed', 'RUN_ERROR'],
    ['incomplete', 'RUN_ERROR'],
  ] as const)('of a task that is %s ends so', async (how, last) => {
    const events = await run([submitted(), began(), ended(how)])
    expect(words(events).at(-1)).toBe(last)
    expect(events.at(-1)).toMatchObject({ usage: [{ inputTokens: 2, outputTokens: 3, totalTokens: 5 }] })
  })

  it('ends with the parts of its usage, and without those that nobody reported', async () => {
    const usageOf = async (used: object) =>
      (await run([submitted(), began(), ended('completed', '', used)])).at(-1)
    expect(
      await usageOf({
        cached_input_tokens: 1,
        cache_write_tokens: 1,
        reasoning_tokens: 2,
        audio_input_tokens: 1,
      }),
    ).toMatchObject({
      usage: [
        {
          inputTokens: 2,
          outputTokens: 3,
          totalTokens: 5,
          cachedInputTokens: 1,
          cacheWriteInputTokens: 1,
          reasoningTokens: 2,
        },
      ],
    })
    expect(await usageOf({})).toHaveProperty('usage', [{ inputTokens: 2, outputTokens: 3, totalTokens: 5 }])
  })

  it('ends without an end if its task cannot be followed', async () =>
    expect(words(await run([submitted(), began()]))).toEqual(['RUN_STARTED']))
})

describe('a task that waits for a person', () => {
  const first = (): RecordedEvent[] => [
    submitted(),
    began(),
    said('', 'a', 'b'),
    asked('a'),
    asked('b', 'other'),
    suspended(),
  ]

  it('interrupts its run, with a tool call for the calls of the root agent', async () => {
    const events = await run(first())
    expect(words(events).at(-1)).toBe('finished interrupt')
    expect(
      interrupts(events).map(({ id, toolCallId }) => [id.replace(/[0-9a-f]{32}/, 'key'), toolCallId]),
    ).toEqual([
      ['6.key.t', 'beaver:t:0'],
      ['6.key.t', undefined],
    ])
  })

  it('interrupts its run as soon as every call of the root agent waits', async () => {
    const one = [submitted(), began(), said('', 'a', 'b'), asked('a')]
    expect(words(await run(one)).at(-1)).toBe('TOOL_CALL_END')
    const both = [...one, asked('b')]
    const keys = interrupts(await run(both)).map(({ id }) => keyIn(id))
    expect(keys).toHaveLength(2)
    const later = [
      suspended(),
      granted('a'),
      granted('b'),
      result('a'),
      result('b'),
      said('done'),
      ended('completed', 'done'),
    ]
    expect(
      words(
        await run([...both, ...later], { after: 5, known: known(6, { waiting: keys, answered: keys }) }),
      ).at(-1),
    ).toBe('finished success')
  })

  it('goes on in the run that resumes, behind the place where it stopped', async () => {
    const before = first()
    const keys = interrupts(await run(before)).map(({ id }) => keyIn(id))
    const later = [
      suspended(),
      granted('a'),
      result('a'),
      event('approval_granted', { call_id: 'b', by: 'ada' }, 'other'),
      result('b'),
      said('done'),
      ended('completed', 'done'),
    ]
    const rest = [
      'result beaver:t:0',
      'result beaver:t:1',
      'TEXT_MESSAGE_START',
      '+done',
      'TEXT_MESSAGE_END',
      'finished success',
    ]
    const events = await run([...before, ...later], {
      after: 6,
      known: known(6, { waiting: keys, answered: keys }),
    })
    expect(words(events)).toEqual(['RUN_STARTED', ...rest])
    expect(events.at(-1)).not.toHaveProperty('usage')
  })

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'tells in the run that resumes the whole answer once, if its pieces come behind %i events of the log',
    async (at) => {
      const pieces = ['do', 'ne'].map((text, i) => ({
        ...{ run_id: 'root', agent_name: 'root', node_id: null },
        ...{ call: 2, offset: i * 2, text },
      }))
      const budget = { of: 'task', name: null, per: 'run' }
      const exceeded = { budget, measure: 'model_calls', limit: 1, used: 1, needed: 1, wait_ms: 1_000 }
      const log = [
        ...[submitted(), began(), said('', 'a'), result('a')],
        ...[event('budget_exceeded', exceeded, 'root'), suspended()],
        ...[event('budget_raised', { budget, more: { model_calls: 1 } }), said('done')],
        ended('completed', 'done'),
      ]
      const [key = ''] = interrupts(await run(log.slice(0, 6))).map(({ id }) => keyIn(id))
      const events = await run([...log.slice(0, at), ...pieces, ...log.slice(at)], {
        after: 6,
        known: known(6, { waiting: [key], answered: [key] }),
      })
      const texts = events.flatMap((each) =>
        each.type === EventType.TEXT_MESSAGE_CONTENT ? [each.delta] : [],
      )
      expect(texts.join('')).toBe('done')
      expect(words(events).filter((word) => !word.startsWith('+'))).toEqual([
        ...['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'finished success'],
      ])
    },
  )

  it('interrupts the run that resumes at once for a call that it does not answer, and tells everything when all are answered', async () => {
    const before = first()
    const [a = '', b = ''] = interrupts(await run(before)).map(({ id }) => keyIn(id))
    const half = await run([...before, granted('a'), result('a'), suspended()], {
      after: 6,
      known: known(6, { waiting: [a, b], answered: [a] }),
    })
    expect([words(half), interrupts(half).map(({ id }) => keyIn(id))]).toEqual([
      ['RUN_STARTED', 'finished interrupt'],
      [b],
    ])
    const later = [
      granted('a'),
      result('a'),
      suspended(),
      event('approval_granted', { call_id: 'b', by: 'ada' }, 'other'),
      result('b'),
      ended('completed'),
    ]
    const whole = await run([...first(), ...later], {
      after: 6,
      known: known(9, { waiting: [b], answered: [b] }),
    })
    expect(words(whole)).toEqual([
      'RUN_STARTED',
      'result beaver:t:0',
      'result beaver:t:1',
      'finished success',
    ])
  })

  it('interrupts the run that resumes at once, if it answers nothing that waits', async () => {
    const keys = interrupts(await run(first())).map(({ id }) => keyIn(id))
    const events = await run(first(), { after: 6, known: known(6, { waiting: keys, answered: ['other'] }) })
    expect([words(events), interrupts(events).length]).toEqual([['RUN_STARTED', 'finished interrupt'], 2])
  })

  it('interrupts the run that resumes for a call that asks later', async () => {
    const before = first()
    const keys = interrupts(await run(before)).map(({ id }) => keyIn(id))
    const later = [
      granted('a'),
      event('approval_granted', { call_id: 'b', by: 'ada' }, 'other'),
      result('a'),
      result('b'),
      said('', 'c'),
      asked('c'),
    ]
    const events = await run([...before, ...later], {
      after: 6,
      known: known(6, { waiting: keys, answered: keys }),
    })
    expect([words(events).at(-1), interrupts(events).map(({ toolCallId }) => toolCallId)]).toEqual([
      'finished interrupt',
      ['beaver:t:2'],
    ])
  })

  it('ends the run that resumes also if it names a place behind the end', async () => {
    expect(words(await run([...first(), ended('cancelled')], { after: 1_000, known: known(7) }))).toEqual([
      'RUN_STARTED',
      'finished cancelled',
    ])
  })

  it('does not stop a reader who comes later at what was decided, but at what still waits', async () => {
    const all = [
      ...first(),
      granted('a'),
      result('a'),
      event('approval_granted', { call_id: 'b', by: 'ada' }, 'other'),
      said('done'),
      ended('completed', 'done'),
    ]
    expect(words(await run(all, { known: known(all.length) })).at(-1)).toBe('finished success')
    const keys = interrupts(await run(first())).map(({ id }) => keyIn(id))
    const claimed = [...first(), event('task_claimed', { daemon: 'd' })]
    expect(words(await run(claimed, { known: known(7, { waiting: keys }) })).at(-1)).toBe(
      'finished interrupt',
    )
  })

  it('that waits for a provider goes on', async () => {
    expect(
      words(await run([submitted(), began(), suspended(), said('done'), ended('completed', 'done')])).at(-1),
    ).toBe('finished success')
  })
})

describe('a task that waits for its client', () => {
  const brought = (): RecordedEvent => {
    const first = submitted()
    return {
      ...first,
      data: {
        ...first.data,
        request: { text: 'ask', client_tools: [{ name: 'tool_a' }, { name: 'tool_b' }] },
      },
    } as unknown as RecordedEvent
  }
  const toClient = (callId: string): RecordedEvent =>
    event('client_call_requested', { call_id: callId, tool_name: `tool_${callId}` }, 'root')
  const answered = (callId: string): RecordedEvent =>
    event('client_call_answered', { call_id: callId, content: `did ${callId}`, by: 'x' }, 'root')
  const first = (): RecordedEvent[] => [
    ...[brought(), began(), said('', 'c', 'a', 'b'), toClient('a'), toClient('b'), result('c')],
    suspended(),
  ]
  const [a, b] = ['call_4_t', 'call_5_t']

  it('completes its run with the calls that the client must make, when nothing else is at work', async () => {
    const events = await run(first())
    expect(words(events).filter((word) => !/_(ARGS|END)$/.test(word))).toEqual([
      'RUN_STARTED',
      // One message has all calls of the answer, also those that are told later.
      'call beaver:t:0 of beaver:t:0-calls',
      `call ${a} of beaver:t:0-calls`,
      `call ${b} of beaver:t:0-calls`,
      'result beaver:t:0',
      'finished success',
    ])
    expect(events.at(-1)).toMatchObject({
      outcome: { type: 'success', pendingToolCallIds: [a, b] },
      metadata: { beaver: { waits_for_tool_call_ids: [a, b] } },
    })
    expect(events.at(-1)).not.toHaveProperty('result')
  })

  it('names no calls to a client before 1.0, which refuses what it does not know', async () => {
    const events = await run(first(), { older: true })
    expect(events.at(-1)).toHaveProperty('outcome', { type: 'success' })
    expect(words(await run([submitted(), began(), ended('cancelled')], { older: true })).at(-1)).toBe(
      'RUN_ERROR',
    )
  })

  it('completes the run that brings a part of the results at once, and tells the rest when all are there', async () => {
    const log = [
      ...[...first(), answered('a'), answered('b'), result('a'), result('b'), said('done')],
      ended('completed', 'done'),
    ]
    const part = await run(log.slice(0, 7), { after: 6, known: known(7, { waiting: [a, b], answered: [a] }) })
    expect(words(part)).toEqual(['RUN_STARTED', 'finished success'])
    expect(part.at(-1)).toMatchObject({ metadata: { beaver: { waits_for_tool_call_ids: [b] } } })
    expect(part.at(-1)).not.toHaveProperty('outcome.pendingToolCallIds')
    const over = { after: 6, known: known(8, { waiting: [b], answered: [b] }) }
    const whole = await run(log, { ...over, has: new Set([a, b]) })
    expect(words(whole)).toEqual([
      ...['RUN_STARTED', 'TEXT_MESSAGE_START', '+done', 'TEXT_MESSAGE_END', 'finished success'],
    ])
    // A reader who has not made the calls gets their results, so that it does not make them.
    expect(words(await run(log, over)).slice(1, 3)).toEqual([`result ${a}`, `result ${b}`])
  })

  it('is an interrupt if a person is asked as well', async () => {
    const log = [brought(), began(), said('', 'c', 'a'), asked('c'), toClient('a')]
    expect(words(await run(log)).at(-1)).toBe('finished interrupt')
    expect(words(await run([brought(), began(), said('', 'a', 'b'), toClient('a'), asked('b')])).at(-1)).toBe(
      'finished interrupt',
    )
  })
})

/** One answer of the root agent: whether it says something, and for each call whether it asks. */
const answer = fc.record({
  text: fc.boolean(),
  calls: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
})

/** The log of a task with these answers before its last one. */
function logOf(
  answers: readonly { readonly text: boolean; readonly calls: readonly boolean[] }[],
): RecordedEvent[] {
  const log = [submitted(), began()]
  for (const [i, { text, calls }] of answers.entries()) {
    const ids = calls.map((_, j) => `${i}${j}`)
    const asking = ids.filter((_, j) => calls[j] === true)
    log.push(said(text ? `text ${i}` : '', ...ids))
    log.push(...ids.filter((id) => !asking.includes(id)).map(result))
    if (asking.length > 0)
      log.push(...asking.map((id) => asked(id)), suspended(), ...asking.map(granted), ...asking.map(result))
  }
  return [...log, said('done'), ended('completed', 'done')]
}

it('tells in a chain of runs what one run without interrupts tells', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(answer, { maxLength: 4 }), async (answers) => {
      const log = logOf(answers)
      const inner = (events: readonly AGUIEvent[]): string[] => words(events).slice(1, -1)
      const chain: string[] = []
      let over: Partial<Run> = {}
      for (;;) {
        const events = await run(log, over)
        chain.push(...inner(events))
        const asks = interrupts(events)
        if (asks.length === 0) break
        const after = Number(asks[0]?.id.split('.')[0])
        const keys = asks.map(({ id }) => keyIn(id))
        over = { after, known: known(after, { waiting: keys, answered: keys }) }
      }
      expect(chain).toEqual(inner(await run(log, { known: known(log.length) })))
    }),
  )
})

describe('the progress of a call', () => {
  const progress = (call_id: string, done: number, node_id: string | null = null): LiveProgress => ({
    ...{ run_id: 'root', agent_name: 'root', node_id, call_id, tool_name: 'deploy' },
    ...{ progress: done, total: 4, message: 'Builds.' },
  })
  const told = (all: readonly AGUIEvent[]): unknown[] =>
    all.flatMap((each) => (each.type === EventType.CUSTOM ? [[each.name, each.value as unknown]] : []))
  const all = () => [
    progress('c1', 1),
    submitted(),
    began(),
    progress('c1', 2),
    said('', 'c1'),
    progress('c1', 3),
    progress('w1', 3, 'writer'),
    result('c1'),
  ]
  const value = (done: number, message: string | null = 'Builds.') => ({
    toolCallId: expect.stringMatching(/0$/) as string,
    progress: done,
    total: 4,
    message,
  })

  it('tells how far an open call of the root agent is, after the call itself', async () => {
    const events = await run([...all(), progress('c1', 4), said('done'), ended('completed', 'done')])
    expect(told(events)).toEqual([
      ['beaver/progress', value(1)],
      ['beaver/progress', value(2)],
      ['beaver/progress', value(3)],
    ])
    const types = events.map(({ type }) => type)
    expect(types.indexOf(EventType.CUSTOM)).toBeGreaterThan(types.indexOf(EventType.TOOL_CALL_END))
  })

  it('has no text of the tool for who may not read its result', async () => {
    const events = await run([...all(), ended('completed')], { caller: { name: 'x', roles: ['submit'] } })
    expect(told(events)).toEqual([
      ['beaver/progress', value(1, null)],
      ['beaver/progress', value(2, null)],
      ['beaver/progress', value(3, null)],
    ])
  })
})
