// The malformed calls that models really make: each is refused with a message that says what was sent and
// shows the right form of these very arguments; taken as advised, the call is accepted.
import { describe, expect, it } from 'vitest'
import { agents, errorOf, graphOf } from '@beaver/testing'
import { findWorkflow, readArgumentsText, type Workflow } from '../index.ts'

const workflow = (name: string): Workflow => findWorkflow(name) ?? expect.fail(name)

interface Row {
  readonly tool: string
  readonly good: Readonly<Record<string, unknown>>
}

const rows: Readonly<Record<string, Row>> = {
  SequentialWorkflow: {
    tool: 'SequentialWorkflow',
    good: { task: 'Compare', agents: [{ name: 'finder', instruction: 'Find the filings.' }] },
  },
  GraphWorkflow: {
    tool: 'GraphWorkflow',
    good: {
      task: 'Compare',
      agents: agents('a', 'b', 'c'),
      edges: [
        ['a', 'b'],
        ['b', 'c'],
      ],
      output_agent: 'c',
    },
  },
  AgentRearrange: {
    tool: 'AgentRearrange',
    good: { task: 'Compare', agents: agents('a', 'b', 'c'), flow: 'a -> b, c' },
  },
  MixtureOfAgents: {
    tool: 'MixtureOfAgents',
    good: { task: 'Compare', agents: agents('a', 'b'), aggregator: agents('m')[0] },
  },
}

/**
 * What was sent for a field, the text the message must show of it, and the correction, which the message must
 * hold and which is then accepted.
 */
type Case = readonly [title: string, field: string, sent: unknown, shown: string, corrected: unknown]

const finder = { name: 'finder', instruction: 'Find the filings.' }
const pairs = [
  ['a', 'b'],
  ['b', 'c'],
]
const fenced = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value)}\n\`\`\``

