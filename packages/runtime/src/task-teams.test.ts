import { type ChatAnswer, type ChatProvider, defineTool } from '@beaver/agent'
import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { definitionWorkflow, readDefinition } from '@beaver/workflows'
import { z } from 'zod'
import { typesOf, world } from '../test/kit.ts'

const answer = (over: Partial<ChatAnswer>): ChatAnswer => ({
  content: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
  ...over,
})
const says = (content: string): ChatAnswer => answer({ content })
const callsTool = (name: string, args: object): ChatAnswer =>
  answer({
    toolCalls: [{ id: `call_${name}`, name, arguments: JSON.stringify(args) }],
    finishReason: 'tool_calls',
  })
const agents = (...names: string[]) => names.map((name) => ({ name, instruction: `do ${name}` }))

/** A model that is told by whose message it answers: the root's, or the node's that does `name`. */
function model(of: {
  root: (turn: number) => ChatAnswer | Promise<ChatAnswer>
  node: (name: string, turn: number, text: string) => ChatAnswer | Promise<ChatAnswer>
}): ChatProvider {
  return {
    name: 'p',
    model: 'm',
    async chat({ messages, signal }) {
      const turn = messages.filter((message) => message.role === 'assistant').length
      const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
      const node = /<instruction [^>]*>\ndo (.+)\n/.exec(text)?.[1]
      const stopped = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
      )
      return Promise.race([node === undefined ? of.root(turn) : of.node(node, turn, text), stopped])
    },
  }
}

const never = (): Promise<ChatAnswer> => new Promise(() => {})
const nodeEvents = (events: readonly RecordedEvent[]): string[] =>
  events.flatMap((event) =>
    event.type.startsWith('node_') || event.type.startsWith('task_team')
      ? [`${event.type} ${(event.data as { node_id?: string }).node_id ?? ''}`.trim()]
      : [],
  )

describe('the deadline of a node', () => {
  it('fails it, blocks what depends on it, and leaves the others', async () => {
    const { daemon, submit, ended } = world()
    const graph = { task: 't', agents: agents('slow', 'fast', 'after'), edges: [['slow', 'after'], ['fast', 'after']], output_agent: 'after' } // prettier-ignore
    const provider = model({
      root: (turn) => (turn === 0 ? callsTool('GraphWorkflow', graph) : says('half of it')),
      node: (name) => (name === 'slow' ? never() : says(name)),
    })
    daemon({ provider, limits: { nodeDeadlineMs: 3_000 } })
    const events = await ended(await submit())
    expect(nodeEvents(events)).toEqual([
      'task_team_run_started',
      'node_started slow',
      'node_started fast',
      'node_completed fast',
      'node_failed slow',
      'node_blocked after',
      'task_team_run_failed',
    ])
    expect(events.find((event) => event.type === 'node_failed')?.data).toMatchObject({
      failure: {
        class: 'deadline_exceeded',
        message: 'slow did not end within its deadline of 3 s and was stopped.',
      },
    })
    expect(events.at(-1)).toMatchObject({
      type: 'task_incomplete',
      data: { failure: { class: 'deadline_exceeded' } },
    })
  })

  it('stops while nobody drives the task, and goes on from where it was', async () => {
    const { daemon, submit, ended, passing, events } = world()
    const provider = model({
      root: (turn) =>
        turn === 0
          ? callsTool('ConcurrentWorkflow', { task: 't', agents: agents('slow') })
          : says('half of it'),
      node: never,
    })
    const first = daemon({ provider, limits: { nodeDeadlineMs: 20_000 } })
    const log = await submit()
    await passing('the node runs', async () => typesOf(await events(log)).includes('node_started'))
    first.kill()
    daemon({ provider, limits: { nodeDeadlineMs: 20_000 } })
    const all = await ended(log)
    const failed = all.find((event) => event.type === 'node_failed')
    const ranMs =
      Date.parse(failed?.time ?? '') -
      Date.parse(all.findLast((event) => event.type === 'task_claimed')?.time ?? '')
    expect(failed?.data).toMatchObject({ failure: { class: 'deadline_exceeded' } })
    expect(ranMs).toBeGreaterThanOrEqual(20_000)
    expect(ranMs).toBeLessThan(21_000)
  })
})

