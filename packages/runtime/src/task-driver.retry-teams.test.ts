// A team that failed at one node and is retried ends as a team that never failed, whatever its shape and
// whichever node it was.
import { createHash } from 'node:crypto'
import { type ChatAnswer, type ChatProvider, ProviderError } from '@beaver/agent'
import type { RecordedEvent } from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'
import { world } from '../test/kit.ts'

const agents = (...names: string[]) => names.map((name) => ({ name, instruction: `Do the work of ${name}.` }))
const json = (value: object): string => JSON.stringify(value)
const delegations = ['w1', 'w2', 'w3'].map((worker) => ({
  worker,
  instruction: `Ask ${worker}.`,
  ...(worker === 'w3' ? { depends_on: ['w1'] } : {}),
}))
const plan = [
  { member: 'w1', task: 'Find out.' },
  { member: 'w2', task: 'Find out more.' },
  { member: 'w3', task: 'Write.', depends_on: ['w1'] },
]

/** What an agent says to code. Absent: it says what it heard. */
type Lines = Readonly<Record<string, (heard: string, given: string) => string>>

const shapes: readonly {
  readonly name: string
  readonly workflow: string
  readonly args: object
  readonly lines?: Lines
}[] = [
  {
    name: 'a sequence',
    workflow: 'SequentialWorkflow',
    args: { task: 't', agents: agents('w1', 'w2', 'w3') },
  },
  {
    name: 'a fan-out',
    workflow: 'ConcurrentWorkflow',
    args: { task: 't', agents: agents('w1', 'w2', 'w3') },
  },
  {
    name: 'a graph',
    workflow: 'GraphWorkflow',
    args: {
      task: 't',
      agents: agents('w1', 'w2', 'w3', 'w4'),
      output_agent: 'w4',
      edges: [
        ['w1', 'w2'],
        ['w1', 'w3'],
        ['w2', 'w4'],
        ['w3', 'w4'],
      ],
    },
  },
  {
    name: 'a flow',
    workflow: 'AgentRearrange',
    args: { task: 't', agents: agents('w1', 'w2', 'w3'), flow: 'w1 -> w2, w3' },
  },
  {
    name: 'a mixture',
    workflow: 'MixtureOfAgents',
    args: { task: 't', agents: agents('w1', 'w2', 'w3'), aggregator: agents('judge')[0] },
  },
  {
    name: 'a chat in order',
    workflow: 'GroupChat',
    args: { task: 't', agents: agents('w1', 'w2'), turns_max: 4, summarizer: agents('scribe')[0] },
  },
  {
    name: 'a chat with a stop rule',
    workflow: 'GroupChat',
    args: { task: 't', agents: agents('w1', 'w2'), turns_max: 5, stop_phrase: 'agreed' },
    lines: { w2: (heard, given) => (given.includes('w2 #2') ? `${heard}\nAgreed.` : heard) },
  },
  {
    name: 'a chat with a moderator',
    workflow: 'GroupChat',
    args: {
      task: 't',
      agents: agents('w1', 'w2'),
      turns_max: 3,
      speaker: 'model',
      moderator: agents('chair')[0],
    },
    lines: { chair: (heard) => json({ next: /[0-7]$/.test(heard) ? 'w2' : 'w1' }) },
  },
  {
    name: 'a chat with bids',
    workflow: 'GroupChat',
    args: { task: 't', agents: agents('w1', 'w2'), turns_max: 2, speaker: 'bids' },
    lines: Object.fromEntries(
      ['w1', 'w2'].map((name) => [
        name,
        (heard: string) => `${heard}\nBID: ${parseInt(heard.slice(-2), 16) % 100}`,
      ]),
    ),
  },
  {
    name: 'a hierarchy of two rounds',
    workflow: 'HierarchicalWorkflow',
    args: { task: 't', workers: agents('w1', 'w2', 'w3'), manager: agents('boss')[0], rounds_max: 3 },
    lines: {
      boss: (heard, given) => (given.includes('w1 #2.1') ? json({ final: heard }) : json({ delegations })),
    },
  },
  {
    name: 'a vote',
    workflow: 'MajorityVote',
    args: { task: 't', agents: agents('w1', 'w2', 'w3'), options: ['yes', 'no'] },
    lines: { w1: () => 'VOTE: yes', w2: () => 'VOTE: no', w3: () => 'VOTE: no' },
  },
  {
    name: 'a vote that a judge reads',
    workflow: 'MajorityVote',
    args: { task: 't', agents: agents('w1', 'w2', 'w3'), consensus: agents('judge')[0] },
  },
  {
    name: 'a team with a leader',
    workflow: 'AgentTeam',
    args: { message: 'm', members: ['w1', 'w2', 'w3'] },
    lines: { Coordinator: (heard, given) => (given.includes('JSON only') ? json({ plan }) : heard) },
  },
  {
    name: 'a broadcast',
    workflow: 'AgentTeam',
    args: { message: 'm', members: ['w1', 'w2', 'w3'], strategy: 'broadcast', coordinator: 'Chief' },
  },
  {
    name: 'members in turn',
    workflow: 'AgentTeam',
    args: { message: 'm', members: ['w1', 'w2'], strategy: 'round_robin', tasks: ['x', 'y', 'z'] },
  },
  {
    name: 'members who hear each other and share a state',
    workflow: 'AgentTeam',
    args: {
      message: 'm',
      members: ['w1', 'w2', 'w3'],
      strategy: 'sequential',
      share_interactions: true,
      shared_state: { notes: [] },
    },
  },
]

