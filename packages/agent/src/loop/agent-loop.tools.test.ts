import { calls, memoryHost, rootSpec, says, type ScriptedProvider, until, workerSpec } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import {
  add,
  begin,
  guided,
  probe,
  results,
  sequential,
  teamResult,
  toolMessages,
  turns,
} from '../../test/loop-kit.ts'
import type { Tool } from '../tools/tool.ts'

describe('tool calls that go wrong', () => {
  const never = (): Promise<never> => new Promise(() => {})
  test.each<[string, readonly [string, unknown], Tool[], string, string]>([
    ['arguments that are not JSON', ['add', '{"a": 1,'], [add], 'invalid_arguments', 'not JSON'],
    ['arguments that do not fit', ['add', { a: 'one', b: 2 }], [add], 'invalid_arguments', 'a'],
    ['arguments that are not an object', ['add', '[1,2]'], [add], 'invalid_arguments', 'object'],
    ['a tool there is not', ['subtract', {}], [add], 'tool_not_available', 'subtract'],
    [
      'a tool that throws',
      ['tool', {}],
      [
        probe('tool', () => {
          throw new Error('boom')
        }),
      ],
      'tool_crash',
      'boom',
    ],
    [
      'a tool that throws no error',
      ['tool', {}],
      [probe('tool', () => Promise.reject(undefined as unknown as Error))],
      'tool_crash',
      'undefined',
    ],
    ['a tool whose result is no JSON', ['tool', {}], [probe('tool', () => 10n)], 'invalid_result', 'bigint'],
    [
      'a tool whose result refers to itself',
      ['tool', {}],
      [
        probe('tool', () => {
          const ring: unknown[] = []
          ring.push(ring)
          return ring
        }),
      ],
      'invalid_result',
      'circular',
    ],
    ['a workflow call that is not JSON', ['SequentialWorkflow', '{'], [add], 'invalid_arguments', 'not JSON'],
    [
      'a workflow call without agents',
      ['SequentialWorkflow', { task: 't', agents: [] }],
      [add],
      'agents_empty',
      '',
    ],
    [
      'a workflow call with a skill there is not',
      ['SequentialWorkflow', { task: 't', agents: [{ name: 'a', instruction: 'i', use_skill: 'gone' }] }],
      [add],
      'unknown_skill',
      'gone',
    ],
    ['a tool that hangs', ['tool', {}], [probe('tool', never)], 'tool_timeout', 'within 1 s'],
  ])('%s has a result the model can read, and the run goes on', async (_, call, tools, error, words) => {
    const loop = begin({ replies: [calls(call), says('I see')], tools })
    await until('the call is journaled', () => loop.host.types.includes('assistant_message_added'))
    await turns()
    loop.clock.advance(1_000)
    expect((await loop.end).status).toBe('completed')
    expect(results(loop.host)).toMatchObject([{ call_id: 'c1', success: false, error }])
    expect(toolMessages(loop.provider)[0]?.[1]).toContain(words)
  })

  it('a result that is undefined is null, and one that is text is the text', async () => {
    const { end, provider } = begin({
      replies: [calls(['nothing', {}], ['text', {}]), says('ok')],
      tools: [probe('nothing', () => undefined), probe('text', () => '{"not": parsed')],
    })
    await end
    expect(toolMessages(provider)).toEqual([
      ['c1', 'null'],
      ['c2', '{"not": parsed'],
    ])
  })

  it('one that fails takes no other with it', async () => {
    const { end, host } = begin({
      replies: [calls(['add', { a: 1, b: 1 }], ['bad', {}], ['add', { a: 2, b: 2 }]), says('ok')],
      tools: [
        add,
        probe('bad', () => {
          throw new Error('boom')
        }),
      ],
    })
    await end
    expect(new Map(results(host).map(({ call_id, success }) => [call_id, success]))).toEqual(
      new Map([
        ['c1', true],
        ['c2', false],
        ['c3', true],
      ]),
    )
  })
})

