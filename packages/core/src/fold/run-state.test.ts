import { describe, expect, it } from 'vitest'
import { answer, plain, recorded, result, runStarted } from '../../test/log.ts'
import type { ToolChoice } from '../client-tool.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { cleanTaint } from '../taint/taint.ts'
import { frameMark } from './frame.ts'
import { evolveRun } from './evolve-run.ts'
import { isChosen, mustCall } from './next-request.ts'
import { type RunState, runEnded, startRun } from './run-state.ts'

const started = runStarted('r1')
const prompt = plain('system_prompt_snapshotted', { content: 'You are Beaver.' }, 'r1')
const user = (content: string): DomainEvent => plain('user_message_added', { content }, 'r1')
const callStarted = (call_id: string, idempotent: boolean): DomainEvent =>
  plain('tool_call_started', { call_id, tool_name: 'read', idempotent }, 'r1')
const completed = plain(
  'run_completed',
  { finish_reason: 'stop', tool_iterations: 1, usage: { input_tokens: 0, output_tokens: 0, calls: 0 } },
  'r1',
)

/** The state after a run's log, with the `taskseq` that the journal gives. */
function folded(...events: DomainEvent[]): RunState {
  const [first, ...rest] = recorded(started, ...events)
  return rest.reduce(
    (run, event) => evolveRun(run, event, event),
    startRun(first?.data as DataOf<'run_started'>),
  )
}

const status = (...events: DomainEvent[]) => folded(...events).status

describe('the status of a run', () => {
  it('follows its log: assembling, thinking, acting, thinking, finalizing, completed', () => {
    const log = [
      prompt,
      user('hi'),
      answer('r1', null, [{ id: 'c1', name: 'read' }]),
      result('r1', 'c1', 'read'),
      answer('r1', 'done'),
      completed,
    ]
    expect(log.map((_, index) => status(...log.slice(0, index + 1)))).toEqual([
      'assembling',
      'thinking',
      'acting',
      'thinking',
      'finalizing',
      'completed',
    ])
  })

  it.each([
    [completed, true],
    [
      plain(
        'run_failed',
        {
          failure: { class: 'internal', message: 'm' },
          tool_iterations: 0,
          usage: { input_tokens: 0, output_tokens: 0, calls: 0 },
        },
        'r1',
      ),
      true,
    ],
    [
      plain(
        'run_cancelled',
        { reason: 'stop', tool_iterations: 0, usage: { input_tokens: 0, output_tokens: 0, calls: 0 } },
        'r1',
      ),
      true,
    ],
    [answer('r1', 'done'), false],
    [plain('run_restarted', { failure: { class: 'worker_lost', message: 'm' }, restarts: 1 }, 'r1'), false],
  ])('after %j, the run has ended: %j', (event, ended) =>
    expect(runEnded(folded(user('hi'), event))).toBe(ended),
  )
})