const fields: Readonly<Record<string, readonly Case[]>> = {
  SequentialWorkflow: [
    ['JSON in a string', 'agents', JSON.stringify([finder]), '"[{', [finder]],
    ['JSON in a code fence', 'agents', fenced([finder]), '```json', [finder]],
    [
      'JSON with a trailing comma',
      'agents',
      '[{"name":"finder","instruction":"Find the filings.",},]',
      'a comma before a closing bracket',
      [finder],
    ],
    [
      'JSON in typographic quotes',
      'agents',
      '[{“name”：“finder”，“instruction”：“Find the filings.”}]',
      'typographic quotes',
      [finder],
    ],
    [
      'a Python list',
      'agents',
      "[{'name': 'finder', 'instruction': 'Find the filings.'}]",
      'Python',
      [finder],
    ],
    ['one object for a list', 'agents', finder, '{"name":"finder"', [finder]],
    ['instructions by name', 'agents', { finder: 'Find the filings.' }, '{"finder":', [finder]],
    ['agents by name', 'agents', { finder: { instruction: 'Find the filings.' } }, '{"finder":', [finder]],
    ['a list inside an object', 'agents', { agents: [finder] }, '{"agents":', [finder]],
    [
      'names in one text',
      'agents',
      'finder，writer',
      '"finder，writer"',
      ['finder', 'writer'].map((name) => ({ name, instruction: '…' })),
    ],
    ['an agent as its name', 'agents.0', 'finder', '"finder"', { name: 'finder', instruction: '…' }],
    ['an agent as one text', 'agents.0', 'finder: Find the filings.', '"finder: ', finder],
    ['an agent as a pair', 'agents.0', ['finder', 'Find the filings.'], '["finder",', finder],
    [
      'an agent by its name',
      'agents.0',
      { finder: 'Find the filings.' },
      '"agents.0.name" is missing',
      finder,
    ],
    ['an agent as JSON text', 'agents.0', JSON.stringify(finder), 'JSON text inside a string', finder],
    ['a number for a name', 'agents.0.name', 1, 'is 1', '1'],
    ['a name with a space at its end', 'agents.0.name', 'finder ', '"finder "', 'finder'],
    ['a list for a text', 'agents.0.instruction', ['Find.', 'Read them.'], '["Find.",', 'Find. Read them.'],
    [
      'tool names in one text',
      'agents.0.allowed_tool_names',
      'web_search、web_fetch',
      '"web_search、',
      ['web_search', 'web_fetch'],
    ],
    [
      'tool names as JSON text',
      'agents.0.allowed_tool_names',
      '["web_search"]',
      'JSON text inside a string',
      ['web_search'],
    ],
    [
      'one requirement for a list',
      'agents.0.required_evidence',
      { kind: 'output_length', min: 1 },
      '{"kind":',
      [{ kind: 'output_length', min: 1 }],
    ],
    [
      'a number in quotes',
      'agents.0.required_evidence',
      [{ kind: 'output_length', min: '2' }],
      'min" is "2"',
      2,
    ],
  ],
  GraphWorkflow: [
    ['edges as JSON text', 'edges', JSON.stringify(pairs), 'JSON text inside a string', pairs],
    ['edges in a code fence', 'edges', fenced(pairs), '```json', pairs],
    ['edges in one text', 'edges', 'a -> b; b -> c', '"a -> b; b -> c"', pairs],
    ['edges as a chain', 'edges', 'a → b → c', '"a → b → c"', pairs],
    ['edges with a full-width comma', 'edges', 'a->b，b->c', '"a->b，b->c"', pairs],
    ['edges as Mermaid', 'edges', 'a --> b\nb --> c', '-->', pairs],
    ['edges as texts', 'edges', ['a->b', 'b ⇒ c'], '"a->b"', pairs],
    ['edges as escaped texts', 'edges', ['a -&gt; b', 'b -\\u003e c'], '&gt;', pairs],
    ['edges as objects', 'edges', pairs.map(([from, to]) => ({ from, to })), '{"from":"a"', pairs],
    [
      'edges as objects of other names',
      'edges',
      pairs.map(([source, target]) => ({ source, target })),
      '{"source":"a"',
      pairs,
    ],
    ['edges with several ends', 'edges', [{ from: ['a'], to: ['b'] }, ['b', 'c']], '{"from":["a"]', pairs],
    ['edges by source', 'edges', { a: ['b'], b: 'c' }, '{"a":["b"]', pairs],
    ['a chain for a pair', 'edges', [['a', 'b', 'c']], '["a","b","c"]', pairs],
    ['the output agent as an object', 'output_agent', { name: 'c' }, '{"name":"c"}', 'c'],
    ['the output agent as a list', 'output_agent', ['c'], '["c"]', 'c'],
    ['a text for true', 'allow_disconnected', 'True', '"True"', true],
  ],
  AgentRearrange: [
    ['an arrow', 'flow', 'a → b, c', '→', 'a -> b, c'],
    ['a double arrow', 'flow', 'a ⇒ b, c', '⇒', 'a -> b, c'],
    ['an escaped arrow', 'flow', 'a -&gt; b, c', '-&gt;', 'a -> b, c'],
    ['full-width marks', 'flow', 'a－＞b，c', '，', 'a -> b, c'],
    ['an ideographic comma', 'flow', 'a -> b、c', '、', 'a -> b, c'],
    ['a list of steps', 'flow', ['a', ['b', 'c']], 'JSON array', 'a -> b, c'],
    [
      'a list of objects',
      'flow',
      [
        { step: 1, agents: ['a'] },
        { step: 2, agents: ['b', 'c'] },
      ],
      'JSON array',
      'a -> b, c',
    ],
    ['a list as JSON text', 'flow', '["a", ["b", "c"]]', 'JSON array', 'a -> b, c'],
    ['an object', 'flow', { a: 'b' }, '{"a":"b"}', 'a -> b -> c'],
  ],
  MixtureOfAgents: [
    ['the aggregator as its name', 'aggregator', 'm', '"m"', { name: 'm', instruction: '…' }],
    ['the aggregator as one text', 'aggregator', 'm: Do the work of m.', '"m: ', agents('m')[0]],
    ['the aggregator in a list', 'aggregator', agents('m'), '[{"name":"m"', agents('m')[0]],
    [
      'the aggregator as JSON text',
      'aggregator',
      JSON.stringify(agents('m')[0]),
      'JSON text inside a string',
      agents('m')[0],
    ],
    [
      'the aggregator by its name',
      'aggregator',
      { m: 'Do the work of m.' },
      '"aggregator.name" is missing',
      agents('m')[0],
    ],
  ],
}

/** `args` with another value at a dotted path. */
function withValue(args: unknown, path: string, value: unknown): unknown {
  const [key = '', ...rest] = path.split('.')
  const next =
    rest.length === 0 ? value : withValue((args as Record<string, unknown>)[key], rest.join('.'), value)
  return Array.isArray(args)
    ? args.map((each: unknown, index) => (String(index) === key ? next : each))
    : { ...(args as object), [key]: next }
}

describe.each(Object.entries(fields))('%s, called with', (name, cases) => {
  const { tool, good } = rows[name] as Row

  it('good arguments, builds', () => expect(graphOf(workflow(tool).plan(good)).workflow).toBe(name))

  it.each(cases)('%s for %s, shows the right form', (_, field, sent, shown, corrected) => {
    const { path, message } = errorOf(workflow(tool).plan(withValue(good, field, sent)))
    expect(path.startsWith(field)).toBe(true)
    expect(message).toContain(shown)
    expect(message).toContain(JSON.stringify(corrected))
    const place = JSON.stringify(sent) === '[{"kind":"output_length","min":"2"}]' ? path : field
    expect(workflow(tool).plan(withValue(withValue(good, field, sent), place, corrected))).toHaveProperty(
      'ok',
      true,
    )
  })
})

