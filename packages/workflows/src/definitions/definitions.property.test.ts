// What holds for every definition that is accepted, and for every call of it.
import { canonicalJson, type JsonObject, type JsonValue } from '@beaver/core'
import { graphFault } from '@beaver/core/graph'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { accepted, agent, content, deepFrozen, template } from '../../test/definitions.ts'
import { graphOf, play } from '@beaver/testing'
import { definitionWorkflow, readDefinition, type WorkflowDefinitionFile } from '../index.ts'
import { sizeOf } from './compile.ts'

const runs = { numRuns: 100 }
const ids = ['a', 'b', '名', 'x y', 'v1.2', 'c']

const reading = (id: string, field: string): string => `{{ nodes[${JSON.stringify(id)}].${field} }}`

/** Any node. Most of what it reads stands before it; some comes after it or does not exist. */
function node(id: string, before: readonly string[]): fc.Arbitrary<JsonObject> {
  const other =
    before.length === 0
      ? fc.constant('{{ inputs.text }}')
      : fc.constantFrom(...before).map((each) => reading(each, 'output'))
  const odd = fc.constantFrom(...ids, 'ghost').map((each) => reading(each, 'output'))
  const part = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom('x', '{{ inputs.text }}', '{{ inputs.n }}', '{', '"') },
    { weight: 20, arbitrary: other },
    { weight: 1, arbitrary: odd },
  )
  const text = fc.array(part, { maxLength: 3 }).map((parts) => `go ${parts.join(' ')}`)
  const gates = [
    '{{ inputs.n > 1 }}',
    '{{ inputs.n > 2 }}',
    '{{ true }}',
    ...before.map((each) => reading(each, 'skipped')),
  ]
  const map = (body: JsonObject): JsonObject => ({ id, kind: 'map', items: '{{ inputs.list }}', body })
  const made = fc.oneof(
    text.map((each) =>
      agent(id, each, { allowedToolNames: ['t'], requiredEvidence: [{ kind: 'output_length', min: 1 }] }),
    ),
    text.map((each) => template(id, { deep: [each] })),
    text.map((each): JsonObject => ({ id, kind: 'tool', tool: 't', arguments: { v: each } })),
    fc
      .constantFrom('{{ inputs.n > 0 }}', '{{ inputs.n > 9 }}')
      .map((each): JsonObject => ({ id, kind: 'condition', if: each })),
    text.map((each) => map({ kind: 'agent', instruction: `${each} {{ item }}` })),
    text.map((each) => map({ kind: 'template', template: `${each} {{ item }}` })),
    text.map((each) => map({ kind: 'workflow', workflow: 'sub', inputs: { text: `{{ item }} ${each}` } })),
    text.map((each): JsonObject => ({ id, kind: 'workflow', workflow: 'sub', inputs: { text: each } })),
  )
  return fc
    .tuple(made, fc.option(fc.constantFrom(...gates), { nil: null }))
    .map(([each, when]) => (when === null ? each : { ...each, when }))
}

const contents = fc.shuffledSubarray(ids, { minLength: 1 }).chain((own) =>
  fc.record({
    nodes: fc
      .tuple(...own.map((id, index) => node(id, own.slice(0, index))))
      .chain((nodes) => fc.shuffledSubarray(nodes, { minLength: nodes.length })),
    edges: fc.array(fc.tuple(fc.constantFrom(...own), fc.constantFrom(...own)), { maxLength: 1 }),
  }),
)

const sub = accepted(
  'sub',
  content([agent('a', '{{ inputs.text }}'), template('b', '{{ nodes.a.output }}!')], {
    interfaceInputs: { text: { dataFlowType: 'STRING' } },
  }),
)
const library = new Map([['sub', sub]])
const args = { text: 'hello', n: 2, list: ['p', 'q'] }

function eachAccepted(
  check: (definition: WorkflowDefinitionFile, edges: readonly (readonly [string, string])[]) => void,
): number {
  let count = 0
  fc.assert(
    fc.property(contents, ({ nodes, edges }) => {
      const { definition } = readDefinition('w', content(nodes, { edges: edges as unknown as JsonValue }))
      if (definition === null) return
      count++
      check(deepFrozen(definition), edges)
    }),
    runs,
  )
  return count
}

it('compiles to a sound graph, twice the same, without a change to the definition', () => {
  const count = eachAccepted((definition, edges) => {
    const workflow = definitionWorkflow(definition, library)
    const [once, again] = [graphOf(workflow.plan(args)), graphOf(workflow.plan(structuredClone(args)))]
    expect(graphFault(once)).toBeNull()
    expect(canonicalJson(again)).toBe(canonicalJson(once))
    const known = new Map(once.nodes.map((each) => [each.node_id, each.depends_on]))
    for (const { id } of definition.nodes) expect(known.has(id)).toBe(true)
    for (const [from, to] of edges)
      expect([
        ...(known.get(to) ?? []),
        ...(known.get(`${to}[]`) ?? []),
        ...(known.get(`${to}/(inputs)`) ?? []),
      ]).toContain(from)
    expect(sizeOf(definition, library)).toEqual({
      nodes: once.nodes.length,
      runs: once.nodes.filter((each) => each.kind !== 'code').length,
    })
  })
  expect(count).toBeGreaterThan(40)
})

it('shares nothing between two graphs: what is done to one is not seen in the other', () => {
  eachAccepted((definition) => {
    const workflow = definitionWorkflow(definition, library)
    const graph = graphOf(workflow.plan(args))
    const before = canonicalJson(graph)
    spoil(graphOf(workflow.plan(args)))
    expect(canonicalJson(graph)).toBe(before)
    expect(canonicalJson(graphOf(workflow.plan(args)))).toBe(before)
  })
})

it('comes to an end, and where no run fails each of its nodes has an outcome', () => {
  const count = eachAccepted((definition) => {
    const graph = JSON.parse(
      canonicalJson(graphOf(definitionWorkflow(definition, library).plan(args))),
    ) as ReturnType<typeof graphOf>
    const played = play(
      graph,
      (id) => `${id} says`,
      (running) => running - 1,
    )
    const states = [...played.team.nodes.values()].map((each) => each.status)
    expect(states.filter((status) => status === 'waiting' || status === 'running')).toEqual([])
    if (states.every((status) => status === 'completed' || status === 'skipped'))
      expect(played.team.outcome).toBe('complete')
  })
  expect(count).toBeGreaterThan(40)
})

/** Overwrites every member of every object in it. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.values(value).forEach(spoil)
  for (const key of Object.keys(value)) (value as Record<string, unknown>)[key] = 'spoiled'
}
