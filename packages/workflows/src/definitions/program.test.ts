import type { JsonObject } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import {
  agent,
  condition,
  content,
  failureOf,
  file,
  final,
  inputOf,
  libraryOf,
  output,
  planned,
  run,
  template,
  tool,
} from '../../test/definitions.ts'
import { type Played, scripted, statusOf, structure } from '@beaver/testing'

describe('the golden example (CT-13)', () => {
  it('runs its agent with the inputs in its instruction, the default filled in, and gives back the bare value (CT-15)', () => {
    const played = run(file('summarize_text'), {
      args: { text_to_summarize: '很长的文本' },
      answers: scripted({ summary_result: '一份摘要' }),
    })
    expect(played.told.get('summary_result')?.instruction).toBe('写一份中等的摘要：\n\n很长的文本')
    expect(final(played)).toBe('一份摘要')
    expect(played.team.outcome).toBe('complete')
  })
})

describe('agents and tools', () => {
  it('are given their templates filled in, from inputs and from the nodes they wait for', () => {
    const played = run(
      content([
        tool('look', 'search', {
          query: '{{ inputs.text }}',
          deep: { n: '{{ inputs.n }}', both: '{{ inputs.n }}/{{ inputs.n }}', list: ['{{ inputs.list }}'] },
        }),
        agent('write', 'Found {{ nodes.look.json.hits.size() }}: {{ nodes.look.json.hits[0].title }}'),
      ]),
      {
        args: { text: 'beavers', n: 7, list: [1, 'a'] },
        answers: scripted({ look: '{"hits":[{"title":"Dam"}]}', write: 'A report.' }),
      },
    )
    expect(inputOf(played, 'look')).toEqual({
      arguments: { query: 'beavers', deep: { n: 7, both: '7/7', list: [[1, 'a']] } },
    })
    expect(inputOf(played, 'write')).toEqual({
      instruction: ['Found 1: ', { value: 'Dam' }],
      dependency_outputs: [],
    })
    expect(final(played)).toBe('A report.')
  })

  it('keep what their file says of them', () => {
    const graph = planned(
      libraryOf({
        w: content(
          [
            agent('a', 'x', {
              useSkill: 's',
              skillQuery: 'q',
              allowedToolNames: ['t'],
              requiredEvidence: ['seen', { kind: 'output_length', min: 1 }],
              validationRules: ['short'],
              evidenceContract: 'cite',
              model: 'deep',
              modelSettings: { temperature: 0 },
              outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
              deadlineMs: 9,
            }),
            tool('b', 't', {}, { deadlineMs: 8 }),
          ],
          { deadlineMs: 1000 },
        ),
      }),
      'w',
      {},
    )
    expect(graph.deadline_ms).toBe(1000)
    expect(graph.nodes).toMatchObject([
      {
        kind: 'agent',
        use_skill: 's',
        skill_query: 'q',
        allowed_tool_names: ['t'],
        required_evidence: ['seen', { kind: 'output_length', min: 1 }],
        validation_rules: ['short'],
        evidence_contract: 'cite',
        model: 'deep',
        model_settings: { temperature: 0 },
        output_schema: { type: 'object', properties: { n: { type: 'number' } } },
        deadline_ms: 9,
        agent: { name: 'a', role: '', metadata: { workflow_tool: 'workflow:w' } },
      },
      { kind: 'tool', tool: 't', deadline_ms: 8 },
      { kind: 'code' },
    ])
  })

  it('never read what a value brings as a template', () => {
    const played = run(content([agent('a', '{{ inputs.text }}'), agent('b', '{{ nodes.a.output }}')]), {
      args: { text: '{{ inputs.n }}' },
      answers: scripted({ a: '{{ inputs.list }}' }),
    })
    expect(played.told.get('a')?.instruction).toBe('{{ inputs.n }}')
    expect(played.told.get('b')?.instruction).toBe('{{ inputs.list }}')
  })

  it('wait for what an edge leads from, and for what their templates read', () => {
    const played = run(
      content([agent('a', 'x'), agent('b', 'x'), agent('c', '{{ nodes.b.output }}')], {
        edges: [['a', 'c']],
      }),
    )
    expect(structure(played)).toEqual([
      ['a', []],
      ['b', []],
      ['c', ['a', 'b']],
      ['(outputs)', ['c']],
    ])
  })

  it('whose template meets the wrong values fail, say where, and block what waits for them', () => {
    const played = run(
      content([
        agent('a', 'x'),
        agent('b', '{{ nodes.a.json.title }}'),
        agent('c', '{{ nodes.b.output }}'),
        agent('d', 'x'),
      ]),
      {
        answers: scripted({ a: 'no JSON' }),
      },
    )
    expect(failureOf(played, 'b')).toBe(
      '{{ nodes.a.json.title }}: No such key: title; the output of "a" is not JSON.',
    )
    expect(['a', 'b', 'c', 'd', '(outputs)'].map((id) => statusOf(played, id))).toEqual([
      'completed',
      'failed',
      'blocked',
      'completed',
      'completed',
    ])
    expect(played.team.outcome).toBe('incomplete')
  })
})

