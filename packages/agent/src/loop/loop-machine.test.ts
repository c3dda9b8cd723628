import { type DomainEvent, type EventType, eventData } from '@beaver/core'
import { evolveRun, type RunState, type RunStatus, startRun } from '@beaver/core/fold'
import { rootSpec } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { createActor, transition } from 'xstate'
import { type LoopContext, type LoopEffects, type LoopEvent, loopMachine, stepsOf } from './loop-machine.ts'

const states = [
  'assembling',
  'thinking',
  'acting',
  'waiting_for_approval',
  'waiting_for_client',
  'finalizing',
] as const satisfies readonly RunStatus[]
const start = { ...rootSpec().start, tools: [] }
const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }

const answer = (...ids: string[]): DomainEvent => ({
  type: 'assistant_message_added',
  runId: 'run1',
  data: {
    content: 'x',
    tool_calls: ids.map((id) => ({ id, name: 'echo', arguments: '{}' })),
    finish_reason: 'stop',
    usage,
    provider_name: 'p',
    model: 'm',
    response_id: null,
    duration_ms: 1,
  },
})
const result = (call_id: string): DomainEvent => ({
  type: 'tool_result_recorded',
  runId: 'run1',
  data: { call_id, tool_name: 'echo', success: true, content: 'ok', error: null, duration_ms: 1 },
})
const began = (call_id: string): DomainEvent => ({
  type: 'tool_call_started',
  runId: 'run1',
  data: { call_id, tool_name: 'echo', idempotent: true },
})
const asked = (call_id: string): DomainEvent => ({
  type: 'approval_requested',
  runId: 'run1',
  data: { call_id, tool_name: 'echo', subject: '{}', rule: null },
})
const toClient = (call_id: string): DomainEvent => ({
  type: 'client_call_requested',
  runId: 'run1',
  data: { call_id, tool_name: 'echo' },
})
const fromClient = (call_id: string): DomainEvent => ({
  type: 'client_call_answered',
  runId: 'run1',
  data: { call_id, content: 'blue', by: 'web' },
})
const granted = (call_id: string): DomainEvent => ({
  type: 'approval_granted',
  runId: 'run1',
  data: { call_id, by: 'ann' },
})
const denied = (call_id: string): DomainEvent => ({
  type: 'approval_denied',
  runId: 'run1',
  data: { call_id, by: 'ann', reason: 'no' },
})
const compacted: DomainEvent = {
  type: 'context_compacted',
  runId: 'run1',
  data: { results: [{ call_id: 'c0', tool_name: 'echo', chars: 2 }] },
}
const message: DomainEvent = { type: 'user_message_added', runId: 'run1', data: { content: 'do it' } }
const completed: DomainEvent = {
  type: 'run_completed',
  runId: 'run1',
  data: { finish_reason: 'stop', tool_iterations: 0, usage },
}
const failed: DomainEvent = {
  type: 'run_failed',
  runId: 'run1',
  data: { failure: { class: 'internal', message: 'x' }, tool_iterations: 0, usage },
}
const cancelled: DomainEvent = {
  type: 'run_cancelled',
  runId: 'run1',
  data: { reason: 'x', tool_iterations: 0, usage },
}
const tried: DomainEvent = {
  type: 'provider_call_failed',
  runId: 'run1',
  data: { failure: { class: 'rate_limited', message: 'x' }, tries: 1, retry_in_ms: 1, status: 429 },
}
const restarted: DomainEvent = {
  type: 'run_restarted',
  runId: 'run1',
  data: { failure: { class: 'worker_lost', message: 'x' }, restarts: 1 },
}

/** The step of one event. */
const stepOf = (run: RunState, recorded: DomainEvent, taskseq = 1): LoopEvent =>
  stepsOf(run, [recorded], taskseq)[0] as LoopEvent

/** A live loop: the machine with effects that only note that they began. */
function live(context?: { run: RunState; value: RunStatus }) {
  const begun: string[] = []
  const effects: LoopEffects = {
    assemble: () => begun.push('assemble'),
    think: () => begun.push('think'),
    act: () => begun.push('act'),
    finalize: () => begun.push('finalize'),
  }
  const input: LoopContext = { run: context?.run ?? startRun(start), lastResult: null, effects }
  const actor = createActor(
    loopMachine,
    context === undefined
      ? { input }
      : { input, snapshot: loopMachine.resolveState({ value: context.value, context: input }) },
  )
  actor.subscribe({ error: () => {} })
  actor.start()
  return {
    actor,
    begun,
    record: (event: DomainEvent, taskseq = 1) =>
      actor.send(stepOf(actor.getSnapshot().context.run, event, taskseq)),
    value: () => actor.getSnapshot().value as RunStatus,
    run: () => actor.getSnapshot().context.run,
  }
}

