import type { JsonObject } from '@beaver/core'
import { errorOf, graphOf, ownMs } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { accepted, content, file, libraryOf, template } from '../../test/definitions.ts'
import { checkLibrary, definitionWorkflow, type DefinitionLibrary } from '../index.ts'
import { nestingMax } from './library.ts'

const calls = (...workflows: string[]): JsonObject =>
  content([
    template('t', 'x'),
    ...workflows.map((workflow) => ({ id: `to ${workflow}`, kind: 'workflow', workflow })),
  ])
const maps = (workflow: string): JsonObject =>
  content([{ id: 'm', kind: 'map', items: '{{ inputs.list }}', body: { kind: 'workflow', workflow } }])
const diagnosed = (library: DefinitionLibrary): string[] =>
  checkLibrary(library).map(({ workflow, code, path }) => `${workflow}: ${code} ${path}`)

function planning(library: DefinitionLibrary, id: string): { code: string; message: string } {
  const definition = library.get(id)
  if (definition === undefined) expect.fail(`no ${id}`)
  return errorOf(definitionWorkflow(definition, library).plan({}))
}

describe('a library', () => {
  it('of the examples is sound', () => {
    expect(
      checkLibrary(
        libraryOf({
          summarize_text: file('summarize_text'),
          digest: file('digest'),
          review_page: file('review_page'),
        }),
      ),
    ).toEqual([])
  })

  it('in which a workflow calls itself is diagnosed and refused (D-12)', () => {
    const library = libraryOf({ a: calls('a') })
    expect(diagnosed(library)).toEqual(['a: workflow_recursion nodes'])
    expect(planning(library, 'a')).toMatchObject({
      code: 'workflow_recursion',
      message: expect.stringContaining('"a" -> "a"') as string,
    })
  })

  it('in which workflows call each other in a circle names the circle, for all in it and all that lead to it', () => {
    const library = libraryOf({ outside: calls('b'), a: calls('b'), b: maps('c'), c: calls('a') })
    expect(diagnosed(library)).toEqual([
      'outside: workflow_recursion nodes',
      'a: workflow_recursion nodes',
      'b: workflow_recursion nodes',
      'c: workflow_recursion nodes',
    ])
    expect(planning(library, 'a').message).toContain(
      'The workflow "a" calls itself: "a" -> "b" -> "c" -> "a"',
    )
    expect(planning(library, 'outside').message).toContain(
      'The workflow "outside" calls one that calls itself: "b" -> "c" -> "a" -> "b"',
    )
    expect(planning(library, 'outside').code).toBe('workflow_recursion')
  })

  it(`may nest ${nestingMax} workflows, and not one more`, () => {
    expect(nestingMax).toBe(4)
    const library = libraryOf({
      w1: calls('w2'),
      w2: maps('w3'),
      w3: calls('w4'),
      w4: calls('w5'),
      w5: content([template('t', 'x')]),
    })
    expect(diagnosed(library)).toEqual(['w1: workflow_too_deep nodes'])
    expect(planning(library, 'w1')).toMatchObject({
      code: 'workflow_too_deep',
      message: expect.stringContaining('"w1" -> "w2" -> "w3" -> "w4" -> "w5"') as string,
    })
    const four = library.get('w2')
    if (four === undefined) expect.fail('no w2')
    expect(definitionWorkflow(four, library).plan({})).toHaveProperty('ok', true)
  })

  it('is checked in no time when many ways lead to the same workflow', async () => {
    const wide = (next: string | null): JsonObject =>
      content(
        next === null
          ? [template('t', 'x')]
          : Array.from({ length: 60 }, (_, index) => ({ id: `n${index}`, kind: 'workflow', workflow: next })),
      )
    const library = libraryOf({ a: wide('b'), b: wide('c'), c: wide('d'), d: wide(null) })
    expect(checkLibrary(library)).toEqual([])
    // What would be 60 × 60 × 60 workflows is refused before it is made.
    const refusal = (): void =>
      expect(planning(library, 'a')).toMatchObject({
        code: 'too_many_edges',
        message: expect.stringContaining(
          '655321 nodes and nearly as many edges; the limit edgesMax is 8192',
        ) as string,
      })
    expect(await ownMs(refusal)).toBeLessThan(2_000)
  })

  it('in which a workflow is missing is diagnosed and refused, and so is what calls it', () => {
    const library = libraryOf({
      a: calls('b'),
      b: calls('summarise_text'),
      summarize_text: content([template('t', 'x')]),
    })
    expect(checkLibrary(library)).toMatchObject([
      {
        workflow: 'b',
        code: 'unknown_workflow',
        path: 'nodes.1.workflow',
        severity: 'error',
        message: expect.stringContaining('Did you mean "summarize_text"?') as string,
      },
    ])
    expect(planning(library, 'b').code).toBe('unknown_workflow')
    expect(planning(library, 'a')).toMatchObject({
      code: 'unknown_workflow',
      message: expect.stringContaining('(in the workflow "b")') as string,
    })
  })

  it('checks what a node gives to the workflow it calls', () => {
    const called = content([template('t', 'x')], {
      interfaceInputs: { need: { dataFlowType: 'STRING', required: true }, may: { dataFlowType: 'STRING' } },
    })
    const calling = (inputs: JsonObject): DefinitionLibrary =>
      libraryOf({
        called,
        direct: content([{ id: 'c', kind: 'workflow', workflow: 'called', inputs }]),
        mapped: content([
          {
            id: 'm',
            kind: 'map',
            items: '{{ inputs.list }}',
            body: { kind: 'workflow', workflow: 'called', inputs },
          },
        ]),
      })
    expect(diagnosed(calling({ need: 'x' }))).toEqual([])
    expect(diagnosed(calling({ mai: 'x' }))).toEqual([
      'direct: unknown_workflow_input nodes.0.inputs.mai',
      'direct: missing_workflow_input nodes.0.inputs',
      'mapped: unknown_workflow_input nodes.0.body.inputs.mai',
      'mapped: missing_workflow_input nodes.0.body.inputs',
    ])
    expect(planning(calling({}), 'direct')).toMatchObject({
      code: 'invalid_definition',
      message: expect.stringContaining('without its input "need"') as string,
    })
  })

  it('need not hold the workflow that is called itself', () => {
    const alone = accepted('alone', content([template('t', 'x')]))
    expect(graphOf(definitionWorkflow(alone, new Map()).plan({})).workflow).toBe('workflow:alone')
  })
})
