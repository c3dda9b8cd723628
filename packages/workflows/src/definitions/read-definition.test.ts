import { readFileSync } from 'node:fs'
import type { JsonObject, JsonValue } from '@beaver/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accepted, agent, content, file, template } from '../../test/definitions.ts'
import { readDefinition } from '../index.ts'
import { dataTypes } from './data-types.ts'
import { nodeShapes } from './definition-file.ts'
import { definitionCodes } from './read-definition.ts'

/** `code path`, of every diagnostic. */
const found = (json: unknown): string[] =>
  readDefinition('w', json).diagnostics.map(({ code, path }) => `${code} ${path}`)
const seen = new Set<string>()

function refuses(json: unknown, ...wanted: { code: string; path: string; says: string[] }[]): void {
  const { definition, diagnostics } = readDefinition('w', json)
  expect(diagnostics.map(({ code, path }) => ({ code, path }))).toEqual(
    wanted.map(({ code, path }) => ({ code, path })),
  )
  for (const [index, { code, says }] of wanted.entries()) {
    seen.add(code)
    for (const part of says) expect(diagnostics[index]?.message).toContain(part)
    expect(diagnostics[index]).toMatchObject({ workflow: 'w', severity: 'error' })
  }
  expect(definition).toBeNull()
}

describe('a definition file', () => {
  it.each(['summarize_text', 'digest', 'review_page'])(
    '%s of the examples is sound, without a diagnostic',
    (id) => {
      expect(readDefinition(id, file(id))).toMatchObject({ definition: { id }, diagnostics: [] })
    },
  )

  it('may hold what editors add to its interface, and where its nodes are drawn', () => {
    const input = {
      dataFlowType: 'STRING',
      displayName: 'T',
      config: { min: 1, multiline: true },
      acceptTypes: ['x'],
    }
    const json = content([template('t', 'x', { position: { x: 1, y: 2 }, description: 'note' })], {
      interfaceInputs: { text: input },
      name: 'W',
      version: 3,
      metadata: { author: 'me' },
    })
    expect(found(json)).toEqual([])
  })

  it('is not shared with the definition', () => {
    const json = content([{ id: 't', kind: 'tool', tool: 'x', arguments: { list: [1] } }], {
      interfaceInputs: { i: { dataFlowType: 'STRING', accepts: ['x'] } },
    })
    const before = structuredClone(json)
    const definition = accepted('w', json)
    expect(json).toEqual(before)
    const own = json as object as {
      nodes: { arguments: { list: number[] } }[]
      interfaceInputs: { i: { accepts: string[] } }
    }
    own.nodes[0]?.arguments.list.push(2)
    own.interfaceInputs.i.accepts.push('y')
    expect(definition).toMatchObject({
      nodes: [{ arguments: { list: [1] } }],
      interfaceInputs: { i: { accepts: ['x'] } },
    })
  })

  it('without a description is offered, with a warning (CT-16)', () => {
    const { definition, diagnostics } = readDefinition(
      'w',
      content([template('t', 'x')], { description: '' }),
    )
    expect(definition).not.toBeNull()
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'no_description', path: 'description' }])
    seen.add('no_description')
  })

  it.each([[null], [5], ['x'], [[]], [new Map()], [{ nodes: [() => 1] }]])(
    'that is %j is refused',
    (json) => {
      refuses(json, { code: 'invalid_definition', path: '', says: ['one JSON object'] })
    },
  )

  it('says all that is wrong with its shape, each with its path', () => {
    refuses(
      {
        description: 5,
        interfaceInputs: { a: {} },
        interfaceOutputs: {},
        node: [],
        nodes: [agent('a', ''), { id: 'b', kind: 'tool', tol: 'x' }, 7],
        edges: [['a']],
      },
      {
        code: 'invalid_definition',
        path: 'description',
        says: ['"description" is 5, but must be of type string'],
      },
      { code: 'invalid_definition', path: 'interfaceInputs.a.dataFlowType', says: ['is missing'] },
      { code: 'invalid_definition', path: 'edges.0', says: ['"edges.0"'] },
      {
        code: 'invalid_definition',
        path: 'node',
        says: ['The field "node" is not known', 'Did you mean "nodes"?'],
      },
      { code: 'invalid_definition', path: 'nodes.0.instruction', says: ['is blank'] },
      { code: 'invalid_definition', path: 'nodes.1.tool', says: ['is missing'] },
      { code: 'invalid_definition', path: 'nodes.1.tol', says: ['Did you mean "tool"?'] },
      { code: 'invalid_definition', path: 'nodes.2', says: ['nodes.2 is 7'] },
    )
  })

  it('has nodes', () => {
    refuses(content([], { interfaceOutputs: {} }), {
      code: 'invalid_definition',
      path: 'nodes',
      says: ['"nodes"'],
    })
    refuses(
      { description: 'x', interfaceOutputs: {} },
      { code: 'invalid_definition', path: 'nodes', says: ['is missing'] },
    )
  })

  it('has only nodes of kinds that exist', () => {
    refuses(
      content([
        { id: 'a', kind: 'agents', instruction: 'x' },
        { id: 'b', kind: 'map', items: '{{ inputs.list }}', body: { kind: 'map' } },
        { id: 'c', kind: '__proto__' },
        { id: 'd' },
      ]),
      {
        code: 'unknown_kind',
        path: 'nodes.0.kind',
        says: ['The kind of "a" is "agents"', 'Did you mean "agent"?'],
      },
      {
        code: 'unknown_kind',
        path: 'nodes.1.body.kind',
        says: ['"map"', '"agent", "tool", "template", "workflow"'],
      },
      { code: 'unknown_kind', path: 'nodes.2.kind', says: ['"__proto__"'] },
      { code: 'unknown_kind', path: 'nodes.3.kind', says: ['The kind of "d" is nothing'] },
    )
  })

  it('gives each node an id of its own that can stand in a graph', () => {
    refuses(
      content(
        [
          template('a[0]', 'x'),
          template('a/b', 'x'),
          template('(outputs)', 'x'),
          template('a', 'x'),
          template('a', 'y'),
        ],
        {
          interfaceOutputs: { a: { dataFlowType: 'STRING' } },
        },
      ),
      { code: 'invalid_node_id', path: 'nodes.0.id', says: ['"a[0]" holds [ (U+005B)'] },
      { code: 'invalid_node_id', path: 'nodes.1.id', says: ['"a/b" holds /'] },
      { code: 'invalid_node_id', path: 'nodes.2.id', says: ['"(outputs)" holds ('] },
      { code: 'duplicate_node', path: 'nodes.4.id', says: ['"a" is taken by nodes.3'] },
    )
  })

  it('names only nodes and inputs that exist, in every place', () => {
    refuses(
      content(
        [
          agent('one', '{{ nodes.onee.output }} {{ inputs.txt }}', { when: '{{ nodes.b.json }}' }),
          { id: 'two', kind: 'tool', tool: 'x', arguments: { deep: [{ v: '{{ nodes.c.output }}' }] } },
          { id: 'three', kind: 'condition', if: '{{ nodes.d.json }}' },
          { id: 'four', kind: 'map', items: '{{ nodes.e.json }}', body: agentBody('{{ nodes.f.output }}') },
          { id: 'five', kind: 'workflow', workflow: 'x', inputs: { text: '{{ nodes.g.output }}' } },
          template('last', { a: '{{ nodes.h.output }}' }),
        ],
        {
          edges: [['one', 'Two']],
          interfaceOutputs: { r: { dataFlowType: 'STRING', value: '{{ nodes.lost.output }}' } },
        },
      ),
      { code: 'unknown_node', path: 'nodes.0.when', says: ['In "one"', '"b"'] },
      {
        code: 'unknown_node',
        path: 'nodes.0.instruction',
        says: ['reads the node "onee"', 'Did you mean "one"?'],
      },
      {
        code: 'unknown_input',
        path: 'nodes.0.instruction',
        says: ['reads the input "txt"', 'Did you mean "text"?'],
      },
      { code: 'unknown_node', path: 'nodes.1.arguments', says: ['"c"'] },
      { code: 'unknown_node', path: 'nodes.2.if', says: ['"d"'] },
      { code: 'unknown_node', path: 'nodes.3.items', says: ['"e"'] },
      { code: 'unknown_node', path: 'nodes.3.body.instruction', says: ['"f"'] },
      { code: 'unknown_node', path: 'nodes.4.inputs.text', says: ['"g"'] },
      { code: 'unknown_node', path: 'nodes.5.template', says: ['"h"'] },
      { code: 'unknown_node', path: 'edges.0.1', says: ['"one" -> "Two"', 'Did you mean "two"?'] },
      {
        code: 'unknown_node',
        path: 'interfaceOutputs.r.value',
        says: ['the output "r"', '"lost"', 'Did you mean "last"?'],
      },
    )
  })

  it('has only expressions that can be used', () => {
    refuses(
      content([
        agent('a', 'x {{ 1 + }}'),
        template('b', '{{ item }}'),
        template('c', 'open {{ inputs.text'),
        template('d', 'x', { when: 'inputs.text' }),
        template('e', 'x', { when: '{{ inputs.list.size() }}' }),
        { id: 'f', kind: 'map', items: '{{ 1 + 2 }}', body: { kind: 'template', template: '{{ items }}' } },
      ]),
      { code: 'invalid_expression', path: 'nodes.0.instruction', says: ['In "a": {{ 1 + }}: Unexpected'] },
      { code: 'invalid_expression', path: 'nodes.1.template', says: ['"item" is not known'] },
      { code: 'invalid_expression', path: 'nodes.2.template', says: ['no closing "}}"'] },
      { code: 'invalid_expression', path: 'nodes.3.when', says: ['"inputs.text" is not one expression'] },
      {
        code: 'invalid_expression',
        path: 'nodes.4.when',
        says: ['gives "int", but must give true or false'],
      },
      { code: 'invalid_expression', path: 'nodes.5.items', says: ['gives "int", but must give a list'] },
      { code: 'invalid_expression', path: 'nodes.5.body.template', says: ['"items" is not known'] },
    )
  })

  it('has only patterns that RE2 can match, wherever it writes one out', () => {
    const text = (pattern: string): string => `inputs.text.matches(${pattern})`
    refuses(
      content([
        agent('a', `{{ ${text('"("')} }}`),
        template('b', 'x', { when: `{{ ${text("'a(?=b)'")} }}` }),
        {
          id: 'c',
          kind: 'map',
          items: `{{ inputs.list.filter(x, x.matches("*")) }}`,
          body: { kind: 'template', template: `{{ item.matches("[") }}` },
        },
      ]),
      {
        code: 'invalid_expression',
        path: 'nodes.0.instruction',
        says: ['In "a": {{ inputs.text.matches("(") }}: matches: "(" is not a pattern of RE2: missing'],
      },
      {
        code: 'invalid_expression',
        path: 'nodes.1.when',
        says: ['In "b"', '"a(?=b)" is not a pattern of RE2: invalid or unsupported Perl syntax'],
      },
      { code: 'invalid_expression', path: 'nodes.2.items', says: ['In "c"', '"*" is not a pattern of RE2'] },
      {
        code: 'invalid_expression',
        path: 'nodes.2.body.template',
        says: ['In "c"', '"[" is not a pattern of RE2'],
      },
    )
    const rule = { kind: 'output_matches', pattern: '(?<=a)b' }
    refuses(content([agent('a', 'x', { validationRules: [rule] })]), {
      code: 'invalid_definition',
      path: 'nodes.0.validationRules.0.pattern',
      says: ['(RE2: no lookaround'],
    })
    expect(found(content([template('a', `{{ ${text('inputs.text + "("')} ? "(?=x)" : "" }}`)]))).toEqual([])
  })

  it('has no circle, of edges, of expressions, or of both', () => {
    refuses(
      content([template('a', 'x'), template('b', 'x')], {
        edges: [
          ['a', 'b'],
          ['b', 'a'],
        ],
      }),
      { code: 'cycle', path: 'nodes', says: ['"a" -> "b" -> "a"'] },
    )
    refuses(
      content([template('a', '{{ nodes.b.output }}'), template('b', 'x', { when: '{{ nodes.a.skipped }}' })]),
      {
        code: 'cycle',
        path: 'nodes',
        says: ['"a" -> "b" -> "a"'],
      },
    )
    refuses(content([template('a', '{{ nodes.b.output }}'), template('b', 'x')], { edges: [['a', 'b']] }), {
      code: 'cycle',
      path: 'nodes',
      says: ['"a" -> "b" -> "a"'],
    })
    refuses(content([template('a', '{{ nodes.a.output }}')]), {
      code: 'cycle',
      path: 'nodes',
      says: ['"a" -> "a"'],
    })
  })

  it('has outputs that come from somewhere', () => {
    refuses(content([template('a', 'x')], { interfaceOutputs: { b: { dataFlowType: 'STRING' } } }), {
      code: 'unreachable_output',
      path: 'interfaceOutputs.b',
      says: ['"b" has no value'],
    })
    refuses(content([template('a', 'x')], { interfaceOutputs: {} }), {
      code: 'unreachable_output',
      path: 'interfaceOutputs',
      says: ['There is no output'],
    })
    expect(
      found(content([template('结果', 'x')], { interfaceOutputs: { 结果: { dataFlowType: 'STRING' } } })),
    ).toEqual([])
  })

  it('has only data types of D-15', () => {
    refuses(
      content([template('a', 'x')], {
        interfaceInputs: { i: { dataFlowType: 'IMAGE' }, j: { dataFlowType: 'string' } },
        interfaceOutputs: { a: { dataFlowType: 'ANY' } },
      }),
      {
        code: 'unknown_data_type',
        path: 'interfaceInputs.i.dataFlowType',
        says: ['"i" is "IMAGE"', '"WILDCARD"'],
      },
      { code: 'unknown_data_type', path: 'interfaceInputs.j.dataFlowType', says: ['Did you mean "STRING"?'] },
      { code: 'unknown_data_type', path: 'interfaceOutputs.a.dataFlowType', says: ['"a" is "ANY"'] },
    )
  })

  it('requires no stream (D-15)', () => {
    const stream = { dataFlowType: 'STRING', isStream: true }
    refuses(content([template('a', 'x')], { interfaceInputs: { s: { ...stream, required: true } } }), {
      code: 'required_stream',
      path: 'interfaceInputs.s',
      says: ['"s"'],
    })
    expect(found(content([template('a', 'x')], { interfaceInputs: { s: stream } }))).toEqual([])
  })

  it('has defaults and suggestions of the type of their input', () => {
    const combo = (suggestions: JsonValue[], rest: JsonObject = {}): JsonObject => ({
      dataFlowType: 'INTEGER',
      matchCategories: ['ComboOption'],
      config: { suggestions, ...rest },
    })
    refuses(
      content([template('t', 'x')], {
        interfaceInputs: {
          a: { dataFlowType: 'INTEGER', config: { default: '5' } },
          b: combo([{ value: 1 }, { value: 'two' }]),
          c: combo([{ value: 1 }], { default: 2 }),
          d: { dataFlowType: 'STRING', multi: true, config: { default: 'x' } },
          e: { dataFlowType: 'STRING', config: { default: null } },
        },
      }),
      {
        code: 'invalid_default',
        path: 'interfaceInputs.a.config.default',
        says: ['"a" is "5"', 'a whole number'],
      },
      { code: 'invalid_suggestion', path: 'interfaceInputs.b.config.suggestions', says: ['"b" is "two"'] },
      { code: 'invalid_default', path: 'interfaceInputs.c.config.default', says: ['"c" is 2', 'one of "1"'] },
      { code: 'invalid_default', path: 'interfaceInputs.d.config.default', says: ['an array'] },
    )
  })

  it('has no input with a name that means something to JavaScript', () => {
    const json = JSON.parse(
      '{"description":"d","interfaceInputs":{"__proto__":{"dataFlowType":"STRING"}},"interfaceOutputs":{"t":{"dataFlowType":"STRING"}},"nodes":[{"id":"t","kind":"template","template":"x"}]}',
    ) as JsonObject
    refuses(json, { code: 'invalid_input_name', path: 'interfaceInputs.__proto__', says: ['"__proto__"'] })
  })

  it('never throws, whatever it holds', () => {
    const odd = fc.jsonValue({ maxDepth: 3 })
    const place = fc.constantFrom(
      'nodes',
      'edges',
      'interfaceInputs',
      'interfaceOutputs',
      'description',
      'more',
    )
    fc.assert(
      fc.property(
        odd,
        odd,
        place,
        fc.constantFrom('id', 'kind', 'instruction', 'when', 'body'),
        (json, member, key, field) => {
          const good = content([agent('a', 'x')])
          for (const each of [
            json,
            { ...good, [key]: json },
            { ...good, nodes: [{ ...agent('a', 'x'), [field]: member }] },
            { ...good, interfaceInputs: { i: member } },
          ]) {
            const { definition, diagnostics } = readDefinition('w', each)
            if (definition === null)
              expect(
                diagnostics.filter((diagnostic) => diagnostic.severity === 'error').length,
              ).toBeGreaterThan(0)
            for (const { message } of diagnostics) expect(message).toMatch(/\S/)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('every code of its table was seen', () => {
    const ofLibraries = [
      'workflow_recursion',
      'workflow_too_deep',
      'unknown_workflow',
      'unknown_workflow_input',
      'missing_workflow_input',
    ]
    expect([...seen, ...ofLibraries].toSorted()).toEqual(Object.keys(definitionCodes).toSorted())
  })
})

describe('docs/reference/workflow-definitions.md', () => {
  const page = readFileSync(
    new URL('../../../../docs/reference/workflow-definitions.md', import.meta.url),
    'utf8',
  )
  const examples = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(
    ([, text]) => JSON.parse(text ?? '') as JsonObject,
  )

  it('shows a definition that is accepted, and that is tested as it stands', () => {
    expect(examples).toEqual([file('review_page')])
    expect(found(examples[0])).toEqual([])
  })

  it('lists every code of an error', () => {
    const section = page.slice(page.indexOf('## When a file is wrong'), page.indexOf('## Bounds'))
    const listed = [...section.matchAll(/^\| (`.*`) \|/gm)].flatMap(([, codes]) =>
      [...(codes ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code),
    )
    expect(new Set(listed)).toEqual(
      new Set(Object.keys(definitionCodes).filter((code) => code !== 'no_description')),
    )
  })

  it('lists every kind of node and every data type', () => {
    for (const name of [...Object.keys(nodeShapes), ...dataTypes.keys()])
      expect(page).toContain(`\`${name}\``)
  })
})

const agentBody = (instruction: string): JsonObject => ({ kind: 'agent', instruction })