/** The run that stands in a state, as its journal would have it. */
const journals: Record<(typeof states)[number], DomainEvent[]> = {
  assembling: [],
  thinking: [message],
  acting: [message, answer('a', 'b')],
  waiting_for_approval: [message, answer('a', 'b'), asked('a'), asked('b')],
  waiting_for_client: [message, answer('a', 'b'), toClient('a'), toClient('b')],
  finalizing: [message, answer()],
}
const folded = (events: readonly DomainEvent[]): RunState =>
  events.reduce((run, event, i) => evolveRun(run, event, { taskseq: i + 1 }), startRun(start))

/** What a state waits for, and where it leads. Everything else leaves every state where it is. */
const leads: Record<
  (typeof states)[number],
  Partial<Record<EventType | 'loop.resumed', { to: RunStatus; begins: string | null }>>
> = {
  assembling: {
    user_message_added: { to: 'thinking', begins: 'think' },
    tool_call_requested: { to: 'acting', begins: 'act' },
    run_failed: { to: 'failed', begins: null },
    run_cancelled: { to: 'cancelled', begins: null },
    'loop.resumed': { to: 'assembling', begins: 'assemble' },
  },
  thinking: {
    assistant_message_added: { to: 'acting', begins: 'act' },
    run_completed: { to: 'completed', begins: null },
    run_failed: { to: 'failed', begins: null },
    run_cancelled: { to: 'cancelled', begins: null },
    'loop.resumed': { to: 'thinking', begins: 'think' },
  },
  acting: {
    run_failed: { to: 'failed', begins: null },
    run_cancelled: { to: 'cancelled', begins: null },
    'loop.resumed': { to: 'acting', begins: 'act' },
  },
  waiting_for_approval: {
    approval_granted: { to: 'acting', begins: 'act' },
    approval_denied: { to: 'acting', begins: 'act' },
    run_failed: { to: 'failed', begins: null },
    run_cancelled: { to: 'cancelled', begins: null },
    'loop.resumed': { to: 'waiting_for_approval', begins: 'act' },
  },
  waiting_for_client: {
    client_call_answered: { to: 'acting', begins: 'act' },
    run_failed: { to: 'failed', begins: null },
    run_cancelled: { to: 'cancelled', begins: null },
    'loop.resumed': { to: 'waiting_for_client', begins: 'act' },
  },
  finalizing: {
    user_message_added: { to: 'thinking', begins: 'think' },
    output_rejected: { to: 'thinking', begins: 'think' },
    run_completed: { to: 'completed', begins: null },
    run_failed: { to: 'failed', begins: null },
    run_cancelled: { to: 'cancelled', begins: null },
    'loop.resumed': { to: 'finalizing', begins: 'finalize' },
  },
}

const samples: Partial<Record<EventType, DomainEvent>> = {
  user_message_added: message,
  assistant_message_added: answer('x'),
  tool_call_started: began('a'),
  approval_requested: asked('a'),
  approval_granted: granted('a'),
  approval_denied: denied('a'),
  client_call_requested: toClient('a'),
  client_call_answered: fromClient('a'),
  context_compacted: compacted,
  context_summarized: {
    type: 'context_summarized',
    runId: 'run1',
    data: { content: 's', messages_dropped: 1, usage, provider_name: 'p', model: 'm' },
  },
  model_call_lost: {
    type: 'model_call_lost',
    runId: 'run1',
    data: { usage, provider_name: 'p', model: 'm' },
  },
  model_call_paid: {
    type: 'model_call_paid',
    runId: 'run1',
    data: { purpose: 'skill_selection', usage, provider_name: 'p', model: 'm' },
  },
  summary_refused: {
    type: 'summary_refused',
    runId: 'run1',
    data: { reason: 'no', usage, provider_name: 'p', model: 'm' },
  },
  skill_selection_recorded: {
    type: 'skill_selection_recorded',
    runId: 'run1',
    data: {
      query: 'q',
      recall: 'lexical',
      candidates: [],
      chosen: [],
      usage,
      provider_name: null,
      model: null,
      failure: null,
    },
  },
  tool_result_recorded: result('a'),
  tools_left_out: {
    type: 'tools_left_out',
    runId: 'run1',
    data: { provider_name: 'p', tools: [{ name: 'x', reason: 'no' }] },
  },
  output_rejected: { type: 'output_rejected', runId: 'run1', data: { faults: [{ path: '', message: 'm' }] } },
  run_completed: completed,
  run_failed: failed,
  run_cancelled: cancelled,
  provider_call_failed: tried,
  run_restarted: restarted,
}
const foreign = (type: EventType): DomainEvent =>
  samples[type] ??
  ({
    type,
    runId: 'run1',
    data:
      type === 'system_prompt_snapshotted'
        ? { content: '' }
        : type === 'skill_activation_snapshotted'
          ? { skills: [] }
          : type === 'execution_mode_selected'
            ? { execution_mode: 'team' }
            : {},
  } as DomainEvent)

