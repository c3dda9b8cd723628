import { failurePolicies } from '@beaver/core/supervision'
import {
  calls,
  memoryHost,
  rootSpec,
  says,
  scriptedProvider,
  virtualClock,
  workerSpec,
} from '@beaver/testing'
import { createTeamWorkflowTools } from '@beaver/workflows'
import { describe, expect, it, test } from 'vitest'
import { definition } from '../../test/definition.ts'
import {
  add,
  begin,
  type Given,
  guided,
  results,
  sequential,
  teamResult,
  toolMessages,
} from '../../test/loop-kit.ts'
import type { AgentProfile } from '../profile/agent-profile.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import { onlyProvider } from '../provider/provider-bundle.ts'
import { runAgentLoop } from './agent-loop.ts'

const profile = (over: Partial<AgentProfile> = {}): AgentProfile => ({
  name: 'analyst',
  description: null,
  systemPrompt: null,
  maxToolIterations: null,
  toolIds: ['workflow:summarize', 'system:add', 'system:SequentialWorkflow'],
  ...over,
})
const definitions = [definition('summarize'), definition('unlisted')]
const offered = ({
  provider,
}: {
  provider: { requests: readonly { tools: readonly { name: string }[] }[] }
}): string[][] => provider.requests.map(({ tools }) => tools.map(({ name }) => name))
const asAnalyst = (given: Pick<Given, 'replies'> & Partial<Given>, part: { skill?: string } = {}) =>
  begin({
    definitions,
    profiles: [profile()],
    spec: rootSpec({ part: { profile: 'analyst', ...part } }),
    ...given,
  })
const team = (over = {}) => memoryHost({ runTeam: async () => ({ ...teamResult, ...over }) })

