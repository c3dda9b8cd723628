import type { JsonObject } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import {
  agent,
  content,
  failureOf,
  final,
  inputOf,
  libraryOf,
  map,
  planned,
  run,
  template,
} from '../../test/definitions.ts'
import { skillsOf } from '../index.ts'
import { type Answers, scripted, statusOf, structure } from '@beaver/testing'

describe('a map', () => {
  const shuffled = (seed: number) => {
    let state = seed
    return (running: number): number =>
      (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % Math.max(1, running)
  }
  const echo: Answers = (_, instruction) => `did ${instruction}`
  const agents = content([
    map(
      'each',
      '{{ inputs.list }}',
      { kind: 'agent', instruction: '{{ index }}:{{ item }}' },
      { maxItems: 100 },
    ),
  ])

  it.each([0, 1, 2, 100])('over %i items keeps their order, whichever ends first', (count) => {
    const list = Array.from({ length: count }, (_, index) => `item ${index}`)
    for (const seed of [1, 2, 3]) {
      const played = run(agents, { args: { list }, answers: echo, order: shuffled(seed) })
      expect(JSON.parse(final(played))).toEqual(list.map((item, index) => `did ${index}:${item}`))
      expect(played.team.outcome).toBe('complete')
      expect(played.ran).toHaveLength(count)
    }
  })

  it('grows a node an item, which are seen in the graph', () => {
    const played = run(agents, { args: { list: ['a', 'b'] }, answers: echo })
    expect(structure(played)).toEqual([
      ['each[]', []],
      ['each', ['each[]', 'each[0]', 'each[1]']],
      ['(outputs)', ['each']],
      ['each[0]', ['each[]']],
      ['each[1]', ['each[]']],
    ])
    expect(played.outputs.get('each[]')).toBe('2')
  })

  it('has a bound on its items', () => {
    const list = Array.from({ length: 101 }, () => 1)
    expect(failureOf(run(agents, { args: { list } }), 'each[]')).toBe(
      '"each[]" has 101 items; its limit maxItems is 100.',
    )
    const two = content([map('t', '{{ inputs.list }}', { kind: 'template', template: 'x' }, { maxItems: 2 })])
    expect(failureOf(run(two, { args: { list: [1, 2, 3] } }), 't')).toBe(
      '"t" has 3 items; its limit maxItems is 2.',
    )
  })

  it('over what is no list fails', () => {
    expect(failureOf(run(agents), 'each[]')).toBe('{{ inputs.list }} gives null, but must give a list.')
  })

  it('runs tools, with items of any type', () => {
    const json = content([
      map('each', '{{ inputs.list }}', {
        kind: 'tool',
        tool: 'fetch',
        arguments: { url: '{{ item.url }}', all: '{{ item }}', n: '{{ index + inputs.n }}' },
      }),
    ])
    const played = run(json, {
      args: { list: [{ url: 'u0' }, { url: 'u1' }], n: 10 },
      answers: scripted({ 'each[0]': '{"ok":true}', 'each[1]': '1.10' }),
    })
    expect(inputOf(played, 'each[1]')).toEqual({ arguments: { url: 'u1', all: { url: 'u1' }, n: 11 } })
    // What is a structure is one; a number that was written as a text stays as it was written.
    expect(final(played)).toBe('[{"ok":true},"1.10"]')
  })

  it('makes texts and values without nodes of their own', () => {
    const json = content([
      map('each', '{{ inputs.list }}', { kind: 'template', template: '{{ item * 2 }}' }),
      map('texts', '{{ nodes.each.json }}', { kind: 'template', template: '{{ index }}={{ item }}' }),
    ])
    const played = run(json, { args: { list: [1, 2.5] } })
    expect(final(played)).toBe('["0=2","1=5"]')
    expect(played.outputs.get('each')).toBe('[2,5]')
  })

  it('with an item that fails is blocked, and the items that did not fail are kept', () => {
    const played = run(agents, {
      args: { list: ['a', 'b', 'c'] },
      answers: (id) => (id === 'each[1]' ? null : `${id} says`),
    })
    expect(['each[0]', 'each[1]', 'each[2]', 'each', '(outputs)'].map((id) => statusOf(played, id))).toEqual([
      'completed',
      'failed',
      'completed',
      'blocked',
      'blocked',
    ])
    expect(played.team.outcome).toBe('incomplete')
  })

  it('whose condition is false is skipped, items and all', () => {
    const played = run(
      content([
        map(
          'each',
          '{{ inputs.list }}',
          { kind: 'agent', instruction: 'x' },
          { when: '{{ inputs.n == 1 }}' },
        ),
      ]),
      {
        args: { list: ['a'], n: 0 },
      },
    )
    expect(['each[]', 'each'].map((id) => statusOf(played, id))).toEqual(['skipped', 'skipped'])
    expect(played.ran).toEqual([])
  })

  it('of workflows runs the whole workflow for each item, and reads their outputs as what they are declared', () => {
    const one = content(
      [
        agent('work', '{{ inputs.text }}', { when: '{{ inputs.n > 0 }}' }),
        template('t', '{{ nodes.work.skipped ? "none" : nodes.work.output }}'),
        agent('always', 'x'),
      ],
      {
        interfaceInputs: {
          text: { dataFlowType: 'STRING', required: true },
          n: { dataFlowType: 'INTEGER', config: { default: 1 } },
        },
        interfaceOutputs: {
          said: { dataFlowType: 'STRING', value: '{{ nodes.work.output }}' },
          n: { dataFlowType: 'INTEGER', value: '{{ inputs.n }}' },
        },
        edges: [['always', 't']],
      },
    )
    const json = content([
      map('each', '{{ inputs.list }}', {
        kind: 'workflow',
        workflow: 'one',
        inputs: { text: '{{ item.t }}', n: '{{ has(item.n) ? item.n : null }}' },
      }),
    ])
    const played = run(json, {
      args: { list: [{ t: 'a' }, { t: 'b', n: 0 }] },
      answers: echo,
      more: { one },
      order: shuffled(5),
    })
    expect(JSON.parse(final(played))).toEqual([
      { said: 'did a', n: 1 },
      { said: null, n: 0 },
    ])
    expect(['each[1]/work', 'each[1]'].map((id) => statusOf(played, id))).toEqual(['skipped', 'completed'])
    expect(played.ran).toContain('each[0]/always')
  })

  it('of workflows with one output lists the bare values', () => {
    const one = (dataFlowType: string): JsonObject =>
      content([agent('work', 'x')], { interfaceInputs: {}, interfaceOutputs: { work: { dataFlowType } } })
    const json = content([map('each', '{{ inputs.list }}', { kind: 'workflow', workflow: 'one' })])
    const given = (dataFlowType: string, said: string): string =>
      final(run(json, { args: { list: [1] }, answers: () => said, more: { one: one(dataFlowType) } }))
    expect(given('STRING', '1.10')).toBe('["1.10"]')
    expect(given('STRING', '{"a":1}')).toBe('["{\\"a\\":1}"]')
    expect(given('FLOAT', '1.10')).toBe('[1.1]')
    expect(given('OBJECT', '```json\n{"a":1}\n```')).toBe('[{"a":1}]')
    expect(given('WILDCARD', '1.10')).toBe('["1.10"]')
  })

  it('gives an agent its item as what it may quote, in the map itself and in a workflow that the map calls', () => {
    const quoting = {
      instruction: 'Find the promise in {{ item }}.',
      requiredEvidence: [{ kind: 'quotes_from_dependencies' }],
    }
    const list = ['We open at nine every day.', 'We close for the whole winter.', 'We never close in summer.']
    const said = [
      'It says "We open at nine every day."',
      'It says "We never close in summer."',
      'It says "We open whenever we like."',
    ]
    const outcomes = (
      json: JsonObject,
      node: (at: number) => string,
      more: Readonly<Record<string, JsonObject>> = {},
    ): string[] => {
      const played = run(json, {
        args: { list },
        answers: scripted(Object.fromEntries(said.map((text, at) => [node(at), text]))),
        more,
      })
      return said.map((_, at) =>
        statusOf(played, node(at)) === 'completed' ? 'completed' : failureOf(played, node(at)),
      )
    }
    const wanted = [
      'completed',
      'A quotation of the output stands in no output that the node received: "We never close in summer.".',
      'A quotation of the output stands in no output that the node received: "We open whenever we like.".',
    ]
    expect(
      outcomes(
        content([map('each', '{{ inputs.list }}', { kind: 'agent', ...quoting })]),
        (at) => `each[${at}]`,
      ),
    ).toEqual(wanted)
    const one = content([
      agent('find', 'Find the promise in {{ inputs.text }}.', { requiredEvidence: quoting.requiredEvidence }),
    ])
    const calls = content([
      map('each', '{{ inputs.list }}', { kind: 'workflow', workflow: 'one', inputs: { text: '{{ item }}' } }),
    ])
    expect(outcomes(calls, (at) => `each[${at}]/find`, { one })).toEqual(wanted)
  })

  it('cannot make a graph larger than a team may be (D-39)', () => {
    const wide = content(Array.from({ length: 100 }, (_, index) => agent(`a${index}`, 'x')))
    const played = run(content([map('each', '{{ inputs.list }}', { kind: 'workflow', workflow: 'wide' })]), {
      args: { list: [1, 2, 3, 4, 5, 6] },
      more: { wide },
    })
    expect(failureOf(played, 'each[]')).toBe(
      'With 6 items of "each" the graph has 600 agents and tools; the limit agentsMax is 512.',
    )
    const many = content(Array.from({ length: 300 }, (_, index) => template(`a${index}`, 'x')))
    const large = run(content([map('each', '{{ inputs.list }}', { kind: 'workflow', workflow: 'many' })]), {
      args: { list: Array.from({ length: 30 }, () => 1) },
      more: { many },
    })
    expect(failureOf(large, 'each[]')).toMatch(
      /the graph has 9063 nodes and nearly as many edges; the limit edgesMax is 8192/,
    )
  })

  it('tells before it runs which skills its agents will need', () => {
    const pinned = (skill: string): JsonObject => ({ instruction: 'x', useSkill: skill })
    const sub = content([
      { id: 'in sub', kind: 'agent', ...pinned('s2') },
      map('m', '{{ inputs.list }}', { kind: 'agent', ...pinned('s3') }),
    ])
    const w = content([
      agent('now', 'x', { useSkill: 's0' }),
      map('a', '{{ inputs.list }}', { kind: 'agent', ...pinned('s1') }),
      map('b', '{{ inputs.list }}', { kind: 'workflow', workflow: 'sub' }),
    ])
    expect(
      skillsOf(planned(libraryOf({ w, sub }), 'w', {})).map(({ agent: name, skill }) => [name, skill]),
    ).toEqual([
      ['now', 's0'],
      ['a', 's1'],
      ['m', 's3'],
      ['in sub', 's2'],
    ])
  })
})