describe('the deadline of a team', () => {
  it('stops what runs, cancels what waits, and tells the root', async () => {
    const { daemon, submit, ended } = world()
    const provider = model({
      root: (turn) =>
        turn === 0
          ? callsTool('SequentialWorkflow', { task: 't', agents: agents('a', 'b') })
          : says('nothing came'),
      node: never,
    })
    daemon({ provider, limits: { teamDeadlineMs: 5_000 } })
    const events = await ended(await submit())
    expect(nodeEvents(events)).toEqual([
      'task_team_run_started',
      'node_started a',
      'node_cancelled b',
      'node_cancelled a',
      'task_team_run_failed',
    ])
    const told = events.findLast((event) => event.type === 'tool_result_recorded')?.data as {
      content: string
      error: string
    }
    expect(told.error).toBe('team_cancelled')
    expect(told.content).toContain('The team did not end within its deadline of 5 s')
    expect(events.at(-1)).toMatchObject({
      type: 'task_incomplete',
      data: { failure: { class: 'deadline_exceeded' } },
    })
  })
})

describe('cancelling one node', () => {
  const graph = { task: 't', agents: agents('a', 'b', 'c'), flow: 'a, b -> c' }

  it('that runs: it is cancelled, what depends on it is blocked, its sibling goes on, the team is incomplete', async () => {
    const { daemon, submit, ended, events } = world()
    const b = Promise.withResolvers<ChatAnswer>()
    const provider = model({
      root: (turn) => (turn === 0 ? callsTool('AgentRearrange', graph) : says('part')),
      node: (name) => (name === 'a' ? never() : b.promise),
    })
    const one = daemon({ provider })
    const log = await submit()
    await until(
      'both run',
      async () => (await events(log)).filter((event) => event.type === 'node_started').length === 2,
    )
    await [...one.tasks.values()][0]?.cancelNode('a', 'not needed')
    b.resolve(says('b'))
    const all = await ended(log)
    expect(nodeEvents(all)).toEqual(
      expect.arrayContaining([
        'node_cancel_requested a',
        'node_cancelled a',
        'node_blocked c',
        'node_completed b',
      ]),
    )
    expect(all.find((event) => event.type === 'task_team_run_failed')?.data).toMatchObject({
      outcome: 'incomplete',
    })
    expect(all.find((event) => event.type === 'node_cancelled')?.data).toMatchObject({ reason: 'not needed' })
    expect(all.at(-1)?.type).toBe('task_incomplete')
  })

  it('that waits: it never starts', async () => {
    const { daemon, submit, ended, events } = world()
    const both = Promise.withResolvers<ChatAnswer>()
    const provider = model({
      root: (turn) => (turn === 0 ? callsTool('AgentRearrange', graph) : says('part')),
      node: () => both.promise,
    })
    const one = daemon({ provider })
    const log = await submit()
    await until(
      'both run',
      async () => (await events(log)).filter((event) => event.type === 'node_started').length === 2,
    )
    await [...one.tasks.values()][0]?.cancelNode('c', 'not needed')
    both.resolve(says('x'))
    expect(nodeEvents(await ended(log)).filter((told) => told.endsWith(' c'))).toEqual([
      'node_cancel_requested c',
      'node_cancelled c',
    ])
  })

  it('that is not there, or has ended, is refused with its name', async () => {
    const { daemon, submit, events } = world()
    const provider = model({
      root: (turn) => (turn === 0 ? callsTool('AgentRearrange', graph) : says('part')),
      node: (name) => (name === 'a' ? says('a') : never()),
    })
    const one = daemon({ provider })
    const log = await submit()
    await until('a has ended', async () => typesOf(await events(log)).includes('node_completed'))
    const task = [...one.tasks.values()][0]
    await expect(task?.cancelNode('nobody', 'x')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('"nobody"'),
    })
    await expect(task?.cancelNode('a', 'x')).rejects.toMatchObject({
      code: 'conflict',
      message: 'The node "a" has ended already: completed.',
    })
  })
})