describe('the JSON of an output', () => {
  it.each([
    ['{"a":1}', '1'],
    ['```json\n{"a":1}\n```', '1'],
    [' {"a":1}\n', '1'],
    ['Here: {"a":1}', 'none'],
    ['', 'none'],
  ])('%j', (said, wanted) => {
    const played = run(
      content([
        agent('a', 'x'),
        template('t', '{{ nodes.a.json == null ? "none" : string(nodes.a.json.a) }}'),
      ]),
      {
        answers: scripted({ a: said }),
      },
    )
    expect(final(played)).toBe(wanted)
  })
})

describe('a condition', () => {
  const branches = content(
    [
      agent('start', 'x'),
      condition('long', '{{ size(nodes.start.output) > 5 }}'),
      agent('shorten', 'x', { when: '{{ nodes.long.json }}' }),
      agent('after', 'y', { when: '{{ nodes.long.json }}' }),
      agent('extend', 'x', { when: '{{ !nodes.long.json }}' }),
      template('join', '[{{ nodes.shorten.output }}|{{ nodes.extend.output }}]'),
    ],
    { edges: [['shorten', 'after']] },
  )

  it('that is true lets one branch run and skips the other; what joins them runs', () => {
    const played = run(branches, { answers: scripted({ start: 'a long text' }) })
    expect(['long', 'shorten', 'after', 'extend', 'join'].map((id) => statusOf(played, id))).toEqual([
      'completed',
      'completed',
      'completed',
      'skipped',
      'completed',
    ])
    expect(played.outputs.get('long')).toBe('true')
    expect(final(played)).toBe('[shorten says|]')
    expect(played.team.outcome).toBe('complete')
  })

  it('that is false does the opposite, and skips all that waits only for what was skipped', () => {
    const played = run(branches, { answers: scripted({ start: 'abc' }) })
    expect(['long', 'shorten', 'after', 'extend', 'join'].map((id) => statusOf(played, id))).toEqual([
      'completed',
      'skipped',
      'skipped',
      'completed',
      'completed',
    ])
    expect(final(played)).toBe('[|extend says]')
    expect(played.events.find((event) => event.type === 'node_skipped')?.data).toMatchObject({
      node_id: 'shorten',
      reason: 'Its condition is false: {{ nodes.long.json }}',
    })
  })

  it('that does not give true or false fails', () => {
    const played = run(content([condition('c', '{{ inputs.text }}'), template('t', 'x')]), {
      args: { text: 'yes' },
    })
    expect(failureOf(played, 'c')).toBe('{{ inputs.text }} gives "yes", but must give true or false.')
    const gated = run(content([template('t', 'x', { when: '{{ inputs.text }}' })]))
    expect(failureOf(gated, 't')).toBe('{{ inputs.text }} gives null, but must give true or false.')
  })

  it('that was skipped skips what asks it, even what waits for others too', () => {
    const played = run(
      content(
        [
          condition('a', '{{ false }}'),
          condition('b', '{{ true }}', { when: '{{ nodes.a.json }}' }),
          agent('other', 'x'),
          template('c', '{{ nodes.other.output }}', { when: '{{ !nodes.b.json }}' }),
        ],
        output('{{ nodes.other.output }}'),
      ),
    )
    expect(['a', 'b', 'c'].map((id) => statusOf(played, id))).toEqual(['completed', 'skipped', 'skipped'])
    expect(played.events.filter((event) => event.type === 'node_skipped').at(-1)?.data).toMatchObject({
      node_id: 'c',
      reason: 'Its condition reads "b", which was skipped.',
    })
  })

  it('whether a node was skipped can be asked', () => {
    const played = run(
      content([
        agent('always', 'x'),
        template('a', 'x', { when: '{{ inputs.n == 1 }}' }),
        template('b', '{{ nodes.always.output }}, instead', { when: '{{ nodes.a.skipped }}' }),
      ]),
      { args: { n: 2 } },
    )
    expect(final(played)).toBe('always says, instead')
  })

  it('outputs whose nodes were all skipped are what their templates say of that, else null', () => {
    const skipped = [template('a', 'x', { when: '{{ false }}' })]
    expect(final(run(content(skipped)))).toBe('null')
    expect(
      final(run(content(skipped, output('{{ nodes.a.skipped ? "nothing to do" : nodes.a.output }}')))),
    ).toBe('nothing to do')
    expect(final(run(content(skipped, output('{{ nodes.a.json.title }}'))))).toBe('null')
  })
})

