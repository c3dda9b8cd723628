import { type DomainEvent, failurePolicies, type FailureClass, foldTask, type RecordedEvent, retryPauseMs } from '@beaver/core'
import {
  calls,
  held,
  type MemoryHost,
  memoryHost,
  rootSpec,
  says,
  type ScriptedProvider,
  scriptedProvider,
  type ScriptedReply,
  until,
  type VirtualClock,
  virtualClock,
  workerSpec,
} from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { type ChatAnswer, ProviderError } from '../provider/chat-provider.ts'
import type { Skill } from '../skills/skill.ts'
import { defineTool, type Tool } from '../tools/tool.ts'
import { type LoopServices, runAgentLoop } from './agent-loop.ts'
import type { LoopEnd, LoopSpec, TeamResult } from './loop-spec.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  idempotent: true,
  run: ({ a, b }) => a + b,
})
const guided: Skill = {
  name: 'guided',
  description: 'd',
  body: 'Use SequentialWorkflow.',
  sha256: 'x',
  folder: '/skills/guided',
  guidance: { version: 1, preferred_tool: 'SequentialWorkflow', agents: [{ name: 'a', instruction: 'do a' }] },
}
const sequential = { task: 't', agents: [{ name: 'a', instruction: 'do a' }] }
const teamResult: TeamResult = {
  team_run_id: 'team1',
  outcome: 'complete',
  final_output: 'of the team',
  outputs: [{ node_id: 'a', output: 'of the team' }],
  message: null,
  failures: [],
}

/** A tool that counts its calls and does what the test says. */
function probe(
  name: string,
  run: (input: { n?: number | undefined }, signal: AbortSignal) => unknown,
  idempotent = false,
): Tool & { readonly calls: number[] } {
  const made: number[] = []
  const tool = defineTool({
    name,
    description: name,
    input: z.strictObject({ n: z.number().optional() }),
    idempotent,
    run: (input, { signal }) => (made.push(input.n ?? 0), run(input, signal)),
  })
  return { ...tool, calls: made }
}

interface Loop {
  readonly end: Promise<LoopEnd>
  readonly host: MemoryHost
  readonly provider: ScriptedProvider
  readonly clock: VirtualClock
  cancel(reason?: string): void
}

interface Given {
  readonly replies: readonly ScriptedReply[]
  readonly tools?: readonly Tool[]
  readonly skills?: readonly Skill[]
  readonly spec?: LoopSpec
  readonly host?: MemoryHost
  readonly random?: number
}

function begin({ replies, tools = [add], skills = [], spec = rootSpec(), host = memoryHost(), random = 0 }: Given): Loop {
  const provider = scriptedProvider(replies)
  const clock = virtualClock()
  const stop = new AbortController()
  const services: LoopServices = { provider, tools, skills, clock, random: () => random, toolTimeoutMs: 1_000 }
  const end = runAgentLoop(spec, services, host, stop.signal)
  end.catch(() => {})
  return { end, host, provider, clock, cancel: (reason = 'enough') => stop.abort(reason) }
}

const results = (host: MemoryHost) => host.events.flatMap((event) => (event.type === 'tool_result_recorded' ? [event.data] : []))
const lastMessages = (provider: ScriptedProvider) => provider.requests.at(-1)?.messages ?? []
const toolMessages = (provider: ScriptedProvider) =>
  lastMessages(provider).flatMap((message) => (message.role === 'tool' ? [[message.tool_call_id, message.content]] : []))

