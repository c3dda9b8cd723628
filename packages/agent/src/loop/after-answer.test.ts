import { type DomainEvent, noUsage } from '@beaver/core'
import { evolveRun, type RunState, startRun } from '@beaver/core/fold'
import { calls, rootSpec, says, workerSpec } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { type ChatAnswer, ProviderError } from '../provider/chat-provider.ts'
import type { Authorisation } from './authorise.ts'
import { afterAnswer, afterForcedAnswer } from './after-answer.ts'
import { finalEvents, providerFailed } from './run-ends.ts'

const silence: ChatAnswer = {
  content: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 3, output_tokens: 2, calls: 1 },
  model: 'm',
  responseId: 'r1',
}
const answer = (over: Partial<ChatAnswer>): ChatAnswer => ({ ...silence, ...over })

const fresh: RunState = { ...startRun({ ...rootSpec().start, tools: [] }), status: 'thinking' }
const worker: RunState = { ...startRun({ ...workerSpec().start, tools: [] }), status: 'thinking' }
const locked: RunState = { ...fresh, executionMode: 'single' }
const inTeam: RunState = { ...fresh, executionMode: 'team' }
const routing = { primary: 'folder-report', ignored: ['other'] }

const decide = (
  run: RunState,
  given: Partial<ChatAnswer>,
  over: Partial<Parameters<typeof afterAnswer>[2]> = {},
): DomainEvent[] =>
  afterAnswer(run, answer(given), {
    taskId: 'task1',
    provider: 'p',
    durationMs: 4,
    routing,
    authorise: ({ name }): Authorisation =>
      name === 'nowhere' ? { kind: 'unknown' } : { kind: 'start', idempotent: name === 'echo' },
    kindOf: () => 'reads',
    isTool: (name) => name === 'echo',
    completesLater: false,
    ...over,
  })

/** What a person wants to see of a decision. */
function told(events: readonly DomainEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case 'execution_mode_selected':
        return `mode ${event.data.execution_mode}${event.data.workflow_tool === null ? '' : ` by ${event.data.workflow_tool}`}`
      case 'assistant_message_added':
        return `answer [${event.data.tool_calls.map((call) => `${call.id}:${call.name}`).join(' ')}]`
      case 'tool_call_started':
        return `start ${event.data.call_id}:${event.data.tool_name}${event.data.idempotent ? ' again' : ''}`
      case 'tool_result_recorded':
        return `refuse ${event.data.call_id}:${event.data.error}`
      case 'run_failed':
        return `fail ${event.data.failure.class}`
      default:
        return event.type
    }
  })
}

const sequential: readonly [string, unknown] = ['SequentialWorkflow', {}]
const prefixed = 'mcp_local_team_workflow_mcp_GraphWorkflow'

describe('the first answer of a routed root run (D-03, D-04)', () => {
  test.each<[string, Partial<ChatAnswer>, string[]]>([
    ['a text is single, and ends the run', says('42'), ['mode single', 'answer []', 'run_completed']],
    [
      'an ordinary call is single',
      calls(['echo', {}]),
      ['mode single', 'answer [c1:echo]', 'start c1:echo again'],
    ],
    [
      'a workflow call is team',
      calls(sequential),
      ['mode team by SequentialWorkflow', 'answer [c1:SequentialWorkflow]', 'start c1:SequentialWorkflow'],
    ],
    [
      'a workflow under its prefixed name is team',
      calls([prefixed, {}]),
      [`mode team by ${prefixed}`, `answer [c1:${prefixed}]`, `start c1:${prefixed}`],
    ],
    [
      'a workflow call among ordinary ones is kept alone: the others leave no trace',
      calls(['echo', {}], sequential, ['list_files', {}]),
      ['mode team by SequentialWorkflow', 'answer [c2:SequentialWorkflow]', 'start c2:SequentialWorkflow'],
    ],
    [
      'of several workflow calls the first is executed, the others are refused, one result a call',
      calls(['echo', {}], sequential, ['GraphWorkflow', {}], [prefixed, {}]),
      [
        'mode team by SequentialWorkflow',
        `answer [c2:SequentialWorkflow c3:GraphWorkflow c4:${prefixed}]`,
        'start c2:SequentialWorkflow',
        'refuse c3:workflow_already_selected',
        'refuse c4:workflow_already_selected',
      ],
    ],
    [
      'the same workflow called twice with one id: two ids, the second refused',
      calls(['SequentialWorkflow', {}, 'x'], ['SequentialWorkflow', {}, 'x']),
      [
        'mode team by SequentialWorkflow',
        'answer [x:SequentialWorkflow x~1:SequentialWorkflow]',
        'start x:SequentialWorkflow',
        'refuse x~1:workflow_already_selected',
      ],
    ],
    ['an empty answer is single, and fails', says(''), ['mode single', 'answer []', 'fail empty_output']],
    [
      'a call of a tool there is not is single, and does not start',
      calls(['nowhere', {}]),
      ['mode single', 'answer [c1:nowhere]'],
    ],
    [
      'a name that only looks like a workflow is single',
      calls(['sequentialworkflow', {}]),
      ['mode single', 'answer [c1:sequentialworkflow]', 'start c1:sequentialworkflow'],
    ],
  ])('%s', (_, given, expected) => expect(told(decide(fresh, given))).toEqual(expected))

  it('is recorded with the skill that routed and those that did not, hidden and without content', () => {
    expect(decide(fresh, says('x'))[0]).toEqual({
      type: 'execution_mode_selected',
      runId: 'run1',
      data: {
        task_id: 'task1',
        attempt_index: 1,
        execution_mode: 'single',
        routing_source: 'main_agent_first_turn',
        primary_template_skill: 'folder-report',
        ignored_template_skills: ['other'],
        workflow_tool: null,
        content: null,
      },
    })
  })

  it('keeps the text that came with a mixed answer', () => {
    const events = decide(fresh, { ...calls(['echo', {}], sequential), content: 'I will have a team do it.' })
    expect(events[1]).toMatchObject({
      type: 'assistant_message_added',
      data: {
        content: 'I will have a team do it.',
        provider_name: 'p',
        model: 'm',
        response_id: 'r1',
        duration_ms: 4,
      },
    })
  })
})

