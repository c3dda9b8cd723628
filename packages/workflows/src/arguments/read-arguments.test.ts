import { describe, expect, it } from 'vitest'
import { agents, errorOf, graphOf, refuses } from '@beaver/testing'
import { createTeamWorkflowTools } from '../registry.ts'
import { sequentialWorkflow } from '../graphs/sequential.ts'

const [agent] = agents('collector')
const withAgent = (fields: object) => ({ task: 'Compare', agents: [{ ...agent, ...fields }] })

const minimal: Record<string, object> = {
  SequentialWorkflow: {},
  ConcurrentWorkflow: {},
  MixtureOfAgents: { aggregator: { name: 'merger', instruction: 'Merge.' } },
  AgentRearrange: { flow: 'collector' },
  GraphWorkflow: { edges: [], output_agent: 'collector' },
}

describe.each(createTeamWorkflowTools().map((workflow) => [workflow.name, workflow] as const))(
  '%s, like every workflow,',
  (name, workflow) => {
    const good = { task: 'Compare', agents: agents('collector'), ...minimal[name] }
    const extended = (fields: object) => ({ ...good, agents: [{ ...agent, ...fields }] })

    it('accepts its minimal arguments', () => expect(graphOf(workflow.plan(good)).workflow).toBe(name))

    it.each([null, undefined, 7, true, [], 'run'])('refuses %j for the arguments', (args) => {
      refuses(workflow, args, { code: 'invalid_arguments', path: '', parts: ['must be an object'] })
    })

    it('refuses arguments that are JSON text', () => {
      refuses(workflow, JSON.stringify(good), {
        code: 'invalid_arguments',
        path: '',
        parts: ['JSON text inside a string', 'without quotes around it'],
      })
    })

    it.each(['', '  \n'])('refuses the task %j', (task) =>
      refuses(workflow, { ...good, task }, { code: 'invalid_arguments', path: 'task', parts: ['"task" is'] }),
    )

    it('refuses a missing task, whatever the order of the keys', () => {
      const { task: _, ...rest } = good
      refuses(workflow, rest, { code: 'invalid_arguments', path: 'task', parts: ['"task" is missing'] })
    })

    it('refuses missing agents', () => {
      refuses(
        workflow,
        { ...good, agents: undefined },
        { code: 'invalid_arguments', path: 'agents', parts: ['"agents" is missing'] },
      )
    })

    it('refuses no agents', () =>
      refuses(
        workflow,
        { ...good, agents: [] },
        { code: 'agents_empty', path: 'agents', parts: ['at least one agent'] },
      ))

    it('refuses an unknown field', () => {
      refuses(
        workflow,
        { ...good, architecture: 'x' },
        {
          code: 'invalid_arguments',
          path: 'architecture',
          parts: ['"architecture" is not known', '"task", "agents"'],
        },
      )
    })

    it('refuses an unknown field of an agent', () => {
      refuses(workflow, extended({ role: 'boss' }), {
        code: 'invalid_arguments',
        path: 'agents.0.role',
        parts: ['"agents.0.role" is not known', '"name", "instruction", "use_skill", "skill_query"'],
      })
    })

    it('refuses a bad agent name', () => {
      refuses(workflow, extended({ name: 'a,b' }), {
        code: 'invalid_agent_name',
        path: 'agents.0.name',
        parts: ['"a,b"', 'U+002C'],
      })
    })

    it('refuses two agents of one name', () => {
      refuses(
        workflow,
        { ...good, agents: agents('collector', 'other', 'collector') },
        { code: 'duplicate_agent', path: 'agents.2.name', parts: ['"collector"', 'agents.0'] },
      )
    })

    it('compares names case-sensitively', () => {
      const result = workflow.plan({ ...good, agents: agents('collector', 'Collector') })
      if (!result.ok) expect(result.error.code).not.toBe('duplicate_agent')
    })

    it('refuses more agents than the limit, before it looks at their names', () => {
      const many = { ...good, agents: agents(...Array.from({ length: 513 }, () => 'same')) }
      refuses(workflow, many, {
        code: 'too_many_agents',
        path: 'agents',
        parts: [name === 'MixtureOfAgents' ? '514' : '513', 'agentsMax is 512'],
      })
    })

    it('takes another limit', () => {
      refuses(
        workflow,
        { ...good, agents: agents('a', 'b', 'c') },
        { code: 'too_many_agents', path: 'agents', parts: ['agentsMax is 2'] },
        { limits: { agentsMax: 2 } },
      )
    })

    it('refuses an agent of an unknown form before it builds anything', () => {
      expect(errorOf(workflow.plan({ ...good, agents: ['collector'] }))).toMatchObject({
        code: 'invalid_arguments',
        path: 'agents.0',
      })
    })

    it('offers a JSON schema without $schema that requires task and agents and allows nothing else', () => {
      expect(workflow.parameters).not.toHaveProperty('$schema')
      expect(workflow.parameters).toMatchObject({ type: 'object', additionalProperties: false })
      expect((workflow.parameters as { required: string[] }).required).toEqual(Object.keys(good))
    })

    it('describes every field to the model', () => {
      const { properties } = workflow.parameters as {
        properties: Record<
          string,
          { description?: string; items?: { properties?: Record<string, { description?: string }> } }
        >
      }
      for (const field of Object.values(properties)) expect(field.description).toMatch(/\S/)
      for (const field of Object.values(properties['agents']?.items?.properties ?? {}))
        expect(field.description).toMatch(/\S/)
    })
  },
)

