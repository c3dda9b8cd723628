import type { LoopEnd, TeamRunResult } from '@beaver/agent'
import type { Failure } from '@beaver/core/supervision'
import { describe, expect, it, test } from 'vitest'
import { taskEnd } from './task-end.ts'
import type { EndedTeam } from './task-teams.ts'

const usage = { input_tokens: 7, output_tokens: 3, calls: 2 }
const root = (over: Partial<LoopEnd> & { text?: string } = {}): LoopEnd => ({
  status: 'completed',
  facts: { outputText: over.text ?? '42', outputSeq: 5, tools: [] },
  failure: null,
  usage,
  provider: 'openai',
  model: 'm',
  callsOfAnswers: [['c1']],
  ...over,
})
const team = (over: Partial<TeamRunResult> = {}): TeamRunResult => ({
  team_run_id: 'team1',
  outcome: 'complete',
  stopped: null,
  final_output: 'x',
  outputs: [{ node_id: 'a', output: 'x' }],
  message: null,
  failures: [],
  ...over,
})
const called = (result: TeamRunResult | null, call_id = 'c1', workflow = 'SequentialWorkflow'): EndedTeam[] =>
  result === null ? [] : [{ call_id, workflow, result, material: () => ({ outputs: [], texts: [] }) }]
const crash: Failure = { class: 'tool_crash', message: 'it broke' }

test.each<[string, LoopEnd, TeamRunResult | null, string, Failure['class'] | null]>([
  ['a root that completed', root(), null, 'task_completed', null],
  ['a root that completed with a complete team', root(), team(), 'task_completed', null],
  [
    'a root that completed over an incomplete team',
    root(),
    team({ outcome: 'incomplete', message: '1 of 2', failures: [{ node_id: 'b', failure: crash }] }),
    'task_incomplete',
    'tool_crash',
  ],
  [
    'a root that completed over a cancelled team',
    root(),
    team({ outcome: 'cancelled' }),
    'task_incomplete',
    'cancelled',
  ],
  ['a root without a final answer', root({ text: '' }), null, 'task_failed', 'empty_output'],
  ['a root whose final answer is space', root({ text: ' \n ' }), null, 'task_failed', 'empty_output'],
  [
    'a root without a final answer over an incomplete team',
    root({ text: '' }),
    team({ outcome: 'incomplete' }),
    'task_incomplete',
    'cancelled',
  ],
  [
    'a root that failed',
    root({ status: 'failed', failure: { class: 'rate_limited', message: 'x' } }),
    null,
    'task_failed',
    'rate_limited',
  ],
  [
    'a root that failed over a complete team',
    root({ status: 'failed', failure: { class: 'refusal', message: 'x' } }),
    team(),
    'task_failed',
    'refusal',
  ],
  [
    'a root that was cancelled',
    root({ status: 'cancelled', failure: { class: 'cancelled', message: 'x' } }),
    null,
    'task_cancelled',
    'cancelled',
  ],
  [
    'a root that was cancelled with its team',
    root({ status: 'cancelled', failure: { class: 'cancelled', message: 'x' } }),
    team({ outcome: 'cancelled' }),
    'task_cancelled',
    'cancelled',
  ],
])('%s', (_, end, of, type, failureClass) => {
  const event = taskEnd(end, called(of), usage)
  expect([event.type, (event.data as { failure: Failure | null }).failure?.class ?? null]).toEqual([
    type,
    failureClass,
  ])
})

describe('the result', () => {
  it('has the text, the outputs of the team in their order, the usage and who answered', () => {
    const outputs = [
      { node_id: 'b', output: '2' },
      { node_id: 'a', output: '1' },
    ]
    expect(taskEnd(root(), called(team({ outputs })), usage).data).toEqual({
      final_output: '42',
      outputs,
      usage,
      provider: 'openai',
      model: 'm',
      simulated: false,
      failure: null,
    })
  })

  it('says when the model was simulated', () => {
    expect(taskEnd(root({ provider: 'simulated' }), [], usage).data).toMatchObject({ simulated: true })
    expect(taskEnd(root({ provider: null }), [], usage).data).toMatchObject({
      simulated: false,
      provider: null,
    })
  })

  it.each(['failed', 'cancelled'] as const)(
    'of a root that %s passes no earlier text on as an answer (D-34)',
    (status) => {
      expect(
        taskEnd(root({ status, failure: crash, text: 'I am still working.' }), called(team()), usage).data,
      ).toMatchObject({
        final_output: '',
        outputs: [{ node_id: 'a' }],
      })
    },
  )

  it('of a root whose text does not fit its schema has this text beside the empty answer', () => {
    const unfit = { class: 'output_invalid', message: 'It does not fit.' } as const
    expect(
      taskEnd(root({ status: 'failed', failure: unfit, text: '{"n":"one"}' }), [], usage).data,
    ).toMatchObject({
      final_output: '',
      unfit_output: '{"n":"one"}',
    })
    for (const of of [
      { failure: unfit, text: ' ' },
      { failure: crash, text: 'I am still working.' },
    ])
      expect(taskEnd(root({ status: 'failed', ...of }), [], usage).data).not.toHaveProperty('unfit_output')
  })

  it('of an incomplete team keeps the text, and names every node that failed', () => {
    const of = team({
      outcome: 'incomplete',
      message: '1 of 3 nodes completed',
      failures: [
        { node_id: 'b', failure: crash },
        { node_id: 'c', failure: { class: 'evidence_missing', message: 'no count' } },
      ],
    })
    expect(taskEnd(root(), called(of), usage).data).toMatchObject({
      final_output: '42',
      failure: { class: 'tool_crash', message: '1 of 3 nodes completed. b: it broke. c: no count' },
    })
  })
})