describe('the teams of a task (D-06)', () => {
  it('are at most as many as allowed; the root is told, and goes on', async () => {
    const { daemon, submit, ended } = world()
    const provider = model({
      root: (turn) =>
        turn < 3 ? callsTool('ConcurrentWorkflow', { task: 't', agents: agents('a') }) : says('enough'),
      node: (name) => says(name),
    })
    daemon({ provider, limits: { teamRunsMax: 2 } })
    const events = await ended(await submit())
    expect(typesOf(events).filter((type) => type === 'task_team_run_started')).toHaveLength(2)
    expect(events.findLast((event) => event.type === 'tool_result_recorded')?.data).toMatchObject({
      success: false,
      error: 'team_limit_reached',
      content: expect.stringContaining('2 teams'),
    })
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'enough' } })
  })
})

describe('the outcome of a task with several teams (D-60)', () => {
  const team = (id: string, names: string[]) => ({
    id,
    name: 'ConcurrentWorkflow',
    arguments: JSON.stringify({ task: 't', agents: agents(...names) }),
  })
  const callsTeams = (...calls: ReturnType<typeof team>[]): ChatAnswer =>
    answer({ toolCalls: calls, finishReason: 'tool_calls' })
  /** The agent `bad` fails. `late` answers after `bad` has ended. */
  const nodes = (badEnded: Promise<unknown>) => async (name: string) => {
    if (name === 'late') await badEnded
    return says(name === 'bad' ? '' : name)
  }

  it.each([
    ['first', [team('1', ['bad']), team('2', ['late'])]],
    ['second', [team('1', ['late']), team('2', ['bad'])]],
  ])(
    'is incomplete if a team of the newest answer is, called %s, also after a takeover',
    async (_, calls) => {
      const { daemon, submit, ended, passing, events } = world()
      const badEnded = Promise.withResolvers<void>()
      let root: (turn: number) => ChatAnswer | Promise<ChatAnswer> = (turn) =>
        turn === 0 ? callsTeams(...calls) : never()
      const provider = model({ root: (turn) => root(turn), node: nodes(badEnded.promise) })
      const first = daemon({ provider })
      const log = await submit()
      await passing('one team failed', async () =>
        typesOf(await events(log)).includes('task_team_run_failed'),
      )
      badEnded.resolve()
      await passing('the other is complete', async () =>
        typesOf(await events(log)).includes('task_team_run_completed'),
      )
      first.kill()
      root = () => says('both')
      daemon({ provider })
      expect((await ended(log)).at(-1)).toMatchObject({
        type: 'task_incomplete',
        data: { outputs: [{ node_id: 'late' }], failure: { class: 'empty_output' } },
      })
    },
  )

  it('without a takeover, too', async () => {
    const { daemon, submit, ended, passing, events } = world()
    const badEnded = Promise.withResolvers<void>()
    const root = (turn: number): ChatAnswer =>
      turn === 0 ? callsTeams(team('1', ['bad']), team('2', ['late'])) : says('both')
    daemon({ provider: model({ root, node: nodes(badEnded.promise) }) })
    const log = await submit()
    await passing('one team failed', async () => typesOf(await events(log)).includes('task_team_run_failed'))
    badEnded.resolve()
    expect((await ended(log)).at(-1)?.type).toBe('task_incomplete')
  })

  const { definition } = readDefinition('count', {
    description: 'Counts.',
    interfaceInputs: { who: { dataFlowType: 'STRING', required: true } },
    interfaceOutputs: { counted: { dataFlowType: 'STRING' } },
    nodes: [{ id: 'counted', kind: 'agent', instruction: 'do {{ inputs.who }}' }],
  })
  if (definition === null) throw new Error('The definition is wrong.')
  const toolIds = ['system:ConcurrentWorkflow', 'workflow:count']
  const profile = { name: 'clerk', description: null, systemPrompt: null, maxToolIterations: null, toolIds }
  const definitions = [definitionWorkflow(definition, new Map([['count', definition]]))]

  it.each([
    [
      'that succeeds does not hide an incomplete team',
      [callsTeams(team('1', ['bad', 'good'])), callsTool('workflow:count', { who: 'good' })],
      'task_incomplete',
      ['good'],
    ],
    [
      'that fails and is recovered from leaves the task complete',
      [callsTool('workflow:count', { who: 'bad' })],
      'task_completed',
      [],
    ],
  ])('a definition called as a tool %s', async (_, turns, type, outputs) => {
    const { daemon, submit, ended } = world()
    const provider = model({ root: (turn) => turns[turn] ?? says('done'), node: nodes(Promise.resolve()) })
    daemon({ provider, definitions, profile })
    const events = await ended(await submit())
    const end = events.at(-1)
    expect(typesOf(events).filter((each) => each === 'task_team_run_started')).toHaveLength(turns.length)
    expect(end).toMatchObject({ type, data: { outputs: outputs.map((node_id) => ({ node_id })) } })
  })
})

