// What the simulated model does beyond the skill folder-report: finds arguments, writes about pages, leads a
// team.
import { type ToolSchema, toolNameAtProvider, workerMessage } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import type { EvidenceRequirement } from '@beaver/core/evidence'
import { skillMessage } from '@beaver/core/fold'
import { describe, expect, it, test } from 'vitest'
import { answer } from './answer.ts'

interface Asked {
  readonly instruction: string
  readonly task?: string
  readonly dependencies?: readonly { node_id: string; output: string }[]
  readonly evidence?: readonly EvidenceRequirement[]
}

const ordered = ({
  instruction,
  task = 'the task',
  dependencies = [],
  evidence = [],
}: Asked): ChatMessage => ({
  role: 'user',
  content: workerMessage({ task, instruction, dependencies, requiredEvidence: evidence }, 'bcdfghjk'),
})
const tool = (name: string, parameters: Record<string, unknown> = {}): ToolSchema => ({
  name,
  description: '',
  parameters: { type: 'object', ...parameters },
})
const fetcher = tool('web_fetch', { properties: { url: { type: 'string' } }, required: ['url'] })
const reader = tool('read_file', { properties: { path: { type: 'string' } }, required: ['path'] })

/** The calls it makes, as `name arguments`. */
const callsOf = (messages: readonly ChatMessage[], tools: readonly ToolSchema[]): string[] =>
  answer({ messages, tools }).toolCalls.map((call) => `${call.name} ${call.arguments}`)

/** What it says once its calls have these results. */
function saysAfter(start: ChatMessage, tools: readonly ToolSchema[], results: readonly unknown[]): string {
  const first = answer({ messages: [start], tools })
  expect(first.toolCalls).toHaveLength(results.length)
  const made: ChatMessage[] = [
    { role: 'assistant', content: null, tool_calls: first.toolCalls },
    ...first.toolCalls.map((call, index): ChatMessage => ({
      role: 'tool',
      tool_call_id: call.id,
      content: textOf(results[index]),
    })),
  ]
  return answer({ messages: [start, ...made], tools }).content ?? ''
}
const textOf = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result))
const says = (asked: Asked): string => answer({ messages: [ordered(asked)], tools: [] }).content ?? ''

describe('the arguments of a call', () => {
  it('are every example after the name of the tool, in one answer', () => {
    expect(
      callsOf(
        [
          ordered({
            instruction:
              'Call `web_fetch` with {"url": "https://a.example/1"} and {"url": "https://a.example/2"}.',
          }),
        ],
        [fetcher],
      ),
    ).toEqual(['web_fetch {"url":"https://a.example/1"}', 'web_fetch {"url":"https://a.example/2"}'])
  })

  it('are the URLs of what was handed on, each once', () => {
    const output = 'See https://a.example/1, and (https://a.example/2). Again: https://a.example/1'
    expect(
      callsOf(
        [ordered({ instruction: 'Call `web_fetch`.', dependencies: [{ node_id: 'x', output }] })],
        [fetcher],
      ),
    ).toEqual(['web_fetch {"url":"https://a.example/1"}', 'web_fetch {"url":"https://a.example/2"}'])
  })

  it('are the URLs of an earlier result', () => {
    const start = ordered({
      instruction: 'Call `web_search` with {"query": "q"}, then `web_fetch` on each result.',
    })
    const found = JSON.stringify({
      results: [{ url: 'https://a.example/1' }, { url: 'https://a.example/2' }],
    })
    const messages: ChatMessage[] = [
      start,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', name: 'web_search', arguments: '{"query":"q"}' }],
      },
      { role: 'tool', tool_call_id: 'c', content: found },
    ]
    expect(callsOf(messages, [tool('web_search'), fetcher])).toEqual([
      'web_fetch {"url":"https://a.example/1"}',
      'web_fetch {"url":"https://a.example/2"}',
    ])
  })

  it('are none, and no call is made, when a URL is wanted and there is none', () => {
    expect(callsOf([ordered({ instruction: 'Call `web_fetch`.' })], [fetcher])).toEqual([])
  })
})