interface Asked {
  readonly agent: string
  readonly heard: string
}

/**
 * A model whose answers depend on nothing but what it was given, apart from the one request that it refuses.
 */
function modelOf(
  { lines = {} }: (typeof shapes)[number],
  refused: { agent: string; nth: number } | null,
): ChatProvider & { readonly asked: Asked[] } {
  const asked: Asked[] = []
  const counts = new Map<string, number>()
  let due = refused
  const chat: ChatProvider['chat'] = async ({ messages }) => {
    const agent = /^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1] ?? ''
    // Each task has a mark of its own for its frames.
    const given = messages
      .slice(1)
      .map(({ role, content }) => `${role}: ${content}`)
      .join('\n')
      .replaceAll(/ mark="[^"]*"/g, '')
    const heard = `${agent} heard ${createHash('sha256').update(given).digest('hex').slice(0, 8)}`
    const nth = (counts.get(agent) ?? 0) + 1
    if (due?.agent === agent && due.nth === nth) {
      due = null
      throw new ProviderError('provider_refused', 'The key is wrong.', { status: 401 })
    }
    counts.set(agent, nth)
    asked.push({ agent, heard })
    return answer(lines[agent]?.(heard, given) ?? heard)
  }
  return { name: 'p', model: 'm', asked, chat }
}

const answer = (content: string, toolCalls: ChatAnswer['toolCalls'] = []): ChatAnswer => ({
  content,
  toolCalls,
  finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
})

/** Runs the task, and its retry if it is not complete. */
async function run(shape: (typeof shapes)[number], refused: { agent: string; nth: number } | null) {
  const { daemon, submit, ended, retry } = world()
  const model = modelOf(shape, refused)
  daemon({ provider: model })
  const log = await submit({ workflow: { name: shape.workflow, arguments: shape.args } })
  const first = await ended(log)
  const retried = first.at(-1)?.type === 'task_completed' ? null : await ended(await retry(log.task))
  return { model, first: first.at(-1), last: (retried ?? first).at(-1), retried }
}

const resultOf = (end: RecordedEvent | undefined): unknown => {
  const { final_output, outputs } = (end?.data ?? {}) as { final_output?: string; outputs?: unknown }
  return { type: end?.type, final_output, outputs }
}

describe.each(shapes)('the retry of $name', (shape) => {
  it('ends as if no node had failed, whichever it was', async () => {
    const whole = await run(shape, null)
    expect(whole.last?.type).toBe('task_completed')
    const nths = new Map<string, number>()
    for (const { agent } of whole.model.asked) {
      const nth = (nths.get(agent) ?? 0) + 1
      nths.set(agent, nth)
      const broken = await run(shape, { agent, nth })
      expect({ agent, nth, result: resultOf(broken.last) }).toEqual({
        agent,
        nth,
        result: resultOf(whole.last),
      })
    }
  })
})