describe('a vote that is decided', () => {
  const [voterA, voterB, voterC] = agents('a', 'b', 'slow')
  const args = { task: 't', agents: [voterA, voterB, voterC], options: ['yes', 'no'], deliver: 'user' }
  const profile = {
    name: 'clerk',
    description: null,
    systemPrompt: null,
    maxToolIterations: null,
    toolIds: ['system:MajorityVote'],
  }
  const provider = (slow: () => Promise<ChatAnswer>) =>
    model({
      root: () => callsTool('MajorityVote', args),
      node: (name) => (name === 'slow' ? slow() : says('VOTE: yes')),
    })
  const place = (events: readonly RecordedEvent[], wanted: (event: RecordedEvent) => boolean): number =>
    events.findIndex(wanted)

  it('stops the slow voter, whose run ends before the team does', async () => {
    const { daemon, submit, ended } = world()
    daemon({ provider: provider(never), profile })
    const events = await ended(await submit())
    expect(events.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'yes', outputs: [{ node_id: '#winner' }, { node_id: '#tally' }] },
    })
    const skipped = place(events, ({ type }) => type === 'node_skipped')
    const stopped = place(events, ({ type }) => type === 'run_cancelled')
    const over = place(events, ({ type }) => type === 'task_team_run_completed')
    expect([skipped > 0, stopped > skipped, over > stopped]).toEqual([true, true, true])
    expect(events[stopped]?.data).toMatchObject({ reason: 'The vote is decided.' })
  })

  it('stops it after a takeover, too', async () => {
    const { daemon, submit, ended, passing, events } = world()
    let first: ReturnType<typeof daemon> | null = null
    // The process dies in the moment in which it is told to stop the voter.
    const dying = (): Promise<ChatAnswer> => new Promise(() => {})
    const broken: ChatProvider = {
      ...provider(dying),
      chat: (request) => {
        request.signal.addEventListener('abort', () => first?.kill(), { once: true })
        return provider(dying).chat(request)
      },
    }
    first = daemon({ provider: broken, profile })
    const log = await submit()
    await passing('the vote is decided', async () => typesOf(await events(log)).includes('node_skipped'))
    first.kill()
    daemon({ provider: provider(dying), profile })
    const all = await ended(log)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'yes' } })
    const ends = all.filter(({ type }) => type === 'run_cancelled' || type === 'run_completed')
    expect(new Set(ends.map(({ runId }) => runId)).size).toBe(4)
    expect(ends).toHaveLength(4)
  })
})