describe('a run', () => {
  it('of one answer is four entries of state and one end', async () => {
    const { end, host, provider } = begin({ replies: [says('42')] })
    expect(await end).toMatchObject({
      status: 'completed',
      facts: { outputText: '42' },
      failure: null,
      usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
      provider: 'scripted',
      model: 'scripted-model',
    })
    expect(host.entries.map((entry) => entry.map((event) => event.type))).toEqual([
      ['run_started', 'system_prompt_snapshotted', 'user_message_added'],
      ['assistant_message_added', 'run_completed'],
    ])
    expect(provider.requests[0]?.messages.map((message) => message.role)).toEqual(['system', 'user'])
  })

  it('of two tools calls them, records them, and gives the results back in the order of the calls', async () => {
    const slow = held<string>()
    const first = probe('first', () => slow.promise)
    const second = probe('second', () => 'two')
    const loop = begin({ replies: [calls(['first', {}], ['second', {}]), says('done')], tools: [first, second] })
    await until('the second tool has its result', () => results(loop.host).length === 1)
    expect(results(loop.host)[0]?.tool_name).toBe('second')
    slow.settle('one')
    expect((await loop.end).facts.tools.map((fact) => fact.tool)).toEqual(['second', 'first'])
    expect(toolMessages(loop.provider)).toEqual([
      ['c1', 'one'],
      ['c2', 'two'],
    ])
    expect(loop.host.types).toEqual([
      ...['run_started', 'system_prompt_snapshotted', 'user_message_added'],
      ...['assistant_message_added', 'tool_call_started', 'tool_call_started'],
      ...['tool_result_recorded', 'tool_result_recorded'],
      ...['assistant_message_added', 'run_completed'],
    ])
  })

  it('tells its host how it ends with the events that end it, and only with those', async () => {
    const { end, host } = begin({ replies: [calls(['add', { a: 1, b: 2 }]), says('3')] })
    await end
    expect(host.ends).toMatchObject([{ status: 'completed', facts: { outputText: '3' }, usage: { calls: 2 } }])
  })

  it('continues from the history of its session, after the system prompt and before its own message', async () => {
    const history = [
      { role: 'user' as const, content: 'before' },
      { role: 'assistant' as const, content: 'answered' },
    ]
    const { end, provider } = begin({ replies: [calls(['add', { a: 1, b: 1 }]), says('2')], spec: rootSpec({ history }) })
    await end
    expect(lastMessages(provider).map((message) => [message.role, message.role === 'system' ? '' : message.content])).toEqual([
      ['system', ''],
      ['user', 'before'],
      ['assistant', 'answered'],
      ['user', 'do it'],
      ['assistant', null],
      ['tool', '2'],
    ])
  })

  it('that used up its iterations fails instead of asking again', async () => {
    const again = calls(['add', { a: 1, b: 1 }])
    const { end, provider } = begin({ replies: [again, again, again], spec: rootSpec({ start: { max_tool_iterations: 2 } }) })
    expect(await end).toMatchObject({ status: 'failed', failure: { class: 'iterations_exhausted' } })
    expect(provider.requests).toHaveLength(2)
  })

  it('whose task is lost in the middle rejects, and does nothing more', async () => {
    const tool = probe('tool', () => 'x')
    const host = memoryHost()
    const loop = begin({ replies: [calls(['tool', {}]), says('never')], tools: [tool], host })
    host.hold('assistant_message_added')
    await until('the answer waits to be durable', () => host.waiting.length === 1)
    host.refuse(new Error('fenced'))
    await expect(loop.end).rejects.toThrow('fenced')
    expect([tool.calls.length, loop.provider.requests.length]).toEqual([0, 1])
  })
})