describe('the arguments as a whole', () => {
  const { good } = rows['SequentialWorkflow'] as Row
  it.each([
    ['JSON in a string', JSON.stringify(good), ['JSON text inside a string', JSON.stringify(good)]],
    ['JSON in a code fence', fenced(good), ['a code fence around it', JSON.stringify(good)]],
    ['a list of one', [good], ['Send its only item']],
    ['an object around them', { input: good }, ['inside "input"', JSON.stringify(good)]],
    [
      'JSON text in an object',
      { arguments: JSON.stringify(good) },
      ['inside "arguments"', JSON.stringify(good)],
    ],
  ])('%s: says how to send them', (_, args, parts) => {
    const { code, message } = errorOf(workflow('SequentialWorkflow').plan(args))
    expect(code).toBe('invalid_arguments')
    for (const part of parts) expect(message).toContain(part)
  })
})

describe('the arguments as the text a provider hands on', () => {
  const { good } = rows['SequentialWorkflow'] as Row
  const text = JSON.stringify(good)

  it('are read when they are JSON, and nothing is an empty object', () => {
    expect(readArgumentsText(text)).toEqual({ ok: true, value: good })
    expect(readArgumentsText(' ')).toEqual({ ok: true, value: {} })
  })

  it.each([
    ['in a code fence', fenced(good), `there is a code fence around it. Send the object alone: ${text}.`],
    [
      'with a trailing comma',
      text.replace(']}', ',]}'),
      `there is a comma before a closing bracket. Send the object alone: ${text}.`,
    ],
    ['with single quotes', text.replaceAll('"', "'"), `Send the object alone: ${text}.`],
    ['cut off in a text', text.slice(0, 20), 'they end in the middle, after 20 characters'],
    ['cut off after a value', text.slice(0, -1), 'they end in the middle'],
    ['in words', 'run the team', 'Send one JSON object such as {"task": "…"'],
  ])('%s are refused with what to send', (_, sent, part) => {
    const read = readArgumentsText(sent)
    expect(read).toMatchObject({ ok: false, error: { code: 'invalid_arguments', path: '' } })
    expect(read.ok ? '' : read.error.message).toContain(part)
  })
})

describe('another name for a field', () => {
  const agent = { name: 'finder', instruction: 'Find.' }
  it.each([
    [
      'SequentialWorkflow',
      { Task: 'x', agents: [agent] },
      'task',
      '"Task" is not a field here: was "task" meant? Write "task": "x".',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', Agents: [agent] },
      'agents',
      'was "agents" meant? Write "agents": [{"name":"finder"',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', workers: [agent] },
      'agents',
      '"workers" is not a field here: was "agents" meant?',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', agents: [{ Name: 'finder', instruction: 'Find.' }] },
      'agents.0.name',
      'Write "name": "finder".',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', agents: [{ name: 'finder', system_prompt: 'Find.' }] },
      'agents.0.instruction',
      'Write "instruction": "Find.".',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', agents: [{ ...agent, skillQuery: 'y' }] },
      'agents.0.skillQuery',
      'Did you mean "skill_query"? Write "skill_query": "y".',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', agents: [{ ...agent, allowedToolNames: [] }] },
      'agents.0.allowedToolNames',
      'Write "allowed_tool_names": [].',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', agents: [{ ...agent, tools: ['t'] }] },
      'agents.0.tools',
      'Write "allowed_tool_names": ["t"].',
    ],
    [
      'SequentialWorkflow',
      { task: 'x', agents: [{ ...agent, depends_on: [] }] },
      'agents.0.depends_on',
      'is said by the workflow itself',
    ],
    ['AgentRearrange', { task: 'x', agents: [agent], Flow: 'finder' }, 'flow', 'Write "flow": "finder".'],
    [
      'AgentRearrange',
      { task: 'x', agents: [{ ...agent, dependsOn: [] }], flow: 'finder' },
      'agents.0.dependsOn',
      'is said by "flow"',
    ],
    [
      'MixtureOfAgents',
      { task: 'x', agents: [agent], synthesizer: agent },
      'aggregator',
      'Write "aggregator": {"name":"finder"',
    ],
    [
      'GraphWorkflow',
      { task: 'x', agents: [agent], Edges: [], output_agent: 'finder' },
      'edges',
      'was "edges" meant? Write "edges": [].',
    ],
    [
      'GraphWorkflow',
      { task: 'x', agents: [agent], edges: [], outputAgent: 'finder' },
      'output_agent',
      'Write "output_agent": "finder".',
    ],
    [
      'GraphWorkflow',
      { task: 'x', agents: [agent], edges: [], output_agent: 'finder', allowDisconnected: true },
      'allowDisconnected',
      '"allow_disconnected": true',
    ],
    [
      'GraphWorkflow',
      { task: 'x', agents: [{ ...agent, depends_on: [] }], edges: [], output_agent: 'finder' },
      'agents.0.depends_on',
      'is said by "edges"',
    ],
    [
      'GraphWorkflow',
      { task: 'x', agents: [agent, { ...agent, name: 'b', depends_on: ['finder'] }], output_agent: 'b' },
      'edges',
      'said by edges, not by the agents: write "edges": [["finder","b"]].',
    ],
  ])('%s: %j is refused with the right one', (name, args, path, part) => {
    const error = errorOf(workflow(name).plan(args))
    expect(error.path).toBe(path)
    expect(error.message).toContain(part)
  })
})