describe('a call of the client', () => {
  const begun = [
    user('hi'),
    answer('r1', null, [
      { id: 'c1', name: 'colour' },
      { id: 'c2', name: 'size' },
    ]),
    callStarted('c1', true),
    callStarted('c2', true),
  ]
  const asked = (call_id: string): DomainEvent =>
    plain('client_call_requested', { call_id, tool_name: 'colour' }, 'r1')
  const said = (call_id: string, content: string): DomainEvent =>
    plain('client_call_answered', { call_id, content, by: 'web' }, 'r1')

  it('waits for its client until the client answers', () => {
    expect([
      status(...begun, asked('c1')),
      status(...begun, asked('c1'), asked('c2')),
      status(...begun, asked('c1'), asked('c2'), said('c1', 'blue')),
    ]).toEqual(['acting', 'waiting_for_client', 'acting'])
  })

  it('holds the choice of the client for the next answers, until another call is answered', () => {
    const chose = (call_id: string, tool_choice?: ToolChoice): DomainEvent =>
      plain(
        'client_call_answered',
        { call_id, content: 'x', by: 'web', ...(tool_choice === undefined ? {} : { tool_choice }) },
        'r1',
      )
    const results = [result('r1', 'c1', 'colour', 'x'), result('r1', 'c2', 'size', 'x')]
    const both = (first?: ToolChoice, last?: ToolChoice) => [
      ...[...begun, asked('c1'), asked('c2'), chose('c1', first), chose('c2', last)],
      ...results,
    ]
    const of = (...events: DomainEvent[]) => {
      const run = folded(...events)
      return [mustCall(run), isChosen(run, 'colour'), isChosen(run, 'size')]
    }
    const one: ToolChoice = { mode: 'required', names: ['size'] }
    expect([
      of(...both()),
      of(...both('required')),
      of(...both('none', one)),
      of(...both(one), answer('r1', null, [{ id: 'c3', name: 'size' }])),
      of(...both(undefined, one), answer('r1', null, [{ id: 'c3', name: 'size' }])),
      of(...both(undefined, 'none')),
      of(
        ...both(undefined, { mode: 'auto', except: ['size'] }),
        answer('r1', null, [{ id: 'c3', name: 'f' }]),
      ),
    ]).toEqual([
      [false, true, true],
      [false, true, true],
      [true, false, true],
      [false, true, true],
      [false, true, true],
      [false, false, false],
      [false, true, false],
    ])
    // An answer that calls nothing does not meet it.
    expect(of(...both(undefined, 'required'), answer('r1', 'Blue.'))).toEqual([true, true, true])
    const kept = folded(...both(undefined, 'none'))
    expect(kept.messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c2', content: 'x' })
  })

  it('keeps the first answer, and none before the call is with the client', () => {
    const answerOf = (...events: DomainEvent[]) => folded(...begun, ...events).calls[0]?.clientAnswer
    expect(answerOf(said('c1', 'blue'))).toBeNull()
    expect(answerOf(asked('c1'), said('c1', 'blue'), said('c1', 'red'))).toEqual({
      content: 'blue',
      by: 'web',
    })
  })
})

describe('the messages of a run', () => {
  it('are the prompt, the skills, the request, the answers and the results', () => {
    const skills = plain(
      'skill_activation_snapshotted',
      { skills: [{ name: 'a"b', sha256: 'x', content: 'Body' }] },
      'r1',
    )
    const run = folded(
      prompt,
      skills,
      user('hi'),
      answer('r1', 'let me see', [{ id: 'c1', name: 'read' }]),
      result('r1', 'c1', 'read', 'text'),
      answer('r1', 'done'),
    )
    const mark = frameMark('r1')
    expect(run.messages).toEqual([
      { role: 'system', content: 'You are Beaver.' },
      {
        role: 'user',
        content: `<activated_skill name="a\\"b" mark="${mark}">\nBody\n</activated_skill mark="${mark}">`,
      },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'let me see', tool_calls: [{ id: 'c1', name: 'read', arguments: '{}' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'text' },
      { role: 'assistant', content: 'done' },
    ])
  })

  it('begin with the prompt, whenever it was recorded', () => {
    expect(folded(user('hi'), prompt).messages.map((message) => message.role)).toEqual(['system', 'user'])
  })

  it('do not contain hidden events', () => {
    const hidden = [
      plain('tool_scope_applied', { allowed: [], effective: [], dropped: [] }, 'r1'),
      plain(
        'provider_call_failed',
        { failure: { class: 'rate_limited', message: 'm' }, tries: 1, retry_in_ms: 5, status: 429 },
        'r1',
      ),
      plain('run_restarted', { failure: { class: 'worker_lost', message: 'm' }, restarts: 1 }, 'r1'),
    ]
    expect(folded(user('hi'), ...hidden).messages).toEqual([{ role: 'user', content: 'hi' }])
  })
})

describe('tool calls', () => {
  const two = answer('r1', null, [
    { id: 'c1', name: 'read' },
    { id: 'c2', name: 'write' },
  ])

  it('stay open in call order until each has a result (S3)', () => {
    const run = folded(user('hi'), two, result('r1', 'c2', 'write', 'second'))
    expect(run.calls.map((call) => [call.id, call.result])).toEqual([
      ['c1', null],
      ['c2', 'second'],
    ])
    expect(run.status).toBe('acting')
    expect(run.messages.some((message) => message.role === 'tool')).toBe(false)
  })

  it('add their results to the messages in call order, whatever the order in which they came (S3)', () => {
    const run = folded(
      user('hi'),
      two,
      result('r1', 'c2', 'write', 'second'),
      result('r1', 'c1', 'read', 'first'),
    )
    expect(run.messages.slice(-2)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'first' },
      { role: 'tool', tool_call_id: 'c2', content: 'second' },
    ])
    expect(run).toMatchObject({ status: 'thinking', calls: [] })
  })

  it('are in doubt once started, unless they are idempotent or have a result', () => {
    const run = folded(user('hi'), two, callStarted('c1', true), callStarted('c2', false))
    expect(
      run.calls.map(({ id, started: begun, idempotent, result: got }) => ({ id, begun, idempotent, got })),
    ).toEqual([
      { id: 'c1', begun: true, idempotent: true, got: null },
      { id: 'c2', begun: true, idempotent: false, got: null },
    ])
    expect(folded(user('hi'), two).calls.every((call) => !call.started)).toBe(true)
  })

  it('leave facts with their positions, in the order of the log, for failures too', () => {
    const run = folded(user('hi'), two, result('r1', 'c2', 'write', 'no', false), result('r1', 'c1', 'read'))
    expect(run.facts).toEqual([
      { taskseq: 4, tool: 'write', success: false, askedSeq: 3, arguments: '{}', result: 'no' },
      { taskseq: 5, tool: 'read', success: true, askedSeq: 3, arguments: '{}', result: 'ok' },
    ])
  })
})

