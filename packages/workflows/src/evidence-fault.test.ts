import { describe, expect, it, test } from 'vitest'
import { readDefinition } from './definitions/read-definition.ts'
import { definitionWorkflow } from './definitions/definition-workflow.ts'
import type { EvidenceRequirement } from '@beaver/core/evidence'
import { finalQuotesFault, knownTools } from './evidence-fault.ts'
import { findTaskWorkflow } from './registry.ts'

const tools = knownTools(['read_file', 'web_fetch'], ['files'])
const plan = (workflow: string, args: object) =>
  findTaskWorkflow(workflow)?.plan({ task: 't', ...args }, { tools })
const agent = (of: object): object => ({ name: 'a', instruction: 'i', ...of })
const needs = (check: object): object => ({ required_evidence: ['Name a source.', check] })

describe('a call is refused', () => {
  test.each<[string, object, string, string]>([
    [
      'for a tool that is not there',
      needs({ kind: 'tool_succeeded', tool: 'raed_file' }),
      'required_evidence.1.tool',
      'no such tool, so no output can pass. Did you mean "read_file"?',
    ],
    [
      'for a tool like no other',
      needs({ kind: 'tool_succeeded', tool: 'fly' }),
      'required_evidence.1.tool',
      'Tools: read_file, web_fetch',
    ],
    [
      'for figures of a tool that is not there',
      needs({ kind: 'numbers_from_tools', tools: ['read_file', 'fetch'] }),
      'required_evidence.1.tools.1',
      '"fetch"',
    ],
    [
      'for sources of a tool that is not there',
      { validation_rules: [{ kind: 'output_cites', from_tool: 'web' }] },
      'validation_rules.0.from_tool',
      '"web"',
    ],
    [
      'for a tool outside of the scope',
      { allowed_tool_names: ['web_fetch'], ...needs({ kind: 'tool_succeeded', tool: 'read_file' }) },
      'required_evidence.1.tool',
      'does not list',
    ],
    [
      'for any tool without a scope',
      { allowed_tool_names: [], ...needs({ kind: 'numbers_from_tools', tools: ['read_file'] }) },
      'required_evidence.1.tools.0',
      'does not list',
    ],
    [
      'for a check that cannot fail',
      needs({ kind: 'output_length' }),
      'required_evidence.1',
      'every output passes',
    ],
  ])('%s', (_, of, path, words) => {
    const planned = plan('SequentialWorkflow', { agents: [agent({}), { ...agent(of), name: 'b' }] })
    expect(planned).toMatchObject({
      ok: false,
      error: { path: `agents.1.${path}`, message: expect.stringContaining(words) },
    })
  })

  it('for an agent of a definition, also one that runs for each item', () => {
    const definitionOf = (node: object) => {
      const { definition, diagnostics } = readDefinition('d', {
        description: 'Reads files. Choose it to read.',
        interfaceInputs: { files: { dataFlowType: 'ARRAY', required: true } },
        interfaceOutputs: { out: { dataFlowType: 'STRING' } },
        nodes: [node],
      })
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
      return definition === null
        ? null
        : definitionWorkflow(definition, new Map([['d', definition]])).plan({ files: ['a'] }, { tools })
    }
    const body = {
      kind: 'agent',
      instruction: 'Read.',
      requiredEvidence: [{ kind: 'tool_succeeded', tool: 'raed_file' }],
    }
    const refused = {
      ok: false,
      error: {
        code: 'impossible_evidence',
        message: expect.stringContaining('This workflow cannot be called'),
      },
    }
    expect(definitionOf({ id: 'out', ...body })).toMatchObject(refused)
    expect(definitionOf({ id: 'out', kind: 'map', items: '{{ inputs.files }}', body })).toMatchObject(refused)
  })
})

it('refuses a check for quotations of an agent that receives nothing', () => {
  const check = { required_evidence: [{ kind: 'quotes_from_dependencies' }] }
  const agents = (first: object, second: object): object => ({
    agents: [agent(first), { ...agent(second), name: 'b' }],
  })
  expect(plan('SequentialWorkflow', agents({}, check))?.ok).toBe(true)
  expect(plan('SequentialWorkflow', agents(check, {}))).toMatchObject({
    ok: false,
    error: { code: 'impossible_evidence', message: expect.stringContaining('of "a" needs') },
  })
})

it('refuses a check for quotations of a result whose authors receive nothing', () => {
  const checks: EvidenceRequirement[] = ['Be brief.', { kind: 'quotes_from_dependencies' }]
  const graphOf = (workflow: string) => {
    const planned = plan(workflow, { agents: [agent({}), { ...agent({}), name: 'b' }] })
    return planned?.ok === true ? planned.graph : expect.fail('refused')
  }
  expect(finalQuotesFault(graphOf('SequentialWorkflow'), checks)).toBeNull()
  expect(finalQuotesFault(graphOf('ConcurrentWorkflow'), [])).toBeNull()
  expect(finalQuotesFault(graphOf('ConcurrentWorkflow'), checks)).toMatchObject({
    error: {
      code: 'impossible_evidence',
      path: 'required_evidence.1',
      message: expect.stringContaining('comes from "a", "b"'),
    },
  })
})

describe('a call is planned', () => {
  test.each<[string, object]>([
    ['with checks for tools that are there', needs({ kind: 'numbers_from_tools', tools: ['read_file'] })],
    ['with a check for a tool of a server', needs({ kind: 'tool_succeeded', tool: 'files_write' })],
    ['with a check for the shared state', needs({ kind: 'tool_succeeded', tool: 'team_shared_state' })],
    [
      'with one of two tools in scope',
      {
        allowed_tool_names: ['read_file'],
        ...needs({ kind: 'numbers_from_tools', tools: ['read_file', 'web_fetch'] }),
      },
    ],
  ])('%s', (_, of) => expect(plan('SequentialWorkflow', { agents: [agent(of)] })?.ok).toBe(true))

  it('where the tools are not known', () => {
    expect(
      findTaskWorkflow('SequentialWorkflow')?.plan({
        task: 't',
        agents: [agent(needs({ kind: 'tool_succeeded', tool: 'fly' }))],
      }).ok,
    ).toBe(true)
  })
})