describe('durable before effect (L1)', () => {
  it('the provider is not asked before the message it is asked with is durable', async () => {
    const host = memoryHost()
    host.hold()
    const { end, provider } = begin({ replies: [says('x')], host })
    await until('the start waits', () => host.waiting.length === 1)
    await turns()
    expect(provider.requests).toHaveLength(0)
    host.settle()
    await until('the provider is asked', () => provider.requests.length === 1)
    await until('the answer waits', () => host.waiting.length === 1)
    host.settle()
    expect((await end).status).toBe('completed')
  })

  it('no tool starts before the answer that calls it, and its own start, are durable', async () => {
    const tool = probe('tool', () => 'x')
    const host = memoryHost()
    const loop = begin({ replies: [calls(['tool', { n: 1 }], ['tool', { n: 2 }]), says('x')], tools: [tool], host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    expect(host.waiting[0]).toEqual(['assistant_message_added', 'tool_call_started', 'tool_call_started'])
    await turns()
    expect(tool.calls).toEqual([])
    host.settle()
    await until('both results wait', () => host.waiting.length === 2)
    expect(tool.calls).toEqual([1, 2])
    host.settle()
    await turns()
    expect(loop.provider.requests).toHaveLength(1) // the second result is not durable yet
    host.settle()
    await until('the provider is asked again', () => loop.provider.requests.length === 2)
    await until('the end waits', () => host.waiting.length === 1)
    let ended = false
    void loop.end.then(() => (ended = true))
    await turns()
    expect(ended).toBe(false)
    host.settle()
    await loop.end
  })

  it('a failed try is durable before the pause and the next one', async () => {
    const host = memoryHost()
    const loop = begin({ replies: [new ProviderError('rate_limited', 'slow down', { status: 429 }), says('x')], host })
    host.hold('provider_call_failed')
    await until('the failure waits', () => host.waiting.length === 1)
    expect(host.waiting[0]).toEqual(['provider_call_failed'])
    loop.clock.advance(60_000)
    await turns()
    expect(loop.provider.requests).toHaveLength(1)
  })
})

describe('taken up again (L2, L3)', () => {
  const script = (): ScriptedReply[] => [
    calls(['add', { a: 1, b: 2 }], ['add', { a: 3, b: 4 }]),
    { ...calls(['add', { a: 3, b: 7 }]), content: 'one more' },
    says('10'),
  ]

  it('after every prefix of its journal it ends the same, with the same conversation, and asks for no answer it has', async () => {
    const whole = begin({ replies: script() })
    const wholeEnd = await whole.end
    const { entries } = whole.host
    expect(entries.length).toBeGreaterThan(5)
    for (let kept = 0; kept <= entries.length; kept++) {
      const prefix = entries.slice(0, kept)
      const answered = prefix.flat().filter((event) => event.type === 'assistant_message_added').length
      const host = memoryHost({ entries: prefix })
      const again = begin({ replies: script().slice(answered), host, spec: rootSpec({ resume: kept === 0 ? null : prefix.flat() }) })
      const end = await again.end
      expect([kept, again.provider.repliesLeft]).toEqual([kept, 0])
      expect(strip(end)).toEqual(strip(wholeEnd))
      expect(conversationOf(host.events)).toEqual(conversationOf(whole.host.events))
      expect(host.types.filter((type) => type === 'run_completed')).toHaveLength(1)
    }
  })

  it('an ended run is not run again: its end is read from the journal, and nothing is written', async () => {
    const whole = begin({ replies: [says('42')] })
    await whole.end
    const host = memoryHost({ entries: whole.host.entries })
    const again = begin({ replies: [], host, spec: rootSpec({ resume: whole.host.events }) })
    expect(await again.end).toMatchObject({ status: 'completed', facts: { outputText: '42' } })
    expect(host.entries).toHaveLength(whole.host.entries.length)
  })

  it('a call that had begun is run again only if its tool is idempotent; else it is in doubt', async () => {
    const once = probe('once', () => 'side effect')
    const safe = probe('safe', () => 'read', true)
    const host = memoryHost()
    const first = begin({ replies: [calls(['once', {}], ['safe', {}], ['nowhere', {}])], tools: [once, safe], host })
    host.hold('assistant_message_added') // its process dies with the tools under way: no result is ever durable
    await until('the answer waits', () => host.waiting.length === 1)
    host.settle()
    await until('the tools ran', () => once.calls.length === 1 && safe.calls.length === 1)
    const crashed = memoryHost({ entries: host.entries })
    const again = begin({ replies: [says('ok')], tools: [once, safe], host: crashed, spec: rootSpec({ resume: crashed.events }) })
    expect((await again.end).status).toBe('completed')
    expect([once.calls.length, safe.calls.length]).toEqual([1, 2])
    expect(new Map(results(crashed).map(({ tool_name, error }) => [tool_name, error]))).toEqual(
      new Map([
        ['nowhere', 'tool_not_available'],
        ['once', 'in_doubt'],
        ['safe', null],
      ]),
    )
    expect(toolMessages(again.provider).map(([id]) => id)).toEqual(['c1', 'c2', 'c3'])
    first.cancel()
  })

  it('a workflow call that had begun is called for again: its host knows the team', async () => {
    const asked: string[] = []
    const runTeam = (callId: string): Promise<TeamResult> => (asked.push(callId), Promise.resolve(teamResult))
    const never = memoryHost({ runTeam: () => new Promise(() => {}) })
    begin({ replies: [calls(['SequentialWorkflow', sequential])], host: never })
    await until('the call is journaled', () => never.types.includes('tool_call_started'))
    const host = memoryHost({ entries: never.entries, runTeam })
    const again = begin({ replies: [says('ok')], host, spec: rootSpec({ resume: host.events }) })
    await again.end
    expect(asked).toEqual(['c1'])
    expect(results(host)).toMatchObject([{ call_id: 'c1', success: true }])
  })

  it('the tries of the provider call go on counting where they stood', async () => {
    const fail = (): Error => new ProviderError('provider_timeout', 'no answer')
    const host = memoryHost()
    const first = begin({ replies: [fail(), says('never asked')], host })
    await until('the first try is journaled', () => host.types.includes('provider_call_failed'))
    const resumed = memoryHost({ entries: host.entries })
    const again = begin({ replies: [fail(), fail()], host: resumed, spec: rootSpec({ resume: resumed.events }) })
    await advanceUntilSettled(again)
    expect(await again.end).toMatchObject({ status: 'failed', failure: { class: 'provider_timeout', message: 'no answer (tried 3 times)' } })
    first.cancel()
  })
})

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
    ['a tool that throws no error', ['tool', {}], [probe('tool', () => Promise.reject(undefined as unknown as Error))], 'tool_crash', 'undefined'],
    ['a tool whose result is no JSON', ['tool', {}], [probe('tool', () => 10n)], 'tool_crash', 'BigInt'],
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
      'tool_crash',
      'circular',
    ],
    ['a workflow call that is not JSON', ['SequentialWorkflow', '{'], [add], 'invalid_arguments', 'not JSON'],
    ['a workflow call without agents', ['SequentialWorkflow', { task: 't', agents: [] }], [add], 'agents_empty', ''],
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
    const host = memoryHost({ runTeam: (callId, graph) => (asked.push([callId, graph.nodes.map((node) => node.node_id)]), Promise.resolve(teamResult)) })
    const { end, provider } = begin({ replies: [calls(['mcp_local_team_workflow_mcp_SequentialWorkflow', sequential]), says('as the team says')], host })
    await end
    expect(asked).toEqual([['c1', ['a']]])
    expect(JSON.parse(toolMessages(provider)[0]?.[1] as string)).toEqual(teamResult)
  })

  it('whose team is incomplete is a failed call with its outcome', async () => {
    const host = memoryHost({ runTeam: async () => ({ ...teamResult, outcome: 'incomplete', message: '0 of 1 nodes completed; failed: a' }) })
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
      replies: [calls(['add', { a: 1, b: 1 }]), calls(['SequentialWorkflow', sequential, 'w'], ['add', { a: 2, b: 2 }, 'x']), says('4')],
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
    await begin({ replies: [calls(['SequentialWorkflow', sequential]), says('done')], host, skills: [guided], spec: rootSpec({ part: { skill: 'guided' } }) })
      .end
    const wanted = new Set(['skill_activation_snapshotted', 'execution_mode_selected', 'tool_call_started'])
    expect(host.types.filter((type) => wanted.has(type))).toEqual(['skill_activation_snapshotted', 'execution_mode_selected', 'tool_call_started'])
  })
})