describe('states × events', () => {
  const types = [...(Object.keys(eventData) as EventType[]), 'loop.resumed' as const]

  test.each(states)('%s waits for what the table says, and for nothing else', (state) => {
    const context: LoopContext = {
      run: folded(journals[state]),
      lastResult: null,
      effects: { assemble() {}, think() {}, act() {}, finalize() {} },
    }
    const snapshot = loopMachine.resolveState({ value: state, context })
    const got = types.map((type) => {
      const [next, actions] = transition(
        loopMachine,
        snapshot,
        type === 'loop.resumed' ? { type } : stepOf(context.run, foreign(type)),
      )
      return [type, next.value, actions.map((action) => action.type)]
    })
    expect(got).toEqual(
      types.map((type) => {
        const expected = leads[state][type]
        return [
          type,
          expected?.to ?? state,
          expected?.begins === undefined || expected.begins === null ? [] : [expected.begins],
        ]
      }),
    )
  })
})

describe('the guards', () => {
  it('an answer without calls leads to finalizing, one with calls to acting', () => {
    const to = (event: DomainEvent): RunStatus => {
      const loop = live({ run: folded(journals.thinking), value: 'thinking' })
      loop.record(event)
      return loop.value()
    }
    expect([to(answer()), to(answer('a'))]).toEqual(['finalizing', 'acting'])
  })

  it('only the last open result leads on to thinking, in whatever order they come', () => {
    const loop = live({ run: folded(journals.acting), value: 'acting' })
    loop.record(result('b'))
    expect(loop.value()).toBe('acting')
    loop.record(result('b'))
    expect(loop.value()).toBe('acting')
    loop.record(result('nobody called'))
    expect(loop.value()).toBe('acting')
    loop.record(result('a'))
    expect([loop.value(), loop.begun]).toEqual(['thinking', ['think']])
  })

  it('waits for an approval only when every call without a result does, and acts as soon as one is decided', () => {
    const path = (...events: DomainEvent[]): RunStatus[] => {
      const loop = live({ run: folded(journals.acting), value: 'acting' })
      return events.map((event) => (loop.record(event), loop.value()))
    }
    expect(
      path(asked('a'), asked('b'), granted('b'), began('b'), result('b'), denied('a'), result('a')),
    ).toEqual([
      ...['acting', 'waiting_for_approval', 'acting', 'acting', 'waiting_for_approval', 'acting', 'thinking'],
    ])
    expect(path(asked('a'), result('b'), result('a'))).toEqual(['acting', 'waiting_for_approval', 'thinking'])
    expect(path(asked('nobody called'), asked('a'), granted('nobody called'))).toEqual([
      'acting',
      'acting',
      'acting',
    ])
  })

  it('waits for the client when nothing else does, and acts as soon as it answers', () => {
    const path = (...events: DomainEvent[]): RunStatus[] => {
      const loop = live({ run: folded(journals.acting), value: 'acting' })
      return events.map((event) => (loop.record(event), loop.value()))
    }
    expect(path(toClient('a'), toClient('b'), fromClient('a'), result('a'), fromClient('b'))).toEqual([
      ...['acting', 'waiting_for_client', 'acting', 'waiting_for_client', 'acting'],
    ])
    expect(path(toClient('a'), asked('b'), denied('b'), result('b'))).toEqual([
      ...['acting', 'waiting_for_approval', 'acting', 'waiting_for_client'],
    ])
    expect(path(asked('b'), toClient('a'), fromClient('a'))).toEqual([
      ...['acting', 'waiting_for_approval', 'acting'],
    ])
  })

  test.each<[RunStatus, DomainEvent]>([
    ['completed', completed],
    ['failed', failed],
    ['cancelled', cancelled],
  ])('%s is an end: the machine is done', (state, end) => {
    const loop = live({ run: folded(journals.finalizing), value: 'finalizing' })
    loop.record(end)
    expect([loop.value(), loop.run().status, loop.actor.getSnapshot().status]).toEqual([state, state, 'done'])
  })
})