describe('a fallback of a team', () => {
  it('is visible in the result that the root reads, also after a takeover', async () => {
    const { daemon, submit, ended, passing, events } = world()
    const [manager] = agents('lead')
    const args = { task: 't', manager, workers: agents('a') }
    const profile = {
      name: 'clerk',
      description: null,
      systemPrompt: null,
      maxToolIterations: null,
      toolIds: ['system:HierarchicalWorkflow'],
    }
    let rootAnswers = false
    const provider = model({
      root: (turn) =>
        turn === 0 ? callsTool('HierarchicalWorkflow', args) : rootAnswers ? says('done') : never(),
      node: (name, _, text) =>
        says(text.includes('cannot be used') ? '{"final": "It is so."}' : `I think about ${name}.`),
    })
    const first = daemon({ provider, profile })
    const log = await submit()
    await passing('the team is complete', async () =>
      typesOf(await events(log)).includes('task_team_run_completed'),
    )
    first.kill()
    rootAnswers = true
    daemon({ provider, profile })
    const all = await ended(log)
    expect(all.find((event) => event.type === 'tool_result_recorded')?.data).toMatchObject({
      content: expect.stringContaining(
        '"diagnostics":[{"node_id":"lead #1","code":"malformed_answer"',
      ) as string,
    })
  })
})

describe('a node that fails', () => {
  it('keeps what the others did: their outputs are in the result, in declared order (D-34, D-36)', async () => {
    const { daemon, submit, ended } = world()
    const first = Promise.withResolvers<ChatAnswer>()
    const provider = model({
      root: (turn) =>
        turn === 0
          ? callsTool('ConcurrentWorkflow', { task: 't', agents: agents('a', 'b', 'c') })
          : says('two of three'),
      node: (name) =>
        name === 'a' ? first.promise : name === 'b' ? says('') : (first.resolve(says('A')), says('C')),
    })
    daemon({ provider })
    const events = await ended(await submit())
    expect(events.at(-1)).toMatchObject({
      type: 'task_incomplete',
      data: { final_output: 'two of three', outputs: [{ node_id: 'a', output: 'A' }, { node_id: 'c', output: 'C' }], failure: { class: 'empty_output' } }, // prettier-ignore
    })
  })
})

describe('a node whose evidence is missing', () => {
  it('has no output, though its run completed: neither in the result nor for the root', async () => {
    const { daemon, submit, ended } = world()
    const [a, b] = agents('a', 'b')
    const needy = [a, { ...b, required_evidence: [{ kind: 'output_contains', texts: ['proof'] }] }]
    const provider = model({
      root: (turn) =>
        turn === 0 ? callsTool('ConcurrentWorkflow', { task: 't', agents: needy }) : says('half'),
      node: (name) => says(`${name} claims`),
    })
    daemon({ provider })
    const events = await ended(await submit())
    expect(events.at(-1)).toMatchObject({
      type: 'task_incomplete',
      data: { outputs: [{ node_id: 'a', output: 'a claims' }] },
    })
    const told = events.findLast((event) => event.type === 'tool_result_recorded')?.data as
      | { content: string }
      | undefined
    expect(told?.content).toContain('a claims')
    expect(told?.content).not.toContain('b claims')
  })
})

describe('a cancelled task', () => {
  it('stops nodes that were just being started', async () => {
    const { daemon, submit, ended, events } = world()
    const provider = model({
      root: () => callsTool('ConcurrentWorkflow', { task: 't', agents: agents('a', 'b') }),
      node: never,
    })
    const tool = defineTool({
      name: 'unused',
      description: 'Unused.',
      input: z.strictObject({}),
      run: () => '',
    })
    const one = daemon({ provider, tools: [tool] })
    const log = await submit()
    await until('the team starts', async () => typesOf(await events(log)).includes('task_team_run_started'))
    await [...one.tasks.values()][0]?.cancel('enough')
    const all = await ended(log)
    expect(all.at(-1)?.type).toBe('task_cancelled')
    expect(all.find((event) => event.type === 'task_team_run_failed')?.data).toMatchObject({
      outcome: 'cancelled',
    })
  })
})
