import { calls, memoryHost, says, workerSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, results, sequential, teamResult, toolMessages } from '../../test/loop-kit.ts'
import type { TeamRunResult } from './loop-spec.ts'

const delivered = { ...sequential, deliver: 'user' }
const team = (over: Partial<TeamRunResult> = {}) =>
  memoryHost({ runTeam: async () => ({ ...teamResult, ...over }) })
const report = '# Report\n\n| Files | 7 |\n'.repeat(40)

describe('a team whose text is delivered to the user (D-61)', () => {
  it('ends the run with that text, word for word, and no model is asked again', async () => {
    const loop = begin({
      replies: [calls(['SequentialWorkflow', delivered])],
      host: team({ final_output: report }),
    })
    const end = await loop.end
    expect([end.status, end.facts.outputText, end.usage.calls, loop.provider.requests.length]).toEqual([
      'completed',
      report,
      1,
      1,
    ])
    expect(end).toMatchObject({ provider: 'scripted', callsOfAnswers: [['c1']] })
    expect(
      loop.host.events.findLast((event) => event.type === 'assistant_message_added')?.data,
    ).toMatchObject({
      content: report,
      finish_reason: 'delivered',
      usage: { calls: 0 },
      delivered_from: 'team1',
    })
  })

  it('records the result, the answer and the end in one entry, and the text only as the answer', async () => {
    const loop = begin({
      replies: [calls(['SequentialWorkflow', delivered])],
      host: team({ final_output: report }),
    })
    await loop.end
    expect(loop.host.entries.at(-1)?.map((event) => event.type)).toEqual([
      'tool_result_recorded',
      'assistant_message_added',
      'run_completed',
    ])
    expect(JSON.parse(results(loop.host)[0]?.content ?? '')).toEqual({
      team_run_id: 'team1',
      outcome: 'complete',
      delivered: 'user',
      chars: report.length,
    })
  })

  it.each([
    [
      'a team that is not complete',
      { outcome: 'incomplete' as const },
      'The team is not complete (incomplete)',
    ],
    ['an empty text', { final_output: ' ', outputs: [] }, 'empty answer'],
    [
      'a tool call that is written as text',
      { final_output: '<tool_call>{"name": "add"}</tool_call>', outputs: [] },
      'written as text',
    ],
  ])('goes to the root in spite of it: %s', async (_, over, why) => {
    const loop = begin({
      replies: [calls(['SequentialWorkflow', delivered]), says('I explain.')],
      host: team(over),
    })
    expect((await loop.end).facts.outputText).toBe('I explain.')
    expect(JSON.parse(results(loop.host)[0]?.content ?? '')).toMatchObject({
      not_delivered: expect.stringContaining(why) as string,
    })
  })

  it('goes to the root if the answer had another call', async () => {
    const replies = [calls(['SequentialWorkflow', delivered], ['add', { a: 1, b: 2 }]), says('both')]
    const loop = begin({ replies, host: team() })
    expect((await loop.end).facts.outputText).toBe('both')
    expect(toolMessages(loop.provider)[0]?.[1]).toContain('The answer had other calls')
  })

  it('deliver: "root" is as if it were left out', async () => {
    const loop = begin({
      replies: [calls(['SequentialWorkflow', { ...sequential, deliver: 'root' }]), says('mine')],
      host: team(),
    })
    expect((await loop.end).facts.outputText).toBe('mine')
    expect(toolMessages(loop.provider)[0]?.[1]).not.toContain('not_delivered')
  })
})

