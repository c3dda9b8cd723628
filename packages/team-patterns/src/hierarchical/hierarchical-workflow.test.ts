import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf, play, refuses, scripted, structure } from '@beaver/testing'
import { hierarchicalWorkflow } from './hierarchical-workflow.ts'

const args = {
  task: 'Find the cause',
  manager: { name: 'boss', instruction: 'Lead.' },
  workers: agents('reader', 'tester'),
  rounds_max: 2,
}
const graph = graphOf(hierarchicalWorkflow.plan(args))
const final = (text: string): string => JSON.stringify({ final: text })
const round = (...delegations: object[]): string => JSON.stringify({ delegations })
const run = (answers: Record<string, string | null>) => play(graph, scripted(answers))

const first = round(
  { worker: 'reader', instruction: 'Read the log.' },
  { worker: 'tester', instruction: 'Try it.', depends_on: ['reader'] },
)

describe('HierarchicalWorkflow', () => {
  it('begins with the manager alone, who is told of the workers', () => {
    expect(dependencies(graph)).toEqual([['boss #1', []]])
    expect(graph.nodes[0]).toMatchObject({
      instruction: expect.stringContaining('- reader: Do the work of reader.') as string,
    })
  })

  it('hands back what the manager answers at once', () => {
    const played = run({ 'boss #1': `I know it.\n\`\`\`json\n${final('A leak.')}\n\`\`\`` })
    expect([played.ran, played.result.final_output, played.team.outcome]).toEqual([
      ['boss #1'],
      'A leak.',
      'complete',
    ])
    expect(played.result.outputs).toEqual([{ node_id: '#answer', output: 'A leak.' }])
  })

  it('runs a round as dataflow, then asks the manager again, who gets the outputs', () => {
    const played = run({ 'boss #1': first, 'boss #2': final('The pump.') })
    expect(structure(played)).toEqual([
      ['boss #1', []],
      ['reader #1.1', []],
      ['tester #1.2', ['reader #1.1']],
      ['boss #2', ['reader #1.1', 'tester #1.2']],
      ['#answer', ['boss #2']],
    ])
    expect(played.told.get('tester #1.2')).toEqual({
      instruction: 'Do the work of tester.\n\nYour part of the work:\nTry it.',
      from: ['reader #1.1'],
    })
    expect([played.result.final_output, played.team.outcome]).toEqual(['The pump.', 'complete'])
  })

  it('lets a later round use outputs of an earlier one, and one worker do several parts', () => {
    const second = round(
      { id: 'a', worker: 'reader', instruction: 'Again.', depends_on: ['tester #1.2'] },
      { id: 'b', worker: 'reader', instruction: 'And again.', depends_on: ['a'] },
    )
    const played = run({ 'boss #1': first, 'boss #2': second, 'boss #3': final('ok') })
    expect(structure(played).slice(4)).toEqual([
      ['reader #2.1', ['tester #1.2']],
      ['reader #2.2', ['reader #2.1']],
      ['boss #3', ['reader #1.1', 'tester #1.2', 'reader #2.1', 'reader #2.2']],
      ['#answer', ['boss #3']],
    ])
  })

  it('tells the manager what failed by id and class, never by its text, and is no silent success', () => {
    const played = run({ 'boss #1': first, 'reader #1.1': null, 'boss #2': final('Unknown.') })
    const told = played.told.get('boss #2')
    expect(told?.instruction).toContain('"reader #1.1", FAILED (tool_crash): Read the log.')
    expect(told?.instruction).toContain('"tester #1.2", BLOCKED: Try it.')
    expect(told?.instruction).not.toContain('secret')
    expect([told?.from, played.result.final_output, played.team.outcome]).toEqual([
      [],
      'Unknown.',
      'incomplete',
    ])
  })

  it('keeps the outputs of the workers when the manager fails', () => {
    const played = run({ 'boss #1': first, 'boss #2': null })
    expect(played.result.outputs.map((each) => each.node_id)).toEqual(['reader #1.1', 'tester #1.2'])
  })

  it.each([
    [
      'an unknown worker',
      round({ worker: 'raeder', instruction: 'x' }),
      'there is no worker "raeder". Did you mean "reader"?',
    ],
    ['no delegations', round(), '"delegations": is empty'],
    ['no instruction', round({ worker: 'reader' }), '"delegations.0.instruction"'],
    [
      'a blank instruction',
      round({ worker: 'reader', instruction: ' ' }),
      '"delegations.0.instruction": is blank',
    ],
    [
      'a dependency on nothing',
      round({ worker: 'reader', instruction: 'x', depends_on: ['nobody'] }),
      'depends_on names "nobody"',
    ],
    [
      'a cycle',
      round(
        { worker: 'reader', instruction: 'x', depends_on: ['tester'] },
        { worker: 'tester', instruction: 'y', depends_on: ['reader'] },
      ),
      '"reader" -> "tester" -> "reader"',
    ],
    [
      'itself as a dependency',
      round({ worker: 'reader', instruction: 'x', depends_on: ['reader'] }),
      '"reader" -> "reader"',
    ],
    [
      'an id twice',
      round({ id: 'a', worker: 'reader', instruction: 'x' }, { id: 'a', worker: 'tester', instruction: 'y' }),
      'the id "a" is taken',
    ],
    [
      'a worker who has several parts, as a dependency',
      round(
        { worker: 'reader', instruction: 'x' },
        { worker: 'reader', instruction: 'y' },
        { worker: 'tester', instruction: 'z', depends_on: ['reader'] },
      ),
      'give each an "id"',
    ],
    [
      'too many delegations',
      round(...Array.from({ length: 17 }, () => ({ worker: 'reader', instruction: 'x' }))),
      'delegations_max is 16',
    ],
    ['an empty result', final(' '), '"final": is blank'],
    ['prose', 'I would ask the reader.', 'The answer holds no JSON object.'],
  ])('gives the manager one more turn for %s, then fails it', (_, wrong, part) => {
    const corrected = run({ 'boss #1': wrong, 'boss #1 again': final('ok') })
    expect(corrected.told.get('boss #1 again')?.instruction).toContain(part)
    expect(corrected.told.get('boss #1 again')?.from).toEqual(['boss #1'])
    expect([corrected.diagnostics, corrected.result.final_output, corrected.team.outcome]).toEqual([
      ['malformed_answer'],
      'ok',
      'complete',
    ])
    const failed = run({ '*': wrong })
    expect([failed.ran, failed.team.nodes.get('boss #1 again')?.failure?.class]).toEqual([
      ['boss #1', 'boss #1 again'],
      'malformed_output',
    ])
  })

  it.each([
    ['a result beside no delegations', '{"delegations": [], "final": "The pump."}'],
    ['a result beside a reason', '{"reason": "It is clear.", "final": "The pump."}'],
    ['a result by another name', '{"delegations": null, "final_answer": "The pump."}'],
  ])('takes %s as the result', (_, answer) => {
    const played = run({ 'boss #1': answer })
    expect([played.result.final_output, played.team.outcome, played.diagnostics]).toEqual([
      'The pump.',
      'complete',
      [],
    ])
  })

  it('ignores further fields of a round, and knows the usual names', () => {
    const answer = JSON.stringify({
      analysis: 'Two parts.',
      delegations: [
        { id: 1, agent: 'reader', task: 'Read the log.', reason: 'It knows logs.' },
        { worker: 'tester', instruction: 'Try it.', dependencies: '1' },
      ],
      final: '',
    })
    const played = run({ 'boss #1': answer, 'boss #2': final('ok') })
    expect(structure(played).slice(1, 3)).toEqual([
      ['reader #1.1', []],
      ['tester #1.2', ['reader #1.1']],
    ])
    expect([played.result.final_output, played.diagnostics]).toEqual(['ok', []])
  })

  it('a round that has a result, too, goes on, and in the last round its result counts', () => {
    const both = JSON.stringify({
      delegations: [{ worker: 'reader', instruction: 'Read on.' }],
      final: 'So far: a leak.',
    })
    const played = run({ 'boss #1': both, 'boss #2': both, 'boss #3': both })
    expect(played.ran).toEqual(['boss #1', 'reader #1.1', 'boss #2', 'reader #2.1', 'boss #3'])
    expect([played.result.final_output, played.team.outcome]).toEqual(['So far: a leak.', 'complete'])
  })

  it('refuses a part that waits for one that ended without a result', () => {
    const second = round({ worker: 'tester', instruction: 'x', depends_on: ['reader #1.1'] })
    const played = run({
      'boss #1': first,
      'reader #1.1': null,
      'boss #2': second,
      'boss #2 again': final('ok'),
    })
    expect(played.told.get('boss #2 again')?.instruction).toContain(
      '"reader #1.1", which ended without a result',
    )
  })

  it('after rounds_max rounds takes a result only', () => {
    const played = run({ 'boss #1': first, 'boss #2': first, 'boss #3': first, 'boss #3 again': final('ok') })
    expect(played.told.get('boss #3')?.instruction).toContain('There are no rounds left')
    expect(played.told.get('boss #3 again')?.instruction).toContain('rounds_max is 2')
    expect(played.result.final_output).toBe('ok')
  })

  it('keeps within the limit of edges', () => {
    const small = graphOf(hierarchicalWorkflow.plan(args, { limits: { edgesMax: 2 } }))
    const played = play(small, scripted({ 'boss #1': first, 'boss #1 again': final('ok') }))
    expect(played.told.get('boss #1 again')?.instruction).toContain('3 edges; the limit edgesMax is 2')
  })

  it.each([
    [{ workers: [] }, 'invalid_arguments', 'workers', 'empty'],
    [{ manager: undefined }, 'invalid_arguments', 'manager', 'missing'],
    [{ manager: agents('reader')[0] }, 'duplicate_agent', 'manager.name', '"reader"'],
    [{ workers: agents('a>b') }, 'invalid_agent_name', 'workers.0.name', '"a>b"'],
    [{ rounds_max: 21 }, 'invalid_arguments', 'rounds_max', 'from 1 to 20'],
    [{ delegations_max: 50, rounds_max: 20 }, 'too_many_agents', 'rounds_max', '1042 agent runs'],
    [{ layers: 2 }, 'invalid_arguments', 'layers', '"layers"'],
    [
      { manager: { ...args.manager, output_schema: { type: 'object' } } },
      'invalid_arguments',
      'manager.output_schema',
      'a form of its own',
    ],
  ])('refuses %j', (change, code, path, part) => {
    refuses(hierarchicalWorkflow, { ...args, ...change }, { code, path, parts: [part] })
  })
})