describe('the tools of a root', () => {
  it('are those its profile lists, and stand in the journal', async () => {
    const loop = asAnalyst({ replies: [says('x')] })
    await loop.end
    expect(offered(loop)).toEqual([['add', 'workflow:summarize', 'SequentialWorkflow']])
    expect(loop.host.events[0]).toMatchObject({
      type: 'run_started',
      data: { tools: ['add', 'team_output', 'workflow:summarize', 'SequentialWorkflow'] },
    })
  })

  it('has its settings for the model in the journal and in each request', async () => {
    const modelSettings = { temperature: 0, reasoning_effort: 'low' }
    const loop = begin({
      profiles: [profile({ modelSettings })],
      spec: rootSpec({ part: { profile: 'analyst' } }),
      replies: [calls(['add', { a: 1, b: 1 }]), says('2')],
    })
    await loop.end
    expect(loop.host.events[0]).toMatchObject({
      type: 'run_started',
      data: { model_settings: modelSettings },
    })
    expect(loop.provider.requests.map(({ settings }) => settings)).toEqual([modelSettings, modelSettings])
  })

  it('asks the model that its profile names, with the fallback of that model, and the journal has the name', async () => {
    const deep = scriptedProvider([new ProviderError('provider_unavailable', 'down')], 'deep')
    const other = scriptedProvider([says('2')], 'other')
    const loop = begin({
      profiles: [profile({ model: 'deep' })],
      spec: rootSpec({ part: { profile: 'analyst' } }),
      replies: [],
      models: { deep: { main: deep, fallbacks: [other] } },
    })
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'other' })
    expect(loop.host.events[0]).toMatchObject({ type: 'run_started', data: { model: 'deep' } })
    expect([deep.requests.length, other.requests.length, loop.provider.requests.length]).toEqual([1, 1, 0])
  })

  it('fails if this process does not have the model, and says where to name it', async () => {
    const loop = begin({
      profiles: [profile({ model: 'deep' })],
      spec: rootSpec({ part: { profile: 'analyst' } }),
      replies: [],
    })
    const { status, failure } = await loop.end
    expect([status, failure?.class, failure?.message]).toEqual([
      'failed',
      'invalid_configuration',
      expect.stringMatching(
        /^The model "deep" is not loaded .* Name it in "models" of that daemon's configuration\.$/,
      ),
    ])
  })

  it('asks the main model if its profile names it', async () => {
    const loop = begin({
      profiles: [profile({ model: 'main' })],
      spec: rootSpec({ part: { profile: 'analyst' } }),
      replies: [says('2')],
    })
    expect((await loop.end).status).toBe('completed')
  })

  it('without a profile are all tools and the five workflows, and no definition', async () => {
    const loop = begin({ replies: [says('x')], definitions })
    await loop.end
    expect(offered(loop)).toEqual([['add', ...createTeamWorkflowTools().map(({ name }) => name)]])
  })

  it('are those of the default profile when the task names none, and of the named one when it does', async () => {
    const both = {
      profiles: [profile(), profile({ name: 'bare', toolIds: [] })],
      profileDefault: 'bare',
      definitions,
    }
    const [byDefault, named] = [
      begin({ ...both, replies: [says('x')] }),
      asAnalyst({ ...both, replies: [says('x')] }),
    ]
    await Promise.all([byDefault.end, named.end])
    expect([offered(byDefault)[0], offered(named)[0]]).toEqual([
      [],
      ['add', 'workflow:summarize', 'SequentialWorkflow'],
    ])
  })

  it('leave out what the inventory lists and nothing is called; a call of it is answered, not run', async () => {
    const gone = profile({ toolIds: ['add', 'kb:Query', 'workflow:gone'] })
    const loop = asAnalyst({
      profiles: [gone],
      replies: [
        calls(['workflow:gone', {}], ['workflow:unlisted', { text: 'x' }], ['GraphWorkflow', {}]),
        says('x'),
      ],
    })
    expect((await loop.end).status).toBe('completed')
    expect(offered(loop)[0]).toEqual([])
    expect(results(loop.host).map(({ error }) => error)).toEqual([
      'tool_not_available',
      'tool_not_available',
      'tool_not_available',
    ])
  })

  it('are a ceiling for the workers of its teams, whatever their scope lists (D-65)', async () => {
    const worker = (part: { profile?: string; allowedToolNames: string[] | null }) =>
      begin({
        replies: [says('x')],
        tools: [add, { ...add, name: 'write_file' }],
        profiles: [profile(), profile({ name: 'all', toolIds: null })],
        spec: workerSpec({ part }),
      })
    const loops = [
      worker({ profile: 'analyst', allowedToolNames: null }),
      worker({ profile: 'analyst', allowedToolNames: ['write_file', 'add'] }),
      worker({ profile: 'all', allowedToolNames: null }),
      worker({ allowedToolNames: null }),
    ]
    await Promise.all(loops.map(({ end }) => end))
    expect(loops.map((loop) => offered(loop)[0])).toEqual([
      ['add'],
      ['add'],
      ['add', 'write_file'],
      ['add', 'write_file'],
    ])
    const scopes = loops.map(
      ({ host }) => host.events.find((event) => event.type === 'tool_scope_applied')?.data,
    )
    expect(scopes).toMatchObject([
      { allowed: ['add'], dropped: [] },
      { dropped: ['write_file'] },
      undefined,
      undefined,
    ] as object)
  })

  it('whose skill is not loaded fails with that, and no model is asked (D-69)', async () => {
    const loops = [
      begin({ replies: [], spec: rootSpec({ part: { skill: 'gone' } }) }),
      begin({ replies: [], skills: [guided], spec: workerSpec({ part: { skill: 'gone' } }) }),
    ]
    const ends = await Promise.all(loops.map(({ end }) => end))
    for (const end of ends)
      expect(end).toMatchObject({
        status: 'failed',
        failure: {
          class: 'invalid_configuration',
          message: expect.stringMatching(/^The skill "gone" is not loaded by/) as string,
        },
      })
  })

  it('that are missing fail a worker as they fail a root', async () => {
    const loop = begin({ replies: [says('x')], spec: workerSpec({ part: { profile: 'gone' } }) })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringContaining('"gone"') as string },
    })
  })

  it('never come to a worker, whatever the default profile and its scope list', async () => {
    const spec = workerSpec({
      part: { allowedToolNames: ['add', 'workflow:summarize', 'SequentialWorkflow'] },
    })
    const loop = begin({
      replies: [calls(['workflow:summarize', { text: 'x' }]), says('x')],
      definitions,
      profiles: [profile()],
      profileDefault: 'analyst',
      spec,
    })
    await loop.end
    expect(offered(loop)[0]).toEqual(['add'])
    expect(results(loop.host)[0]?.error).toBe('tool_not_available')
    expect(loop.host.events.find((event) => event.type === 'tool_scope_applied')?.data).toMatchObject({
      dropped: ['workflow:summarize', 'SequentialWorkflow'],
    })
  })
})