describe('the text of a team', () => {
  const read = (host: ReturnType<typeof team>, args: object = sequential, more = [says('x')]) =>
    begin({ replies: [calls(['SequentialWorkflow', args]), ...more], host })
  const textsOf = (loop: ReturnType<typeof read>): string => toolMessages(loop.provider)[0]?.[1] as string

  it('reaches the root once', async () => {
    const loop = read(team({ final_output: report, outputs: [{ node_id: 'a', output: report }] }))
    await loop.end
    expect(textsOf(loop).split('Report').length - 1).toBe(40)
  })

  it('of several outputs reaches it once, as sections', async () => {
    const outputs = [
      { node_id: 'a', output: 'first' },
      { node_id: 'b', output: 'second' },
    ]
    const loop = read(team({ final_output: '## a\n\nfirst\n\n## b\n\nsecond', outputs }))
    await loop.end
    expect(JSON.parse(textsOf(loop))).toMatchObject({
      final_output: '## a\n\nfirst\n\n## b\n\nsecond',
      outputs: [{ node_id: 'a' }, { node_id: 'b' }],
    })
    expect(textsOf(loop).split('second')).toHaveLength(2)
  })

  it('that is no part of the final output is given, too, even if the final output contains its words', async () => {
    const outputs = [
      { node_id: 'a', output: 'yes' },
      { node_id: 'b', output: 'yesterday' },
    ]
    const loop = read(team({ final_output: 'yesterday', outputs }))
    await loop.end
    expect(JSON.parse(textsOf(loop))).toMatchObject({
      outputs: [{ node_id: 'a', output: 'yes' }, { node_id: 'b' }],
    })
  })

  it('is bounded, and the rest is read by its reference without running the team again', async () => {
    const long = `${'a'.repeat(99_999)}😀${'b'.repeat(60_000)}`
    let runs = 0
    const host = memoryHost({
      runTeam: async () => (
        runs++,
        { ...teamResult, final_output: long, outputs: [{ node_id: 'a', output: long }] }
      ),
    })
    const rest = [
      calls(['team_output', { call_id: 'c1', offset: 99_999 }]),
      calls(['team_output', { call_id: 'c1', offset: 149_999 }]),
      says('read'),
    ]
    const loop = read(host, sequential, rest)
    expect((await loop.end).facts.outputText).toBe('read')
    expect(textsOf(loop)).toContain(
      '[cut: 60002 more characters: read them with team_output {\\"call_id\\":\\"c1\\",\\"offset\\":99999}]',
    )
    expect(textsOf(loop).length).toBeLessThan(101_000)
    const parts = results(host)
      .slice(1)
      .map(({ content }) => content)
    expect(parts[0]).toMatch(/^😀b+\n\[10002 more characters: offset 149999\]$/u)
    expect(parts[1]).toBe('b'.repeat(10_002))
    expect(runs).toBe(1)
    expect(
      loop.provider.requests.map(({ tools }) => tools.some(({ name }) => name === 'team_output')),
    ).toEqual([false, true, true, true])
  })

  it.each([
    [{ call_id: 'c9' }, 'unknown_team', 'c9'],
    [{ call_id: 'c1', node_id: 'zoe' }, 'invalid_arguments', 'the outputs of the team are those of'],
    [{ call_id: 'c1', offset: 99 }, 'invalid_arguments', '11 characters'],
    [{}, 'invalid_arguments', 'call_id'],
  ])('read with %j is refused', async (args, error, part) => {
    const loop = read(team(), sequential, [calls(['team_output', args]), says('x')])
    await loop.end
    expect(results(loop.host)[1]).toMatchObject({
      success: false,
      error,
      content: expect.stringContaining(part) as string,
    })
  })

  it('obeys the rules as any tool', async () => {
    const permissions = [{ tool: 'team_output', decision: 'deny' as const }]
    const loop = begin({
      replies: [
        calls(['SequentialWorkflow', sequential]),
        calls(['team_output', { call_id: 'c1' }]),
        says('x'),
      ],
      host: team(),
      permissions,
    })
    await loop.end
    expect(results(loop.host)[1]).toMatchObject({
      tool_name: 'team_output',
      success: false,
      error: 'permission_denied',
    })
  })

  it('is within reach of no worker', async () => {
    const loop = begin({
      replies: [calls(['team_output', { call_id: 'c1' }]), says('x')],
      spec: workerSpec(),
    })
    await loop.end
    expect(results(loop.host)[0]).toMatchObject({ error: 'tool_not_available' })
  })
})
