import type { LoopEnd, TeamResult } from '@beaver/agent'
import type { Failure } from '@beaver/core'
import { describe, expect, it, test } from 'vitest'
import { taskEnd } from './task-end.ts'

const usage = { input_tokens: 7, output_tokens: 3, calls: 2 }
const root = (over: Partial<LoopEnd> & { text?: string } = {}): LoopEnd => ({
  status: 'completed',
  facts: { outputText: over.text ?? '42', outputSeq: 5, tools: [] },
  failure: null,
  usage,
  provider: 'openai',
  model: 'm',
  ...over,
})
const team = (over: Partial<TeamResult> = {}): TeamResult => ({
  team_run_id: 'team1',
  outcome: 'complete',
  stopped: null,
  final_output: 'x',
  outputs: [{ node_id: 'a', output: 'x' }],
  message: null,
  failures: [],
  ...over,
})
const crash: Failure = { class: 'tool_crash', message: 'it broke' }

test.each<[string, LoopEnd, TeamResult | null, string, Failure['class'] | null]>([
  ['a root that completed', root(), null, 'task_completed', null],
  ['a root that completed with a complete team', root(), team(), 'task_completed', null],
  [
    'a root that completed over an incomplete team',
    root(),
    team({ outcome: 'incomplete', message: '1 of 2', failures: [{ node_id: 'b', failure: crash }] }),
    'task_incomplete',
    'tool_crash',
  ],
  ['a root that completed over a cancelled team', root(), team({ outcome: 'cancelled' }), 'task_incomplete', 'cancelled'],
  ['a root without a final answer', root({ text: '' }), null, 'task_failed', 'empty_output'],
  ['a root whose final answer is space', root({ text: ' \n ' }), null, 'task_failed', 'empty_output'],
  ['a root without a final answer over an incomplete team', root({ text: '' }), team({ outcome: 'incomplete' }), 'task_incomplete', 'cancelled'],
  ['a root that failed', root({ status: 'failed', failure: { class: 'rate_limited', message: 'x' } }), null, 'task_failed', 'rate_limited'],
  ['a root that failed over a complete team', root({ status: 'failed', failure: { class: 'refusal', message: 'x' } }), team(), 'task_failed', 'refusal'],
  ['a root that was cancelled', root({ status: 'cancelled', failure: { class: 'cancelled', message: 'x' } }), null, 'task_cancelled', 'cancelled'],
  [
    'a root that was cancelled with its team',
    root({ status: 'cancelled', failure: { class: 'cancelled', message: 'x' } }),
    team({ outcome: 'cancelled' }),
    'task_cancelled',
    'cancelled',
  ],
])('%s', (_, end, of, type, failureClass) => {
  const event = taskEnd(end, of, usage)
  expect([event.type, (event.data as { failure: Failure | null }).failure?.class ?? null]).toEqual([type, failureClass])
})

describe('the result', () => {
  it('has the text, the outputs of the team in their order, the usage and who answered', () => {
    const outputs = [
      { node_id: 'b', output: '2' },
      { node_id: 'a', output: '1' },
    ]
    expect(taskEnd(root(), team({ outputs }), usage).data).toEqual({
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
    expect(taskEnd(root({ provider: 'simulated' }), null, usage).data).toMatchObject({ simulated: true })
    expect(taskEnd(root({ provider: null }), null, usage).data).toMatchObject({ simulated: false, provider: null })
  })

  it.each(['failed', 'cancelled'] as const)('of a root that %s passes no earlier text on as an answer (D-34)', (status) => {
    expect(taskEnd(root({ status, failure: crash, text: 'I am still working.' }), team(), usage).data).toMatchObject({
      final_output: '',
      outputs: [{ node_id: 'a' }],
    })
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
    expect(taskEnd(root(), of, usage).data).toMatchObject({
      final_output: '42',
      failure: { class: 'tool_crash', message: '1 of 3 nodes completed. b: it broke. c: no count' },
    })
  })
})