describe('a profile', () => {
  it('says what it has to say in the system prompt', async () => {
    const loop = asAnalyst({
      replies: [says('x')],
      profiles: [profile({ systemPrompt: 'You compare figures.' })],
    })
    await loop.end
    expect(loop.provider.requests[0]?.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringContaining('You compare figures.') as string,
    })
  })

  it('without team workflows is not told of any', async () => {
    const prompts = await Promise.all(
      [['system:add'], ['system:GraphWorkflow']].map(async (toolIds) => {
        const loop = asAnalyst({ replies: [says('x')], profiles: [profile({ toolIds })] })
        await loop.end
        return loop.provider.requests[0]?.messages[0]?.content ?? ''
      }),
    )
    expect(prompts.map((prompt) => prompt.includes('workflow tool'))).toEqual([false, true])
  })

  it('bounds the iterations of the run instead of the configuration', async () => {
    const again = calls(['add', { a: 1, b: 1 }])
    const loop = asAnalyst({
      replies: [again, again, again, again],
      profiles: [profile({ maxToolIterations: 2 })],
    })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'iterations_exhausted' } })
    expect(offered(loop)).toEqual([expect.anything(), expect.anything(), []]) // the third has no tools: it is to end the run
    expect(loop.host.events[0]).toMatchObject({ data: { max_tool_iterations: 2 } })
  })

  it('that this process has not loaded fails the run before the model is asked, and names it', async () => {
    const loop = asAnalyst({ replies: [], profiles: [] })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'invalid_configuration', message: expect.stringContaining('"analyst"') as string },
    })
    expect(loop.host.events[0]).toMatchObject({ type: 'run_started', data: { tools: [] } })
    expect(loop.provider.requests).toHaveLength(0)
  })
})

describe('a workflow: tool for routing and the lock (D-02, D-05)', () => {
  const skilled = { skills: [guided] }

  it('is an ordinary tool: calling it first selects single, and it stays after the lock', async () => {
    const replies = [
      calls(['workflow:summarize', { text: 'x' }]),
      calls(['workflow:summarize', { text: 'y' }], ['SequentialWorkflow', sequential]),
      says('x'),
    ]
    const loop = asAnalyst({ ...skilled, replies, host: team() }, { skill: 'guided' })
    await loop.end
    expect(loop.host.events.find((event) => event.type === 'execution_mode_selected')?.data).toMatchObject({
      execution_mode: 'single',
      workflow_tool: null,
    })
    expect(offered(loop)).toEqual([
      ['add', 'workflow:summarize', 'SequentialWorkflow'],
      ...[1, 2].map(() => ['add', 'workflow:summarize']),
    ])
    expect(results(loop.host).map(({ success, error }) => [success, error])).toEqual(
      expect.arrayContaining([
        [true, null],
        [false, 'execution_mode_locked_single'],
      ]),
    )
  })

  it('is dropped from a first answer that also calls a team workflow, like any ordinary tool (D-04)', async () => {
    const loop = asAnalyst(
      {
        ...skilled,
        replies: [
          calls(['workflow:summarize', { text: 'x' }], ['SequentialWorkflow', sequential]),
          says('x'),
        ],
        host: team(),
      },
      { skill: 'guided' },
    )
    await loop.end
    expect(results(loop.host).map(({ tool_name }) => tool_name)).toEqual(['SequentialWorkflow'])
  })

  it('brings no routing by itself: a profile without team workflows has none', async () => {
    const loop = asAnalyst(
      { ...skilled, replies: [says('x')], profiles: [profile({ toolIds: ['workflow:summarize'] })] },
      { skill: 'guided' },
    )
    await loop.end
    expect(loop.host.types).not.toContain('execution_mode_selected')
    expect(loop.provider.requests[0]?.messages[0]?.content).not.toContain('Task Agent Team Routing')
  })
})