describe('a workflow in a workflow', () => {
  it('is inlined: its inputs are bound, its defaults filled in, its output is that of the node', () => {
    const played = run(file('review_page'), {
      args: { url: 'u', words_max: 3 },
      answers: scripted({ page: 'one two three four', 'summary/summary_result': 'short', review: 'fine' }),
      more: { summarize_text: file('summarize_text') },
    })
    expect(inputOf(played, 'page')).toEqual({ arguments: { url: 'u' } })
    expect(played.told.get('summary/summary_result')?.instruction).toBe(
      '写一份中等的摘要：\n\none two three four',
    )
    expect(played.told.get('review')?.instruction).toMatch(/\n\nshort$/)
    expect(final(played)).toBe('fine')
  })

  it('that is not wanted is skipped as a whole', () => {
    const played = run(file('review_page'), {
      args: { url: 'u' },
      answers: scripted({ page: 'one two', review: 'fine' }),
      more: { summarize_text: file('summarize_text') },
    })
    expect(
      ['summary/(inputs)', 'summary/summary_result', 'summary'].map((id) => statusOf(played, id)),
    ).toEqual(['skipped', 'skipped', 'skipped'])
    expect(played.told.get('review')?.instruction).toMatch(/\n\none two$/)
  })

  it('the example digest runs a workflow for each text', () => {
    const played = run(file('digest'), {
      args: { texts: ['一', '二'] },
      answers: (_, instruction) => instruction.slice(-1),
      more: { summarize_text: file('summarize_text') },
    })
    expect(played.told.get('summaries[1]/summary_result')?.instruction).toBe('写一份简短的摘要：\n\n二')
    expect(JSON.parse(final(played))).toEqual({ digest: '# Digest\n\n- 一\n- 二', count: 2 })
  })

  it('works four deep, each level with inputs and outputs of its own', () => {
    const level = (next: string | null): JsonObject =>
      content([
        next === null
          ? agent('t', 'deepest {{ inputs.text }}')
          : {
              id: 't',
              kind: 'workflow',
              workflow: next,
              inputs: { text: '{{ inputs.text }}{{ inputs.text }}' },
            },
      ])
    const played = run(level('w2'), {
      args: { text: 'a' },
      answers: (_, instruction) => instruction,
      more: { w2: level('w3'), w3: level('w4'), w4: level(null) },
    })
    expect(final(played)).toBe('deepest aaaaaaaa')
    expect(played.ran).toEqual(['t/t/t/t'])
  })

  it('does not see the nodes around it, nor they its', () => {
    const inner = content([template('a', 'inner a')])
    const played = run(
      content([
        template('a', 'outer a'),
        { id: 'b', kind: 'workflow', workflow: 'inner' },
        template('c', '{{ nodes.a.output }}, {{ nodes.b.output }}'),
      ]),
      { more: { inner } },
    )
    expect(final(played)).toBe('outer a, inner a')
  })

  it('that is given the wrong values fails, and says which', () => {
    const inner = content([template('a', 'x')], {
      interfaceInputs: { n: { dataFlowType: 'INTEGER', required: true } },
    })
    const outer = content([
      agent('q', 'x'),
      { id: 'b', kind: 'workflow', workflow: 'inner', inputs: { n: '{{ nodes.q.output }}' } },
    ])
    expect(failureOf(run(outer, { answers: scripted({ q: 'many' }), more: { inner } }), 'b/(inputs)')).toBe(
      'The input "n" is "many", but must be a whole number.',
    )
    expect(run(outer, { answers: scripted({ q: '12' }), more: { inner } }).outputs.get('b/(inputs)')).toBe(
      '{"n":12}',
    )
  })
})