describe('a worker (D-09)', () => {
  test.each([[null], [['add', 'SequentialWorkflow', 'mcp_local_team_workflow_mcp_GraphWorkflow']]])(
    'with the scope %j sees no workflow tool, and one it makes up does not run',
    async (allowedToolNames) => {
      const { end, host, provider } = begin({
        replies: [calls(['SequentialWorkflow', sequential], ['mcp_local_team_workflow_mcp_GraphWorkflow', {}]), says('ok')],
        spec: workerSpec({ part: { allowedToolNames } }),
      })
      await end
      expect(provider.requests.flatMap((request) => request.tools.map((tool) => tool.name))).toEqual(['add', 'add'])
      expect(results(host).map(({ error }) => error)).toEqual(['tool_not_available', 'tool_not_available'])
    },
  )

  it('with an empty scope has no tool at all, and what was dropped is on record (D-41)', async () => {
    const { end, host, provider } = begin({ replies: [calls(['add', { a: 1, b: 1 }]), says('ok')], spec: workerSpec({ part: { allowedToolNames: [] } }) })
    await end
    expect(provider.requests[0]?.tools).toEqual([])
    expect(results(host)).toMatchObject([{ error: 'tool_not_available' }])
    expect(host.events.find((event) => event.type === 'tool_scope_applied')?.data).toEqual({ allowed: [], effective: [], dropped: [] })
  })

  it('a scope names tools there are not: they are dropped, and it says so', async () => {
    const { end, host } = begin({ replies: [says('ok')], spec: workerSpec({ part: { allowedToolNames: ['gone', 'add'] } }) })
    await end
    expect(host.events.find((event) => event.type === 'tool_scope_applied')?.data).toEqual({ allowed: ['gone', 'add'], effective: ['add'], dropped: ['gone'] })
  })

  it('has no routing, whatever its skill advises', async () => {
    const { end, host } = begin({ replies: [says('ok')], skills: [guided], spec: workerSpec({ part: { skill: 'guided' } }) })
    await end
    expect(host.types).not.toContain('execution_mode_selected')
    expect(host.types).toContain('skill_activation_snapshotted')
  })
})