describe('a root agent', () => {
  const brief = tool(toolNameAtProvider('workflow:brief'), {
    properties: {
      path: { type: 'string' },
      audience: { type: 'string', enum: ['management', 'engineers'] },
      words: { type: 'integer' },
    },
    required: ['path'],
  })
  const system: ChatMessage = {
    role: 'system',
    content: 'You are an agent.\n\n# You\nFor a brief call `workflow:brief`.\n\n# More\nCall `other`.',
  }
  const user = (content: string): ChatMessage => ({ role: 'user', content })

  it('calls the tool its profile names, with the path and the choice its task names', () => {
    expect(callsOf([system, user('Brief me on notes/a.md, for engineers')], [brief, tool('other')])).toEqual([
      'workflow-_brief {"path":"notes/a.md","audience":"engineers"}',
    ])
    expect(callsOf([system, user('Brief me on notes/a.md')], [brief])).toEqual([
      'workflow-_brief {"path":"notes/a.md"}',
    ])
  })

  it('calls the tool its task names, with the example of the task', () => {
    expect(callsOf([user('Use `workflow:brief` with {"path": "b.md"}.')], [brief])).toEqual([
      'workflow-_brief {"path":"b.md"}',
    ])
  })

  it('answers with what a workflow returned, and says that it only passed it on', () => {
    expect(saysAfter(user('Use `workflow:brief` with {"path": "b.md"}.'), [brief], ['# The brief'])).toBe(
      "# The brief\n\nPassed on as it is by Beaver's simulated model, which cannot reason about it.",
    )
  })

  it('answers with what a team returned', () => {
    const start = user('Use `ConcurrentWorkflow` with {"task": "t", "agents": []}.')
    expect(
      saysAfter(start, [tool('ConcurrentWorkflow')], [{ outcome: 'complete', final_output: 'All of it.' }]),
    ).toBe('All of it.')
  })

  it('passes a skill’s edges on to the workflow that takes them, and no field it does not take', () => {
    const agents = ['a', 'b'].map((name) => ({ name, instruction: 'i' }))
    const block = {
      version: 1,
      preferred_tool: 'GraphWorkflow',
      agents,
      edges: [['a', 'b']],
      output_agent: 'b',
      flow: 'a -> b',
      output_boundary: { allow: [] },
    }
    const skill = skillMessage(
      { name: 's', content: `\`\`\`beaver-team-workflow\n${JSON.stringify(block)}\n\`\`\`\n` },
      'bcdfghjk',
    )
    const graph = tool('GraphWorkflow', {
      properties: { task: {}, agents: {}, edges: {}, output_agent: {}, allow_disconnected: {} },
    })
    const [call] = answer({ messages: [skill, user('do it')], tools: [graph] }).toolCalls
    expect(JSON.parse(call?.arguments ?? '')).toEqual({
      task: 'do it',
      agents,
      edges: [['a', 'b']],
      output_agent: 'b',
    })
  })
})