describe('later answers', () => {
  test.each<[string, RunState, Partial<ChatAnswer>, string[]]>([
    [
      'after single a workflow call is refused while others run (D-05)',
      locked,
      calls(['echo', {}], sequential, ['list_files', {}]),
      [
        'answer [c1:echo c2:SequentialWorkflow c3:list_files]',
        'start c1:echo again',
        'refuse c2:execution_mode_locked_single',
        'start c3:list_files',
      ],
    ],
    [
      'after single a workflow call under its prefixed name is refused too',
      locked,
      calls([prefixed, {}]),
      [`answer [c1:${prefixed}]`, 'refuse c1:execution_mode_locked_single'],
    ],
    [
      'after team another workflow may be called (D-06)',
      inTeam,
      calls(sequential),
      ['answer [c1:SequentialWorkflow]', 'start c1:SequentialWorkflow'],
    ],
    [
      'after team an ordinary call beside a workflow call is kept',
      inTeam,
      calls(['echo', {}], sequential),
      ['answer [c1:echo c2:SequentialWorkflow]', 'start c1:echo again', 'start c2:SequentialWorkflow'],
    ],
    [
      'a worker never runs a workflow (D-09)',
      worker,
      calls(sequential, ['echo', {}]),
      ['answer [c1:SequentialWorkflow c2:echo]', 'refuse c1:tool_not_available', 'start c2:echo again'],
    ],
  ])('%s', (_, run, given, expected) =>
    expect(told(decide(run, given, run === worker ? { routing: null } : {}))).toEqual(expected),
  )

  it('the refusal after single has the exact words of the contract', () => {
    expect(decide(locked, calls(sequential)).at(-1)).toMatchObject({
      data: {
        success: false,
        error: 'execution_mode_locked_single',
        content: 'Agent Team can only be selected in the first response of this Task run.',
        tool_name: 'SequentialWorkflow',
      },
    })
  })
})

describe('a run without routing (D-02)', () => {
  test.each<[string, Partial<ChatAnswer>, string[]]>([
    ['a text has no mode event', says('42'), ['answer []', 'run_completed']],
    [
      'a workflow call has no mode event',
      calls(sequential),
      ['answer [c1:SequentialWorkflow]', 'start c1:SequentialWorkflow'],
    ],
    [
      'a mixed answer is kept whole',
      calls(['echo', {}], sequential),
      ['answer [c1:echo c2:SequentialWorkflow]', 'start c1:echo again', 'start c2:SequentialWorkflow'],
    ],
  ])('%s', (_, given, expected) => expect(told(decide(fresh, given, { routing: null }))).toEqual(expected))
})