describe('the outputs', () => {
  const say = (said: string, interfaceOutputs: JsonObject): Played =>
    run(content([agent('a', 'x')], { interfaceOutputs }), { answers: scripted({ a: said }) })
  const value = '{{ nodes.a.output }}'

  it('one is the bare value, a text as it is; several are an object (CT-15)', () => {
    expect(final(say('hello', { a: { dataFlowType: 'STRING' } }))).toBe('hello')
    expect(final(say('{"x": 1}', { a: { dataFlowType: 'STRING' } }))).toBe('{"x": 1}')
    expect(final(say('{"x": 1}', { a: { dataFlowType: 'OBJECT' } }))).toBe('{"x":1}')
    expect(
      JSON.parse(
        final(say('5', { s: { dataFlowType: 'STRING', value }, n: { dataFlowType: 'INTEGER', value } })),
      ),
    ).toEqual({ s: '5', n: 5 })
  })

  it.each<[string, string, string]>([
    ['INTEGER', '12', '12'],
    ['FLOAT', '1.5', '1.5'],
    ['BOOLEAN', 'true', 'true'],
    ['ARRAY', '[1, 2]', '[1,2]'],
    ['BINARY', 'YWI=', 'YWI='],
    ['CONVERTIBLE_ANY', 'x', 'x'],
  ])('%s from the text %j is %j', (dataFlowType, said, wanted) => {
    expect(final(say(said, { a: { dataFlowType } }))).toBe(wanted)
  })

  it('all of whose nodes were skipped are null beside the others', () => {
    const played = run(
      content([agent('b', 'x'), template('a', 'x', { when: '{{ false }}' })], {
        interfaceOutputs: {
          a: { dataFlowType: 'STRING', value: '{{ nodes.a.json.title }}' },
          b: { dataFlowType: 'STRING' },
        },
      }),
    )
    expect(JSON.parse(final(played))).toEqual({ a: null, b: 'b says' })
    const failing = run(content([agent('b', 'x')], output('{{ nodes.b.json.title }}')))
    expect(failureOf(failing, '(outputs)')).toContain('the output of "b" is not JSON')
  })

  it('that are not what they are declared fail', () => {
    const played = say('about five', { a: { dataFlowType: 'INTEGER' } })
    expect(failureOf(played, '(outputs)')).toBe('The output "a" is "about five", but must be a whole number.')
    expect(played.team.outcome).toBe('incomplete')
  })

  it('that are streams are collected as their text (D-16)', () => {
    expect(final(say('all of it', { a: { dataFlowType: 'STRING', isStream: true } }))).toBe('all of it')
    expect(final(say('about five', { a: { dataFlowType: 'INTEGER', isStream: true } }))).toBe('about five')
    expect(final(say('x', { a: { dataFlowType: 'WILDCARD', isStream: true, value: { v: value } } }))).toBe(
      '{"v":"x"}',
    )
  })

  it('may hold structures with templates in them', () => {
    expect(
      final(
        say('x', {
          a: { dataFlowType: 'OBJECT', value: { list: [value, 1], all: { said: `said ${value}` } } },
        }),
      ),
    ).toBe('{"all":{"said":"said x"},"list":["x",1]}')
  })
})