describe('retries follow the table', () => {
  const retried = Object.entries(failurePolicies).flatMap(([name, policy]) =>
    policy.action === 'retry' ? [[name as FailureClass, policy.triesMax] as const] : [],
  )

  test.each(retried)('%s is tried %d times in all, each pause as the policy has it', async (failureClass, triesMax) => {
    const loop = begin({ replies: Array.from({ length: triesMax }, () => new ProviderError(failureClass, 'again')), random: 0.5 })
    await advanceUntilSettled(loop)
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: failureClass } })
    const tries = loop.host.events.flatMap((event) => (event.type === 'provider_call_failed' ? [[event.data.tries, event.data.retry_in_ms]] : []))
    expect(tries).toEqual(Array.from({ length: triesMax }, (_, i) => [i + 1, retryPauseMs(failurePolicies[failureClass], { tries: i + 1, random: 0.5 })]))
  })

  test.each(['provider_refused', 'context_overflow', 'refusal', 'budget_exceeded'] as const)('%s is not tried again', async (failureClass) => {
    const { end, provider } = begin({ replies: [new ProviderError(failureClass, 'no', { status: 401 })] })
    expect(await end).toMatchObject({ status: 'failed', failure: { class: failureClass, message: 'no' } })
    expect(provider.requests).toHaveLength(1)
  })

  it('does not ask before the pause is over', async () => {
    const loop = begin({ replies: [new ProviderError('provider_unavailable', 'down'), says('up')], random: 0.999 })
    const waits = await until('the failure is journaled', () => loop.host.events.find((event) => event.type === 'provider_call_failed')?.data.retry_in_ms)
    await turns()
    loop.clock.advance(waits - 1)
    await turns()
    expect(loop.provider.requests).toHaveLength(1)
    loop.clock.advance(1)
    expect(await loop.end).toMatchObject({ status: 'completed', facts: { outputText: 'up' } })
  })

  it("waits as long as the server asks (Retry-After), up to the policy's longest pause", async () => {
    const asking = (retryAfterMs: number): ProviderError => new ProviderError('rate_limited', 'slow', { status: 429, retryAfterMs })
    const loop = begin({ replies: [asking(7_000), asking(3_600_000), says('ok')] })
    await advanceUntilSettled(loop)
    await loop.end
    expect(loop.host.events.flatMap((event) => (event.type === 'provider_call_failed' ? [event.data.retry_in_ms] : []))).toEqual([7_000, 30_000])
  })

  it('an answer sets the tries back', async () => {
    const down = (): Error => new ProviderError('provider_timeout', 'down')
    const loop = begin({ replies: [down(), down(), calls(['add', { a: 1, b: 1 }]), down(), down(), says('ok')] })
    await advanceUntilSettled(loop)
    expect((await loop.end).status).toBe('completed')
  })

  it('a provider that throws something else is a defect: the loop breaks and says why', async () => {
    await expect(begin({ replies: [new TypeError('x is not a function')] }).end).rejects.toThrow('x is not a function')
  })
})