describe('call ids', () => {
  const ids = (run: RunState, ...given: string[]): string[] =>
    decide(run, calls(...given.map((id): [string, unknown, string] => ['echo', {}, id])), {
      routing: null,
    }).flatMap((event) => (event.type === 'tool_call_started' ? [event.data.call_id] : []))

  test.each<[string, string[], string[]]>([
    ['are kept when they differ', ['a', 'b'], ['a', 'b']],
    ['get a suffix when repeated', ['a', 'a', 'a'], ['a', 'a~1', 'a~2']],
    ['stay apart from an id that looks like a suffix', ['a', 'a', 'a~1'], ['a', 'a~1', 'a~1~1']],
  ])('%s', (_, given, expected) => expect(ids(fresh, ...given)).toEqual(expected))

  it('used by an earlier answer of the run are not used again: a result belongs to one call', () => {
    const first = decide(fresh, calls(['echo', {}, 'call_0']), { routing: null })
    const result: DomainEvent = {
      type: 'tool_result_recorded',
      runId: 'run1',
      data: { call_id: 'call_0', tool_name: 'echo', success: true, content: '', error: null, duration_ms: 0 },
    }
    const later = [...first, result].reduce((run, each, i) => evolveRun(run, each, { taskseq: i + 1 }), fresh)
    expect(ids(later, 'call_0', 'call_1')).toEqual(['call_0~1', 'call_1'])
  })

  it('stand in the answer as in the results, so that the conversation fits together', () => {
    const events = decide(fresh, calls(['echo', {}, 'a'], ['nowhere', {}, 'a']), { routing: null })
    const added = events.find((event) => event.type === 'assistant_message_added')
    expect(added?.data.tool_calls.map((call) => call.id)).toEqual(['a', 'a~1'])
  })
})

describe('how a run ends on an answer without calls (D-35, D-42)', () => {
  test.each<[Partial<ChatAnswer>, string, string]>([
    [{ content: 'x' }, 'run_completed', ''],
    [{ content: 'x', finishReason: 'eos' }, 'run_completed', ''],
    [{ content: 'x', finishReason: 'length' }, 'output_truncated', 'cut off'],
    [{ content: 'x', finishReason: 'content_filter' }, 'refusal', 'content_filter'],
    [{ content: 'x', finishReason: 'refusal' }, 'refusal', 'refused'],
    [{ content: null }, 'empty_output', 'empty'],
    [{ content: '' }, 'empty_output', 'empty'],
    [{ content: ' \n\t' }, 'empty_output', 'empty'],
    [{ content: '', finishReason: 'length' }, 'output_truncated', 'cut off'],
    [{ content: 'x', finishReason: 'MAX_TOKENS' }, 'output_truncated', 'MAX_TOKENS'],
    [{ content: 'x', finishReason: 'sensitive' }, 'refusal', 'sensitive'],
    [{ content: 'x', finishReason: 'SAFETY' }, 'refusal', 'SAFETY'],
    [{ content: 'x', finishReason: 'max_tool_iterations_finalized' }, 'iterations_exhausted', 'forced'],
    [
      { content: '<tool_call>{"name": "nowhere", "arguments": {}}</tool_call>' },
      'malformed_output',
      'is a <tool_call> element, written as text',
    ],
    [
      { content: '{"name": "echo", "arguments": {"text": "a"}}' },
      'malformed_output',
      'the JSON of a tool call',
    ],
    [{ content: '{"name": "nobody", "arguments": {"text": "a"}}' }, 'run_completed', ''],
    [{ content: 'So:\n```\n<tool_call>{"name": "echo"}</tool_call>\n```\nThat is it.' }, 'run_completed', ''],
  ])('%j is %s', (given, expected, words) => {
    const [event, ...more] = finalEvents(fresh, answer(given), (name) => name === 'echo')
    expect(more).toEqual([])
    if (event?.type === 'run_failed')
      expect([event.data.failure.class, event.data.failure.message]).toEqual([
        expected,
        expect.stringContaining(words),
      ])
    else expect(event?.type).toBe(expected)
  })

  test.each([
    ['root', fresh],
    ['worker', worker],
  ])('a raw tool call fails a %s (D-42)', (_, run) => {
    expect(
      told(
        decide(run, says('<tool_call>\n{"name": "echo", "arguments": {}}\n</tool_call>'), { routing: null }),
      ),
    ).toHaveLength(2)
    expect(
      decide(run, says('<tool_call>\n{"name": "echo", "arguments": {}}\n</tool_call>'), { routing: null }).at(
        -1,
      ),
    ).toMatchObject({
      type: 'run_failed',
      data: { failure: { class: 'malformed_output' } },
    })
  })

  it('an answer that was cut makes none of its calls, and the model is told; the next that is cut ends the run', () => {
    const cut = { ...calls(['echo', { text: 'a' }], ['echo', { text: 'b' }]), finishReason: 'length' }
    const events = decide(fresh, cut, { routing: null })
    expect(events.map(({ type }) => type)).toEqual([
      'assistant_message_added',
      'tool_result_recorded',
      'tool_result_recorded',
    ])
    expect(events[1]).toMatchObject({
      data: {
        call_id: 'c1',
        success: false,
        error: 'answer_cut',
        content: expect.stringContaining('smaller steps') as string,
      },
    })
    const again = { ...fresh, finishReason: 'length' }
    expect(decide(again, cut, { routing: null })).toMatchObject([
      { type: 'assistant_message_added', data: { tool_calls: [] } },
      { type: 'run_failed', data: { failure: { class: 'output_truncated' } } },
    ])
    expect(decide({ ...fresh, finishReason: 'stop' }, cut, { routing: null })).toHaveLength(3)
  })

  it('an answer that was refused makes none of its calls', () =>
    expect(
      decide(fresh, { ...calls(['echo', {}]), finishReason: 'content_filter' }, { routing: null }),
    ).toMatchObject([
      { type: 'assistant_message_added', data: { tool_calls: [] } },
      { type: 'run_failed', data: { failure: { class: 'refusal' } } },
    ]))

  it('a run that completes later has its answer recorded and nothing more; one that fails has its end with it', () => {
    const later = (given: Partial<ChatAnswer>): string[] =>
      decide(worker, given, { routing: null, completesLater: true }).map((event) => event.type)
    expect(later(says('done'))).toEqual(['assistant_message_added'])
    expect(later(says(''))).toEqual(['assistant_message_added', 'run_failed'])
    expect(later(calls(['echo', {}]))).toEqual(['assistant_message_added', 'tool_call_started'])
  })

  it('the end counts the tokens of the last answer too', () => {
    const run = { ...fresh, usage: { input_tokens: 100, output_tokens: 50, calls: 2 }, toolIterations: 2 }
    expect(finalEvents(run, answer({ content: 'x' }), () => false)[0]).toMatchObject({
      data: {
        usage: { input_tokens: 103, output_tokens: 52, calls: 3 },
        tool_iterations: 2,
        finish_reason: 'stop',
      },
    })
  })
})