describe('a workflow call', () => {
  it('runs a team with the graph code built, and the model reads what the team gave', async () => {
    const asked: unknown[] = []
    const host = memoryHost({
      runTeam: (callId, graph) => (
        asked.push([callId, graph.nodes.map((node) => node.node_id)]),
        Promise.resolve(teamResult)
      ),
    })
    const { end, provider } = begin({
      replies: [
        calls(['mcp_local_team_workflow_mcp_SequentialWorkflow', sequential]),
        says('as the team says'),
      ],
      host,
    })
    await end
    expect(asked).toEqual([['c1', ['a']]])
    expect(JSON.parse(toolMessages(provider)[0]?.[1] as string)).toEqual({
      ...teamResult,
      outputs: [{ node_id: 'a' }],
    })
  })

  it('whose team is incomplete is a failed call with its outcome', async () => {
    const host = memoryHost({
      runTeam: async () => ({
        ...teamResult,
        outcome: 'incomplete',
        message: '0 of 1 nodes completed; failed: a',
      }),
    })
    const { end } = begin({ replies: [calls(['SequentialWorkflow', sequential]), says('it failed')], host })
    await end
    expect(results(host)).toMatchObject([{ success: false, error: 'team_incomplete' }])
  })

  it('is offered to a root run in every turn without routing, and to a routed one only in the first after single', async () => {
    const offered = (provider: ScriptedProvider): boolean[] =>
      provider.requests.map((request) => request.tools.some((tool) => tool.name === 'SequentialWorkflow'))
    const replies = [calls(['add', { a: 1, b: 1 }]), says('2')]
    const open = begin({ replies })
    await open.end
    expect(offered(open.provider)).toEqual([true, true])
    const routed = begin({ replies, skills: [guided], spec: rootSpec({ part: { skill: 'guided' } }) })
    await routed.end
    expect(offered(routed.provider)).toEqual([true, false])
    expect(routed.host.types).toContain('execution_mode_selected')
  })

  it('after single is refused though the model calls it, and what it called beside it runs (D-05)', async () => {
    const { end, host } = begin({
      replies: [
        calls(['add', { a: 1, b: 1 }]),
        calls(['SequentialWorkflow', sequential, 'w'], ['add', { a: 2, b: 2 }, 'x']),
        says('4'),
      ],
      skills: [guided],
      spec: rootSpec({ part: { skill: 'guided' } }),
    })
    expect((await end).status).toBe('completed')
    expect(results(host).map(({ call_id, error }) => [call_id, error])).toEqual([
      ['c1', null],
      ['w', 'execution_mode_locked_single'],
      ['x', null],
    ])
  })

  it('that is all a locked answer holds leads straight to the next turn', async () => {
    const { end, provider } = begin({
      replies: [calls(['add', { a: 1, b: 1 }]), calls(['GraphWorkflow', {}]), says('4')],
      skills: [guided],
      spec: rootSpec({ part: { skill: 'guided' } }),
    })
    expect((await end).status).toBe('completed')
    expect(provider.requests).toHaveLength(3)
  })

  it('the order of a staged task: skills, mode, call (D-08)', async () => {
    const host = memoryHost({ runTeam: async () => teamResult })
    await begin({
      replies: [calls(['SequentialWorkflow', sequential]), says('done')],
      host,
      skills: [guided],
      spec: rootSpec({ part: { skill: 'guided' } }),
    }).end
    const wanted = new Set(['skill_activation_snapshotted', 'execution_mode_selected', 'tool_call_started'])
    expect(host.types.filter((type) => wanted.has(type))).toEqual([
      'skill_activation_snapshotted',
      'execution_mode_selected',
      'tool_call_started',
    ])
  })
})