const settle = (count: number, order: readonly number[], approvals: ReadonlySet<number>): DomainEvent[] => {
  const ids = Array.from({ length: count }, (_, i) => `c${i}`)
  return [
    ...ids.flatMap((id) => (approvals.has(Number(id.slice(1))) ? [asked(id)] : [began(id)])),
    ...ids.flatMap((id) =>
      approvals.has(Number(id.slice(1))) ? [Number(id.slice(1)) % 2 === 0 ? denied(id) : granted(id)] : [],
    ),
    ...ids
      .toSorted((a, b) => (order[Number(a.slice(1))] ?? 0) - (order[Number(b.slice(1))] ?? 0))
      .map(result),
  ]
}
const turn = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  order: fc.array(fc.nat(9), { minLength: 4, maxLength: 4 }),
  before: fc.subarray([tried, restarted, compacted]),
  after: fc.subarray([restarted]),
  approvals: fc.subarray([0, 1, 2, 3]),
})
const ending = fc.constantFrom<DomainEvent[]>(
  [answer(), completed],
  [answer(), failed],
  [failed],
  [cancelled],
  [],
)
/** Of any run. */
const anyJournal = fc
  .tuple(fc.array(turn, { maxLength: 5 }), ending)
  .map(([turns, end]) => [
    message,
    ...turns.flatMap(({ count, order, before, after, approvals }) => [
      ...before,
      answer(...Array.from({ length: count }, (_, i) => `c${i}`)),
      ...after,
      ...settle(count, order, new Set(approvals)),
    ]),
    ...end,
  ])

describe('a journal', () => {
  it('started fresh begins by assembling; restored it begins nothing until it is resumed', () => {
    expect(live().begun).toEqual(['assemble'])
    const loop = live({ run: folded(journals.thinking), value: 'thinking' })
    expect(loop.begun).toEqual([])
    loop.actor.send({ type: 'loop.resumed' })
    expect(loop.begun).toEqual(['think'])
  })

  it('folded gives the state and the run a live loop has, after every event of any run', () => {
    fc.assert(
      fc.property(anyJournal, (journal) => {
        const loop = live()
        for (const [i, event] of journal.entries()) {
          loop.record(event, i + 1)
          const again = folded(journal.slice(0, i + 1))
          expect(loop.run()).toEqual(again)
          expect(loop.value()).toBe(again.status)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('of entries: the steps of each lead where its events lead one by one, and begin the same', () => {
    fc.assert(
      fc.property(
        anyJournal,
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 60, maxLength: 60 }),
        (journal, sizes) => {
          const [byStep, byEvent] = [live(), live()]
          for (let from = 0, entry = 0; from < journal.length; from += sizes[entry++] as number) {
            const events = journal.slice(from, from + (sizes[entry] as number))
            for (const step of stepsOf(byStep.run(), events, from + 1)) byStep.actor.send(step)
            for (const [i, event] of events.entries()) byEvent.record(event, from + 1 + i)
            expect([byStep.run(), byStep.value(), byStep.begun]).toEqual([
              byEvent.run(),
              byEvent.value(),
              byEvent.begun,
            ])
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  it('takes one step for each event that a state waits for, and for the last', () => {
    const types = (events: readonly DomainEvent[]): string[] =>
      stepsOf(startRun(start), events, 7).map((step) => step.type)
    expect(types([foreign('run_started'), foreign('system_prompt_snapshotted'), message])).toEqual([
      'user_message_added',
    ])
    expect(types([answer('a'), began('a'), result('a')])).toEqual([
      'assistant_message_added',
      'tool_result_recorded',
    ])
    expect(types([answer('a'), began('a')])).toEqual(['assistant_message_added', 'tool_call_started'])
    const run = folded(journals.acting)
    expect(stepsOf(run, [began('a'), result('a')], 7)).toEqual([
      {
        type: 'tool_result_recorded',
        recorded: result('a'),
        run: evolveRun(evolveRun(run, began('a'), { taskseq: 7 }), result('a'), { taskseq: 8 }),
      },
    ])
  })
})
