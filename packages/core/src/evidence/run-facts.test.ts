import { describe, expect, it } from 'vitest'
import { evolveRun } from '../fold/evolve-run.ts'
import { type RunState, startRun } from '../fold/run-state.ts'
import { answer, plain, runStarted } from '../../test/log.ts'
import type { EvidenceRequirement } from './requirement.ts'
import { factsOf, filesToFind } from './run-facts.ts'

const start = runStarted('r1')
const answered = (...calls: { id: string; name: string; arguments: string }[]) => {
  const event = answer('r1', null, calls)
  return { ...event, data: { ...event.data, tool_calls: calls } } as typeof event
}
const called = (id: string, tool_name: string, content: string, success = true) =>
  plain(
    'tool_result_recorded',
    { call_id: id, tool_name, success, content, error: null, duration_ms: 1 },
    'r1',
  )
const events = [
  answered({ id: 'a', name: 'count', arguments: '{"path":"."}' }, { id: 'b', name: 'read', arguments: '{}' }),
  called('b', 'read', 'long text'),
  called('a', 'count', '12'),
  answered({ id: 'c', name: 'count', arguments: '{}' }),
  called('c', 'count', 'it broke', false),
]
const run: RunState = events.reduce(
  (state, event, i) => evolveRun(state, event, { taskseq: i + 2 }),
  startRun(start.data as never),
)
const kept = (...requirements: EvidenceRequirement[]) =>
  factsOf(run, requirements).tools.map(
    (fact) =>
      `${fact.tool}${fact.arguments === undefined ? '' : ` ${fact.arguments}`}${fact.result === undefined ? '' : ` = ${fact.result}`}`,
  )

describe('the facts of a run', () => {
  it('contain each call with its arguments, its result, its position and the position of the answer that asked for it', () => {
    expect(run.facts).toEqual([
      { taskseq: 3, tool: 'read', success: true, askedSeq: 2, arguments: '{}', result: 'long text' },
      { taskseq: 4, tool: 'count', success: true, askedSeq: 2, arguments: '{"path":"."}', result: '12' },
      { taskseq: 6, tool: 'count', success: false, askedSeq: 5, arguments: '{}', result: 'it broke' },
    ])
  })

  it('are complete if no requirements are given', () => expect(factsOf(run).tools).toBe(run.facts))

  it('contain no arguments and no results if no requirement reads them', () => {
    expect(kept()).toEqual(['read', 'count', 'count'])
    expect(
      kept(
        'two sources',
        { kind: 'tool_succeeded', tool: 'count' },
        { kind: 'output_contains', texts: ['x'] },
      ),
    ).toEqual(['read', 'count', 'count'])
  })

  it('contain what a requirement reads, for the tools that it names and the calls that count', () => {
    expect(kept({ kind: 'tool_succeeded', tool: 'count', arguments_match: {} })).toEqual([
      'read',
      'count {"path":"."}',
      'count {}',
    ])
    expect(kept({ kind: 'numbers_from_tools', tools: ['count'] })).toEqual(['read', 'count = 12', 'count'])
    expect(kept({ kind: 'output_cites', from_tool: 'read' })).toEqual([
      'read {} = long text',
      'count',
      'count',
    ])
    expect(kept({ kind: 'output_cites', sources: ['x'] })).toEqual(['read', 'count', 'count'])
  })

  it('contain the files that were looked up', () => {
    const found = [{ path: 'a', found: 'file', bytes: 1 }] as const
    const looked = evolveRun(run, plain('workspace_files_checked', { files: [...found] }, 'r1'), {
      taskseq: 9,
    })
    expect([factsOf(run).files, factsOf(looked, []).files]).toEqual([undefined, { taskseq: 9, found }])
  })
})

it('looks up each file once', () => {
  expect(
    filesToFind([
      'x',
      { kind: 'files_exist', paths: ['a', 'b'] },
      { kind: 'output_length' },
      { kind: 'files_exist', paths: ['b', 'c'] },
    ]),
  ).toEqual(['a', 'b', 'c'])
})