describe('a worker (D-09)', () => {
  test.each([[null], [['add', 'SequentialWorkflow', 'mcp_local_team_workflow_mcp_GraphWorkflow']]])(
    'with the scope %j sees no workflow tool, and one it makes up does not run',
    async (allowedToolNames) => {
      const { end, host, provider } = begin({
        replies: [
          calls(['SequentialWorkflow', sequential], ['mcp_local_team_workflow_mcp_GraphWorkflow', {}]),
          says('ok'),
        ],
        spec: workerSpec({ part: { allowedToolNames } }),
      })
      await end
      expect(provider.requests.flatMap((request) => request.tools.map((tool) => tool.name))).toEqual([
        'add',
        'add',
      ])
      expect(results(host).map(({ error }) => error)).toEqual(['tool_not_available', 'tool_not_available'])
    },
  )

  it('with an empty scope has no tool at all, and what was dropped is on record (D-41)', async () => {
    const { end, host, provider } = begin({
      replies: [calls(['add', { a: 1, b: 1 }]), says('ok')],
      spec: workerSpec({ part: { allowedToolNames: [] } }),
    })
    await end
    expect(provider.requests[0]?.tools).toEqual([])
    expect(results(host)).toMatchObject([{ error: 'tool_not_available' }])
    expect(host.events.find((event) => event.type === 'tool_scope_applied')?.data).toEqual({
      allowed: [],
      effective: [],
      dropped: [],
    })
  })

  it('a scope names tools there are not: they are dropped, and it says so', async () => {
    const { end, host } = begin({
      replies: [says('ok')],
      spec: workerSpec({ part: { allowedToolNames: ['gone', 'add'] } }),
    })
    await end
    expect(host.events.find((event) => event.type === 'tool_scope_applied')?.data).toEqual({
      allowed: ['gone', 'add'],
      effective: ['add'],
      dropped: ['gone'],
    })
  })

  it('has no routing, whatever its skill advises', async () => {
    const { end, host } = begin({
      replies: [says('ok')],
      skills: [guided],
      spec: workerSpec({ part: { skill: 'guided' } }),
    })
    await end
    expect(host.types).not.toContain('execution_mode_selected')
    expect(host.types).toContain('skill_activation_snapshotted')
  })
})

describe('calls of one answer (D-66)', () => {
  const effects = (tool: Tool, kind: 'none' | 'reads' | 'writes'): Tool => ({ ...tool, effects: kind })

  it('that write wait for those before them and hold those after them', async () => {
    let content = 'old'
    const gate = Promise.withResolvers<void>()
    const read = effects(
      probe('read', () => content),
      'reads',
    )
    const write = effects(
      probe('write', async () => {
        await gate.promise
        content = 'new'
        return 'written'
      }),
      'writes',
    )
    const loop = begin({
      replies: [calls(['read', {}], ['write', {}], ['read', {}], ['read', {}]), says('ok')],
      tools: [read, write],
    })
    await until('the first read is recorded', () => loop.host.types.includes('tool_result_recorded'))
    await turns()
    const begun = loop.host.events.flatMap((event) =>
      event.type === 'tool_call_started' ? [event.data.call_id] : [],
    )
    expect(begun).toEqual(['c1', 'c2'])
    gate.resolve()
    await loop.end
    expect(toolMessages(loop.provider).map(([, text]) => text)).toEqual(['old', 'written', 'new', 'new'])
  })

  it('that only read run together, and one that computes is not held', async () => {
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const tools = [
      effects(
        probe('one', () => (second.resolve('b'), first.promise)),
        'reads',
      ),
      effects(
        probe('two', () => second.promise),
        'reads',
      ),
      effects(
        probe('sum', () => (first.resolve('a'), 'c')),
        'none',
      ),
      probe('write', () => 'd'),
    ]
    const loop = begin({
      replies: [calls(['one', {}], ['two', {}], ['write', {}], ['sum', {}]), says('ok')],
      tools,
    })
    await loop.end
    expect(toolMessages(loop.provider).map(([, text]) => text)).toEqual(['a', 'b', 'd', 'c'])
  })

  it('that are held begin after a failed write, and end with a cancelled run', async () => {
    const stop = Promise.withResolvers<void>()
    const bad = probe('bad', () => Promise.reject(new Error('boom')))
    const hang = probe('hang', () => (stop.resolve(), new Promise(() => {})))
    const never = probe('never', () => 'x')
    const loop = begin({
      replies: [calls(['bad', {}], ['hang', {}], ['never', {}]), says('ok')],
      tools: [bad, hang, never],
    })
    await stop.promise
    loop.cancel('enough')
    expect(await loop.end).toMatchObject({ status: 'cancelled' })
    expect(never.calls).toEqual([])
    expect(results(loop.host).map(({ error }) => error)).toEqual(['tool_crash', 'cancelled', 'cancelled'])
  })
})