describe('the error of a malformed shape says what to write instead', () => {
  const cases: [title: string, args: object, path: string, part: string][] = [
    [
      'agents as JSON text',
      { task: 'x', agents: '[{"name":"a","instruction":"b"}]' },
      'agents',
      'JSON text inside a string: write the array itself',
    ],
    [
      'agents as one text that is no list of names',
      { task: 'x', agents: 'a/b' },
      'agents',
      '[{"name": "…", "instruction": "…"}]',
    ],
    [
      'an agent as JSON text',
      { task: 'x', agents: ['{"name":"a"}'] },
      'agents.0',
      'JSON text inside a string: write the object itself',
    ],
    [
      'another name for a field',
      { task: 'x', agents: [{ name: 'a', prompt: 'b' }] },
      'agents.0.instruction',
      '"prompt" is not a field here: was "instruction" meant?',
    ],
    ['null for a required field', { task: null, agents: [agent] }, 'task', 'is null, but must be a string.'],
    [
      'a list for a text',
      withAgent({ instruction: ['a'] }),
      'agents.0.instruction',
      'Write one text in quotes',
    ],
    ['an empty text', withAgent({ instruction: '' }), 'agents.0.instruction', 'is empty'],
    ['a blank text', withAgent({ instruction: ' ' }), 'agents.0.instruction', 'is blank'],
    ['an empty skill', withAgent({ use_skill: '' }), 'agents.0.use_skill', 'is empty'],
    ['an empty skill query', withAgent({ skill_query: '' }), 'agents.0.skill_query', 'is empty'],
    [
      'tool names as one text',
      withAgent({ allowed_tool_names: 'web_search、web_fetch' }),
      'agents.0.allowed_tool_names',
      'Write an array: ["web_search","web_fetch"]',
    ],
    [
      'an empty tool name',
      withAgent({ allowed_tool_names: [''] }),
      'agents.0.allowed_tool_names.0',
      'is empty',
    ],
    [
      'evidence as one text',
      withAgent({ required_evidence: 'two sources, dated' }),
      'agents.0.required_evidence',
      'Write an array: ["two sources, dated"]',
    ],
    [
      'evidence of an unknown kind',
      withAgent({ required_evidence: [{ kind: 'vibes' }] }),
      'agents.0.required_evidence.0',
      '{"kind":"vibes"}',
    ],
    [
      'a pattern that does not compile',
      withAgent({ required_evidence: ['x', { kind: 'output_matches', pattern: '(' }] }),
      'agents.0.required_evidence.1.pattern',
      '"(", which is not a regular expression',
    ],
    [
      'evidence of a known kind, wrongly written',
      withAgent({ required_evidence: [{ kind: 'files_exist', path: 'a' }] }),
      'agents.0.required_evidence.0.paths',
      'was "paths" meant?',
    ],
    [
      'a pattern whose time has no bound',
      withAgent({ validation_rules: [{ kind: 'output_matches', pattern: 'a(?=b)' }] }),
      'agents.0.validation_rules.0.pattern',
      'no lookaround',
    ],
    [
      'a JSON Schema that cannot be checked',
      withAgent({
        validation_rules: [{ kind: 'output_schema', schema: { type: 'array', items: { not: {} } } }],
      }),
      'agents.0.validation_rules.0.schema.items.not',
      'cannot be checked',
    ],
    ['a blank contract', withAgent({ evidence_contract: ' ' }), 'agents.0.evidence_contract', 'is blank'],
    [
      'bounds no output can keep',
      withAgent({ required_evidence: [{ kind: 'output_length', min: 9, max: 3 }] }),
      'agents.0.required_evidence.0.min',
      '9, but max is 3',
    ],
  ]
  it.each(cases)('%s', (_, args, path, part) =>
    refuses(sequentialWorkflow, args, { code: 'invalid_arguments', path, parts: [part, `"${path}"`] }),
  )

  it('finds fields with the names of object members unknown', () => {
    const args = JSON.parse('{"task":"x","agents":[{"name":"a","instruction":"b","constructor":1}]}')
    refuses(sequentialWorkflow, args, {
      code: 'invalid_arguments',
      path: 'agents.0.constructor',
      parts: ['"agents.0.constructor" is not known'],
    })
  })
})