describe('requirements of evidence', () => {
  const plan = (requirement: unknown) =>
    errorOf(
      workflow('SequentialWorkflow').plan({
        task: 'x',
        agents: [{ name: 'a', instruction: 'b', required_evidence: [requirement] }],
      }),
    )
  it.each([
    [
      'a kind in another spelling',
      { kind: 'toolSucceeded', tool: 'x' },
      '',
      'Did you mean "tool_succeeded"?',
    ],
    ['an unknown kind', { kind: 'vibes' }, '', '{"kind": "tool_succeeded", "tool": "…"}'],
    ['no kind', { tool: 'x' }, '', '{"kind": "tool_succeeded", "tool": "…"}'],
    [
      'a missing field',
      { kind: 'tool_succeeded' },
      '.tool',
      'is missing. Write {"kind": "tool_succeeded", "tool": "…"}.',
    ],
    [
      'an unknown field',
      { kind: 'tool_succeeded', tool: 'x', times: 2 },
      '.times',
      'the fields here are "kind", "tool", "times_min"',
    ],
    [
      'a number that is too small',
      { kind: 'tool_succeeded', tool: 'x', times_min: 0 },
      '.times_min',
      'is 0, but must be at least 1',
    ],
    ['a text that is too long', 'x'.repeat(2001), '', 'has 2001 characters; at most 2000'],
    ['a number', 7, '', 'is 7. Write a text, {"kind": '],
  ])('%s: the message says which are right', (_, requirement, path, part) => {
    const error = plan(requirement)
    expect(error.path).toBe(`agents.0.required_evidence.0${path}`)
    expect(error.message).toContain(part)
  })
})

describe('null for a field that may be left out', () => {
  it('is the field left out, wherever it stands', () => {
    const { good } = rows['MixtureOfAgents'] as Row
    const nulls = { use_skill: null, skill_query: null, allowed_tool_names: null, required_evidence: null }
    const [first, second] = agents('a', 'b')
    const evidence = { required_evidence: [{ kind: 'tool_succeeded', tool: 'x' }] }
    const sent = {
      ...good,
      agents: [
        { ...first, ...nulls },
        { ...second, required_evidence: [{ kind: 'tool_succeeded', tool: 'x', times_min: null }] },
      ],
      aggregator: { ...agents('m')[0], ...nulls },
    }
    expect(workflow('MixtureOfAgents').plan(sent)).toEqual(
      workflow('MixtureOfAgents').plan({ ...good, agents: [first, { ...second, ...evidence }] }),
    )
    const graph = rows['GraphWorkflow'] as Row
    expect(workflow('GraphWorkflow').plan({ ...graph.good, allow_disconnected: null })).toEqual(
      workflow('GraphWorkflow').plan(graph.good),
    )
  })

  it.each([
    ['SequentialWorkflow', 'task'],
    ['SequentialWorkflow', 'agents'],
    ['SequentialWorkflow', 'agents.0.name'],
    ['GraphWorkflow', 'edges'],
    ['GraphWorkflow', 'output_agent'],
    ['MixtureOfAgents', 'aggregator'],
    ['AgentRearrange', 'flow'],
  ])('%s: %s may not be left out', (name, path) => {
    expect(errorOf(workflow(name).plan(withValue((rows[name] as Row).good, path, null))).path).toBe(path)
  })

  it('is refused for a field there is not', () => {
    expect(
      errorOf(workflow('SequentialWorkflow').plan({ ...rows['SequentialWorkflow']?.good, layers: null }))
        .path,
    ).toBe('layers')
  })
})

it('a value nested thousands of levels deep is refused, not a crash', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
  for (const [name, field] of [
    ['SequentialWorkflow', 'agents'],
    ['SequentialWorkflow', 'task'],
    ['GraphWorkflow', 'edges'],
    ['AgentRearrange', 'flow'],
    ['MixtureOfAgents', 'aggregator'],
  ] as const)
    expect(errorOf(workflow(name).plan({ ...rows[name]?.good, [field]: deep })).path.startsWith(field)).toBe(
      true,
    )
})