describe('cancel', () => {
  const cancelledEnd = { status: 'cancelled', failure: { class: 'cancelled', message: 'enough' } }

  it('before anything: the run is on record, and no provider is asked', async () => {
    const loop = begin({ replies: [] })
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect(loop.host.types).toEqual(['run_started', 'system_prompt_snapshotted', 'user_message_added', 'run_cancelled'])
  })

  it('while thinking: the request is aborted', async () => {
    const loop = begin({ replies: [held<Partial<ChatAnswer>>().promise] })
    await until('the provider is asked', () => loop.provider.requests.length === 1)
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect(loop.provider.requests[0]?.signal.aborted).toBe(true)
    expect(loop.host.ends).toMatchObject([cancelledEnd])
  })

  it('between two tries: the pause ends at once', async () => {
    const loop = begin({ replies: [new ProviderError('rate_limited', 'slow')] })
    await until('the failure is journaled', () => loop.host.types.includes('provider_call_failed'))
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
  })

  it('while a tool runs: its signal aborts, its result is recorded as cancelled, the run ends', async () => {
    let seen: AbortSignal | null = null
    const tool = probe('tool', (_, signal) => {
      seen = signal
      return new Promise(() => {})
    })
    const loop = begin({ replies: [calls(['tool', {}])], tools: [tool] })
    await until('the tool runs', () => tool.calls.length === 1)
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect((seen as AbortSignal | null)?.aborted).toBe(true)
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'cancelled' }])
  })

  it('while an answer becomes durable: its calls are recorded as cancelled and not made', async () => {
    const tool = probe('tool', () => 'x')
    const host = memoryHost()
    const loop = begin({ replies: [calls(['tool', {}], ['tool', {}])], tools: [tool], host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    loop.cancel()
    for (let i = 0; i < 4; i++) {
      await until('an append waits', () => host.waiting.length > 0)
      host.settle()
    }
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect(tool.calls).toEqual([])
  })

  it('while the final answer becomes durable comes too late: the run is completed', async () => {
    const host = memoryHost()
    const loop = begin({ replies: [says('42')], host })
    host.hold('run_completed')
    await until('the end waits', () => host.waiting[0]?.includes('run_completed'))
    loop.cancel()
    host.settle()
    expect((await loop.end).status).toBe('completed')
  })

  it('of a run that is taken up again: nothing is asked', async () => {
    const whole = begin({ replies: [calls(['add', { a: 1, b: 1 }]), says('2')] })
    await whole.end
    for (let kept = 1; kept < whole.host.entries.length; kept++) {
      const host = memoryHost({ entries: whole.host.entries.slice(0, kept) })
      const again = begin({ replies: [], host, spec: rootSpec({ resume: host.events }) })
      again.cancel()
      expect((await again.end).status).toBe('cancelled')
    }
  })
})

/** Lets everything that can happen without an outside event happen. */
async function turns(count = 5): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Moves the clock on whenever the loop waits for it. */
async function advanceUntilSettled(loop: Loop): Promise<void> {
  let settled = false
  void loop.end.then(
    () => (settled = true),
    () => (settled = true),
  )
  await until('the loop ended', async () => {
    if (settled) return true
    loop.clock.advance(1_000)
    return new Promise<boolean>((resolve) => setImmediate(() => resolve(settled)))
  })
}

const strip = ({ facts, ...end }: LoopEnd): unknown => ({
  ...end,
  outputText: facts.outputText,
  tools: facts.tools.map(({ tool, success }) => [tool, success]),
})

/** The messages of the run a journal holds. */
function conversationOf(events: readonly RecordedEvent[]): unknown {
  const only: readonly DomainEvent[] = events
  expect(only.length).toBeGreaterThan(0)
  return foldTask(events).runs.get('run1')?.messages
}