it('a profile without the workflow that a skill prefers has no routing, so the prompt orders no call of a tool that is not there', async () => {
  const loop = asAnalyst(
    {
      skills: [guided],
      replies: [says('x')],
      profiles: [profile({ toolIds: ['system:ConcurrentWorkflow'] })],
    },
    { skill: 'guided' },
  )
  await loop.end
  expect(offered(loop)).toEqual([['ConcurrentWorkflow']])
  expect(loop.provider.requests[0]?.messages[0]?.content).not.toContain('Task Agent Team Routing')
  expect(loop.host.types).not.toContain('execution_mode_selected')
})

describe('the result of a workflow: tool', () => {
  it('is its output, bare (CT-15)', async () => {
    const graphs: unknown[] = []
    const host = memoryHost({
      runTeam: async (_, graph) => (graphs.push(graph), { ...teamResult, final_output: '{"a":1}' }),
    })
    const loop = asAnalyst({ replies: [calls(['workflow:summarize', { text: 'long' }]), says('x')], host })
    await loop.end
    expect(toolMessages(loop.provider)).toEqual([['c1', '{"a":1}']])
    expect(graphs).toMatchObject([{ workflow: 'workflow:summarize', task: 'long' }])
    expect(host.events.find((event) => event.type === 'tool_call_started')?.data).toMatchObject({
      tool_name: 'workflow:summarize',
      idempotent: true,
    })
  })

  test.each(['incomplete', 'cancelled'] as const)(
    'of a team that is %s is an error that says what failed (CT-17)',
    async (outcome) => {
      const failures = [{ node_id: 'a', failure: { class: 'refusal' as const, message: 'It declined.' } }]
      const loop = asAnalyst({
        replies: [calls(['workflow:summarize', { text: 'x' }]), says('x')],
        host: team({ outcome, message: 'a failed', failures }),
      })
      await loop.end
      const [result] = results(loop.host)
      expect([result?.success, result?.error]).toEqual([false, `workflow_${outcome}`])
      expect(JSON.parse(result?.content ?? '')).toEqual({
        error: `workflow_${outcome}`,
        message: 'a failed',
        team_run_id: 'team1',
        failures: [{ node_id: 'a', class: 'refusal', message: 'It declined.' }],
      })
    },
  )

  it('with arguments that do not fit is refused with code, message and path, and starts nothing', async () => {
    const loop = asAnalyst({
      replies: [calls(['workflow:summarize', { text: '' }], ['workflow:summarize', '{"te']), says('x')],
    })
    expect((await loop.end).status).toBe('completed')
    expect(results(loop.host).map(({ content }) => JSON.parse(content) as unknown)).toEqual([
      { error: 'invalid_arguments', message: '"text" is empty.', path: 'text' },
      { error: 'invalid_arguments', message: expect.stringContaining('JSON') as string, path: '' },
    ])
  })

  it('of a team workflow is the whole team, each text once', async () => {
    const loop = asAnalyst({ replies: [calls(['SequentialWorkflow', sequential]), says('x')], host: team() })
    await loop.end
    expect(JSON.parse(results(loop.host)[0]?.content ?? '')).toEqual({
      ...teamResult,
      outputs: [{ node_id: 'a' }],
    })
  })
})

it('runs of different profiles in one worker do not share their tools', async () => {
  const provider = scriptedProvider([says('1'), says('2'), says('3')])
  const profiles = [
    profile({ name: 'one', toolIds: ['system:add'] }),
    profile({ name: 'two', toolIds: ['workflow:summarize'] }),
  ]
  const services = {
    providers: onlyProvider(provider),
    permissions: [],
    skillSelection: 'off' as const,
    tools: [add],
    skills: [],
    definitions,
    profiles: new Map(profiles.map((each) => [each.name, each])),
    profileDefault: null,
    clock: virtualClock(),
    random: () => 0,
    toolTimeoutMs: 1_000,
    failurePolicies,
  }
  for (const name of ['one', 'two', 'one'])
    await runAgentLoop(
      rootSpec({ part: { profile: name } }),
      services,
      memoryHost(),
      new AbortController().signal,
    )
  expect(offered({ provider })).toEqual([['add'], ['workflow:summarize'], ['add']])
})