describe('failures', () => {
  const slow = new ProviderError('rate_limited', 'slow down', { status: 429 })
  const given = (error: ProviderError, tries: number) => ({
    error,
    tries,
    waitedMs: 0,
    last: { kind: 'failed' as const, provider: 'p', error, durationMs: 3 },
  })

  it('a provider call that failed for good is recorded with who failed and its status, and the run fails with its class', () => {
    expect(providerFailed(fresh, given(slow, 6))).toMatchObject([
      {
        type: 'provider_call_failed',
        data: {
          failure: { class: 'rate_limited', message: 'slow down' },
          tries: 6,
          retry_in_ms: null,
          status: 429,
          provider_name: 'p',
          duration_ms: 3,
        },
      },
      {
        type: 'run_failed',
        data: { failure: { class: 'rate_limited', message: 'slow down (tried 6 times)' }, usage: noUsage },
      },
    ])
  })

  it('one try is not counted out loud', () => {
    expect(providerFailed(fresh, given(new ProviderError('provider_refused', 'no'), 1))[1]).toMatchObject({
      data: { failure: { message: 'no' } },
    })
  })
})

describe('the answer that was forced when the iterations were used up (SCH-07)', () => {
  const used: RunState = { ...fresh, toolIterations: 20, executionMode: 'single' }
  const forced = (given: Partial<ChatAnswer>): DomainEvent[] =>
    afterForcedAnswer(used, answer(given), {
      provider: 'p',
      durationMs: 4,
      isTool: (name) => name === 'echo',
    })

  it('is kept with its finish reason, and the run fails', () => {
    expect(forced(says('as far as I know: 4'))).toMatchObject([
      {
        type: 'assistant_message_added',
        data: {
          content: 'as far as I know: 4',
          tool_calls: [],
          finish_reason: 'max_tool_iterations_finalized',
          provider_name: 'p',
        },
      },
      {
        type: 'run_failed',
        data: {
          failure: { class: 'iterations_exhausted', message: expect.stringContaining('forced') as string },
          usage: { input_tokens: 3, output_tokens: 2, calls: 1 },
        },
      },
    ])
  })

  test.each<[string, Partial<ChatAnswer>]>([
    ['a tool call', { ...calls(['echo', {}]), content: 'wait' }],
    ['a tool call written as text', says('<tool_call>{"name": "echo", "arguments": {}}</tool_call>')],
    ['empty', says(' ')],
    ['nothing', {}],
  ])('that is %s is no answer: the run fails and names its limit, and no call is on record', (_, given) => {
    expect(forced(given)).toMatchObject([
      {
        type: 'assistant_message_added',
        data: { tool_calls: [], finish_reason: 'max_tool_iterations_finalized' },
      },
      {
        type: 'run_failed',
        data: {
          failure: {
            class: 'iterations_exhausted',
            message: expect.stringContaining('all of its 20') as string,
          },
          usage: { calls: 1 },
          tool_iterations: 20,
        },
      },
    ])
  })
})