describe('a write-up of pages', () => {
  const page = (company: string, revenue: string) => ({
    url: `https://x.example/${company}`,
    title: `Results of ${company}`,
    text: `# Results\n\nSample.\n\n- Company: ${company}\n- Unit: million\n\n| Metric | FY1 |\n|---|---|\n| Revenue | ${revenue} |\n`,
  })
  const fetched = (instruction: string, more: Partial<Asked> = {}): string =>
    saysAfter(
      ordered({
        instruction: `Call \`web_fetch\` with {"url": "https://x.example/A"} and {"url": "https://x.example/B"}. ${instruction}`,
        ...more,
      }),
      [fetcher],
      [page('A', '1,000'), page('B', '20.5')],
    )

  it('carries them over whole, with title and source', () => {
    expect(fetched('Collect them.')).toBe(
      ['A', 'B']
        .map((name) => page(name, name === 'A' ? '1,000' : '20.5'))
        .map(
          ({ title, url, text }) =>
            `## ${title}\n\nSource: ${url}\n\n${text.replace('# Results\n\n', '').trim()}`,
        )
        .join('\n\n'),
    )
  })

  it('sets them side by side when asked to compare', () => {
    expect(fetched('Compare them.')).toContain(
      '| Metric (FY1) |     A |    B |\n|:-------------|------:|-----:|\n| Revenue      | 1,000 | 20.5 |',
    )
  })

  it('reports in Chinese when asked to, says that it is simulated, and charts only figures of the pages', () => {
    const report = fetched('Write a Chinese report that compares them, with validation and chart data.', {
      task: 'A against B',
    })
    expect(report).toMatch(/^# A against B\n\n> 本文由 Beaver 的模拟模型（beaver-simulated-1）/)
    expect(report).toContain('- Unit：各来源一致（million）。')
    expect(report).toContain('{"name": "Revenue", "values": [1000, 20.5]}')
    expect(report).toContain('- Results of B: https://x.example/B\n  Sample.')
    const figures = new Set(report.match(/\d[\d,.]*\d|\d/g))
    for (const figure of ['1,000', '1000', '20.5', '1']) figures.delete(figure)
    expect([...figures]).toEqual([])
  })

  it('tells which received figure the source does not have', () => {
    const output = '| Metric | A | B |\n|---|---|---|\n| Revenue | 1,000 | 99 |'
    expect(fetched('Validate them.', { dependencies: [{ node_id: 'x', output }] })).toContain(
      '- Received, and different in the source: B, Revenue: 99 ≠ 20.5.',
    )
  })

  it('quotes the beginning of each for a summary', () => {
    expect(fetched('Summarise them.')).toBe(
      ['A', 'B']
        .map(
          (name) =>
            `Results of ${name}: Sample. (https://x.example/${name}, quoted by Beaver's simulated model)`,
        )
        .join('\n\n'),
    )
  })

  it('has nothing but the tables when asked for those', () => {
    const instruction = 'Call `read_file` with {"path": "a.md"} and answer with the table in it.'
    expect(
      saysAfter(
        ordered({ instruction }),
        [reader],
        [{ path: 'a.md', text: '# T\n\nProse.\n\n| a |\n|---|\n| 1 |\n', encoding: 'utf-8' }],
      ),
    ).toBe("| a |\n|---|\n| 1 |\n\nT (a.md, quoted by Beaver's simulated model)")
  })
})

describe('a report on what others found', () => {
  const dependencies = [
    { node_id: 'a', output: '## Found by a\n\nOne.\n\n### More\n\nTwo.' },
    { node_id: 'b', output: 'Three.\n\nOne.' },
  ]

  it('has a section of each, and says nothing twice', () => {
    expect(says({ instruction: 'Write the report.', task: 'T', dependencies })).toBe(
      "# T\n\n> Written by Beaver's simulated model (beaver-simulated-1): fixed rules, no language model was asked. Figures and quotations are copied from the sources named.\n\n## Found by a\n\nOne.\n\n### More\n\nTwo.\n\n## b\n\nThree.",
    )
  })

  it('is what the task says where the instruction asks for the result of the task', () => {
    expect(
      says({
        instruction: 'Put them together into the result for the <task>.',
        task: '写一份报告',
        dependencies,
      }),
    ).toMatch(/^# 写一份报告\n\n> 本文由/)
  })
})

describe('whoever leads', () => {
  const members =
    'Members:\n- tester: Reads\nthe runs. (tools: read_file)\n- scout (tools: read_file)\n- writer: Writes. (tools: none)\n\nAnswer with JSON only: '

  it('plans with the members it was shown: those with tools first, the others after them', () => {
    expect(
      JSON.parse(
        says({
          instruction: `You coordinate a team. ${members}{"plan": [{"member": "<name>"}]}. At most 48 tasks.`,
          task: 'T',
        }),
      ),
    ).toEqual({
      plan: [
        { member: 'tester', task: 'Reads\nthe runs.', depends_on: [] },
        { member: 'scout', task: 'T', depends_on: [] },
        { member: 'writer', task: 'Writes.', depends_on: ['tester', 'scout'] },
      ],
    })
  })

  const lead =
    'You lead a team. Workers:\n- w1: Digs.\n- w2: Fills.\n\nAnswer with JSON only. To delegate: {"delegations": []}. When you have the result: {"final": "…"}.'

  it('delegates to the workers it was shown, and ends with what they found', () => {
    expect(JSON.parse(says({ instruction: lead }))).toEqual({
      delegations: [
        { worker: 'w1', instruction: 'Digs.', depends_on: [] },
        { worker: 'w2', instruction: 'Fills.', depends_on: [] },
      ],
    })
    const { final } = JSON.parse(
      says({ instruction: lead, dependencies: [{ node_id: 'w1 #1.1', output: 'A hole.' }] }),
    ) as { final: string }
    expect(final).toContain('## w1 #1.1\n\nA hole.')
  })

  test.each([
    [1, '甲'],
    [2, 'bob'],
    [3, '甲'],
  ])('gives turn %i to %s', (turn, name) => {
    const instruction = `This is turn ${turn} of at most 9. Name who speaks next: answer with {"next": "<name>"}, one of "甲", "bob".`
    expect(JSON.parse(says({ instruction }))).toEqual({ next: name })
  })

  it('lets the highest bid go round', () => {
    const bid = (self: string, turn: number): number =>
      Number(
        says({
          instruction: `You are ${self}, in a discussion between a, b, c. This is turn ${turn} of at most 9. Bid for this turn: answer with one whole number.`,
        }),
      )
    expect(
      [1, 2, 3, 4].map((turn) => ['a', 'b', 'c'].toSorted((x, y) => bid(y, turn) - bid(x, turn))[0]),
    ).toEqual(['a', 'b', 'c', 'a'])
  })

  it('votes for the first option', () => {
    const instruction =
      'End with one line "VOTE: <option>". The options, one of which you must write exactly: "yes, now", "no".'
    expect(says({ instruction }).split('\n').at(-1)).toBe('VOTE: yes, now')
  })
})