describe('approvals', () => {
  const two = answer('r1', null, [
    { id: 'c1', name: 'write' },
    { id: 'c2', name: 'read' },
  ])
  const asked = (call_id: string) =>
    plain('approval_requested', { call_id, tool_name: 'write', subject: 's', rule: null }, 'r1')
  const granted = (call_id: string) => plain('approval_granted', { call_id, by: 'ann' }, 'r1')
  const denied = (call_id: string) => plain('approval_denied', { call_id, by: 'ann', reason: 'no' }, 'r1')

  it('make a run wait if every call without a result waits for one, until one is decided', () => {
    const log = [
      user('hi'),
      two,
      asked('c1'),
      callStarted('c2', true),
      result('r1', 'c2', 'read'),
      granted('c1'),
      callStarted('c1', false),
    ]
    expect(log.map((_, index) => status(...log.slice(0, index + 1)))).toEqual([
      ...['thinking', 'acting', 'acting', 'acting', 'waiting_for_approval', 'acting', 'acting'],
    ])
  })

  it('are recorded at their call: requested, granted, or denied with a name and a reason', () => {
    const run = folded(user('hi'), two, asked('c1'), asked('c2'), granted('c1'), denied('c2'))
    expect(run.calls.map(({ approval, denial }) => [approval, denial])).toEqual([
      ['granted', null],
      ['denied', { by: 'ann', reason: 'no' }],
    ])
  })

  it('change nothing if the call does not exist', () => {
    const run = folded(user('hi'), two)
    expect(evolveRun(run, asked('nobody called'), { taskseq: 9 })).toBe(run)
  })
})

describe('what a run counts', () => {
  it('counts only answers that ask for tools as iterations', () => {
    const call = (id: string) => [answer('r1', null, [{ id, name: 'read' }]), result('r1', id, 'read')]
    expect(folded(user('hi'), ...call('c1'), ...call('c2'), answer('r1', 'done')).toolIterations).toBe(2)
  })

  it('sums the usage of the answers', () => {
    expect(
      folded(
        user('hi'),
        answer('r1', null, [{ id: 'c1', name: 'read' }]),
        result('r1', 'c1', 'read'),
        answer('r1', 'done'),
      ).usage,
    ).toEqual({
      input_tokens: 20,
      output_tokens: 10,
      calls: 2,
    })
  })

  it('counts the tries of the next call only: an answer resets them', () => {
    const failed = (tries: number) =>
      plain(
        'provider_call_failed',
        { failure: { class: 'rate_limited', message: 'm' }, tries, retry_in_ms: 5, status: 429 },
        'r1',
      )
    expect(folded(user('hi'), failed(1), failed(2)).tries).toBe(2)
    expect(folded(user('hi'), failed(1), failed(2), answer('r1', 'done')).tries).toBe(0)
  })

  it('does not count a try of the main provider before the fallback has failed too', () => {
    const first = plain(
      'provider_call_failed',
      { failure: { class: 'rate_limited', message: 'm' }, tries: 1, retry_in_ms: 0, status: 429 },
      'r1',
    )
    expect(folded(user('hi'), first).tries).toBe(0)
  })

  it('includes the usage of the choice of skills', () => {
    const chosen = plain(
      'skill_selection_recorded',
      {
        query: 'q',
        recall: 'lexical',
        candidates: [],
        chosen: [],
        usage: { input_tokens: 4, output_tokens: 2, calls: 1 },
        provider_name: 'p',
        model: 'm',
        failure: null,
      },
      'r1',
    )
    expect(folded(chosen, user('hi'), answer('r1', 'done')).usage).toEqual({
      input_tokens: 14,
      output_tokens: 7,
      calls: 2,
    })
    const paid = { usage: { input_tokens: 100, output_tokens: 20, calls: 1 }, provider_name: 'p', model: 'm' }
    const failed = { ...chosen, data: { ...chosen.data, failed_calls: [paid, paid] } } as typeof chosen
    expect(folded(failed, user('hi'), answer('r1', 'done')).usage).toEqual({
      input_tokens: 214,
      output_tokens: 47,
      calls: 4,
    })
    const beside = plain('model_call_paid', { purpose: 'skill_selection', ...paid }, 'r1')
    expect(folded(beside, chosen, user('hi'), answer('r1', 'done')).usage).toEqual({
      input_tokens: 114,
      output_tokens: 27,
      calls: 3,
    })
  })

  it('keeps the restarts over answers', () => {
    const restarted = plain(
      'run_restarted',
      { failure: { class: 'worker_lost', message: 'm' }, restarts: 2 },
      'r1',
    )
    expect(folded(user('hi'), restarted, answer('r1', 'done')).restarts).toBe(2)
  })
})