describe('the evidence of a final text', () => {
  const required = [
    { kind: 'numbers_from_dependencies' as const },
    { kind: 'quotes_from_dependencies' as const },
  ]
  const invented = 'It is 77: “seventy-seven exactly”.'
  const verdicts = (text: string, result: TeamRunResult, outputs: string[]): unknown => {
    const ended: EndedTeam[] = [
      {
        call_id: 'c1',
        workflow: 'SequentialWorkflow',
        result,
        material: () => ({ outputs, texts: ['Say it.'] }),
      },
    ]
    const { data } = taskEnd(root({ text }), ended, usage, { required, text: 'How much?', tools: [] })
    return (data as { evidence: { status: string }[] }).evidence.map(({ status }) => status)
  }

  it('that a team said is what the authors of the team were given, and never the text itself', () => {
    const said = team({ final_output: invented, outputs: [{ node_id: 'b', output: invented }] })
    expect(verdicts(invented, said, [])).toEqual(['failed', 'failed'])
    expect(verdicts(`\n${invented}`, said, [invented])).toEqual(['failed', 'failed'])
    expect(verdicts(invented, said, ['We counted 77, and “seventy-seven exactly” it was.'])).toEqual([
      'passed',
      'passed',
    ])
  })

  it('that the root wrote is what the team said', () => {
    const said = team({
      final_output: 'x',
      outputs: [{ node_id: 'b', output: 'We counted 77, and “seventy-seven exactly” it was.' }],
    })
    expect(verdicts(invented, said, [])).toEqual(['passed', 'passed'])
    expect(verdicts('It is 78.', said, [])).toEqual(['failed', 'failed'])
  })
})

describe('a task with several teams (D-60)', () => {
  const complete = (name: string) => team({ team_run_id: name, outputs: [{ node_id: name, output: name }] })
  const incomplete = (name: string) =>
    team({ ...complete(name), outcome: 'incomplete', message: `${name} is not complete` })
  const workflow = 'workflow:count'
  const end = (callsOfAnswers: string[][], ...ended: EndedTeam[][]) => {
    const { type, data } = taskEnd(root({ callsOfAnswers }), ended.flat(), usage)
    const { outputs, failure } = data as { outputs: { node_id: string }[]; failure: Failure | null }
    return [type, outputs.map((each) => each.node_id), failure?.message ?? null]
  }

  it.each([
    ['the incomplete one ended first', [called(incomplete('a')), called(complete('b'), 'c2')]],
    ['the incomplete one ended last', [called(complete('b'), 'c2'), called(incomplete('a'))]],
  ])('of one answer is complete only if all are: %s', (_, ended) => {
    expect(end([['c1', 'c2']], ...ended)).toEqual(['task_incomplete', ['a', 'b'], 'a is not complete'])
  })

  it('names every incomplete team of the answer', () => {
    expect(end([['c1', 'c2']], called(incomplete('b'), 'c2'), called(incomplete('a')))[2]).toBe(
      'a is not complete. b is not complete',
    )
  })

  it('is judged by the teams of the newest answer, whichever ended last', () => {
    expect(end([['c1'], ['c2']], called(complete('b'), 'c2'), called(incomplete('a')))).toEqual([
      'task_completed',
      ['b'],
      null,
    ])
    expect(end([['c1'], ['c2']], called(incomplete('b'), 'c2'), called(complete('a')))).toEqual([
      'task_incomplete',
      ['b'],
      'b is not complete',
    ])
  })

  it('a definition that was called as a tool neither hides an incomplete team nor replaces the outputs', () => {
    expect(
      end([['c1'], ['c2']], called(incomplete('a')), called(complete('(outputs)'), 'c2', workflow)),
    ).toEqual(['task_incomplete', ['a'], 'a is not complete'])
    expect(end([['c1', 'c2']], called(complete('(outputs)'), 'c2', workflow), called(complete('a')))).toEqual(
      ['task_completed', ['a'], null],
    )
  })

  it('a definition that failed as a tool leaves the task complete, because the root read the failure', () => {
    expect(end([['c1']], called(incomplete('(outputs)'), 'c1', workflow))).toEqual([
      'task_completed',
      [],
      null,
    ])
  })

  it('a call that was refused started no team, and supersedes none', () => {
    expect(end([['c1'], ['c2']], called(incomplete('a')))).toEqual([
      'task_incomplete',
      ['a'],
      'a is not complete',
    ])
  })

  it('a task that is a workflow is judged by its own team, a definition too', () => {
    const own: EndedTeam = {
      call_id: null,
      workflow,
      result: incomplete('(outputs)'),
      material: () => ({ outputs: [], texts: [] }),
    }
    expect(end([], [own])[0]).toBe('task_incomplete')
  })
})