describe('the result of a run', () => {
  it('is the text of the last answer, with its position, its provider and its model', () => {
    const run = folded(
      user('hi'),
      answer('r1', 'draft', [{ id: 'c1', name: 'read' }]),
      result('r1', 'c1', 'read'),
      answer('r1', 'final'),
      completed,
    )
    expect(run).toMatchObject({
      outputText: 'final',
      outputSeq: 5,
      provider: 'simulated',
      model: 'm',
      finishReason: 'stop',
      failure: null,
    })
  })

  it('is empty, not "null", if the answer has no text', () =>
    expect(folded(user('hi'), answer('r1', null)).outputText).toBe(''))

  it('contains the failure, or the reason of the cancellation', () => {
    const usage = { input_tokens: 0, output_tokens: 0, calls: 0 }
    expect(
      folded(
        plain(
          'run_failed',
          { failure: { class: 'refusal', message: 'no' }, tool_iterations: 0, usage },
          'r1',
        ),
      ).failure,
    ).toEqual({
      class: 'refusal',
      message: 'no',
    })
    expect(
      folded(plain('run_cancelled', { reason: 'asked', tool_iterations: 1, usage }, 'r1')).failure,
    ).toEqual({ class: 'cancelled', message: 'asked' })
  })
})

it('evolveRun is pure: it changes no earlier state (S1)', () => {
  const states: RunState[] = [startRun(recorded(started)[0]?.data as DataOf<'run_started'>)]
  const log = recorded(
    prompt,
    user('hi'),
    answer('r1', null, [{ id: 'c1', name: 'read' }]),
    callStarted('c1', true),
    result('r1', 'c1', 'read'),
    answer('r1', 'done'),
    completed,
  )
  const copies: RunState[] = []
  for (const event of log) {
    copies.push(structuredClone(states.at(-1) as RunState))
    states.push(evolveRun(states.at(-1) as RunState, event, event))
  }
  expect(states.slice(0, -1)).toEqual(copies)
})

describe('labels', () => {
  const skill = { name: 'tides', sha256: 'x', content: 'Body' }
  const activated = (...skills: object[]): RunState =>
    folded(plain('skill_activation_snapshotted', { skills } as never, 'r1'), prompt, user('hi'))

  it('has a run that is given a skill of the workspace, because nobody configured it', () => {
    expect(activated(skill, { ...skill, from_workspace: true }).taint).toEqual({
      untrusted: ['the skill tides of the workspace'],
      secret: [],
      public: true,
    })
    expect(activated(skill).taint).toEqual(cleanTaint)
  })

  it.each([
    ['a success without labels is the text of the user', result('r1', 'c1', 'read', 'text'), false],
    [
      'a result that is nobody’s is public',
      plain(
        'tool_result_recorded',
        {
          call_id: 'c1',
          tool_name: 'read',
          success: true,
          content: 'text',
          error: null,
          duration_ms: 1,
          taint: cleanTaint,
        },
        'r1',
      ),
      true,
    ],
  ])('%s', (_, read, isPublic) =>
    expect(folded(user('hi'), answer('r1', null, [{ id: 'c1', name: 'read' }]), read).taint.public).toBe(
      isPublic,
    ),
  )
})
