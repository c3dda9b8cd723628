// Tasks whose runs do the same again and again, over deaths of their daemon, in teams and in retries.
import { type ChatAnswer, type ChatProvider, defineTool } from '@beaver/agent'
import type { RecordedEvent } from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { typesOf, world } from '../test/kit.ts'

let ids = 0
const answer = (over: Partial<ChatAnswer>): ChatAnswer => ({
  content: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 10, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
  ...over,
})
const callsTool = (name: string, args: object): ChatAnswer =>
  answer({
    toolCalls: [{ id: `call${++ids}`, name, arguments: JSON.stringify(args) }],
    finishReason: 'tool_calls',
  })

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.strictObject({}),
  idempotent: true,
  effects: 'reads',
  run: () => 'nothing new',
})

/** A model that counts whom it answers: the root, or the node that does `name`. */
function model(next: (whose: string, turn: number) => ChatAnswer): ChatProvider & { asked: string[] } {
  const asked: string[] = []
  return {
    name: 'p',
    model: 'm',
    asked,
    async chat({ messages }) {
      const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
      const whose = /<instruction [^>]*>\ndo (.+)\n/.exec(text)?.[1] ?? 'root'
      asked.push(whose)
      return next(whose, messages.filter((message) => message.role === 'assistant').length)
    },
  }
}
const looking = () => model(() => callsTool('look', {}))
const endOf = (events: readonly RecordedEvent[]): unknown => events.at(-1)
const failedRuns = (events: readonly RecordedEvent[]): unknown[] =>
  events.flatMap((event) =>
    event.type === 'run_failed' ? [[event.data.failure.class, event.data.usage.calls]] : [],
  )

describe('a task whose root does the same again and again', () => {
  it('fails after as many answers as its bound, with what they cost', async () => {
    const { daemon, submit, ended } = world()
    const provider = looking()
    daemon({ provider, tools: [look] })
    const events = await ended(await submit())
    expect(endOf(events)).toMatchObject({
      type: 'task_failed',
      data: { failure: { class: 'no_progress' }, usage: { input_tokens: 50, output_tokens: 5, calls: 5 } },
    })
    expect(provider.asked).toHaveLength(5)
  })

  it('is counted on by the daemon that takes it over', async () => {
    const { daemon, submit, ended, events, passing } = world()
    let asked = 0
    const provider = model(() => (asked++, callsTool('look', {})))
    const first = daemon({
      provider: {
        ...provider,
        chat: (request) => (asked === 3 ? new Promise(() => {}) : provider.chat(request)),
      },
      tools: [look],
    })
    const log = await submit()
    const results = (all: readonly RecordedEvent[]): number =>
      typesOf(all).filter((type) => type === 'tool_result_recorded').length
    await passing('three turns are durable', async () => results(await events(log)) === 3)
    first.kill()
    daemon({ provider, tools: [look] })
    const all = await ended(log)
    expect(endOf(all)).toMatchObject({ data: { failure: { class: 'no_progress' } } })
    expect([asked, failedRuns(all)]).toEqual([5, [['no_progress', 5]]])
  })

  it('may do the same as often again in a retry, and then completes if something moves', async () => {
    const { daemon, submit, ended, retry } = world()
    const provider = model((_, turn) =>
      turn < 7 ? callsTool('look', {}) : answer({ content: 'There it is.' }),
    )
    daemon({ provider, tools: [look] })
    const log = await submit()
    expect(endOf(await ended(log))).toMatchObject({ data: { failure: { class: 'no_progress' } } })
    expect(endOf(await ended(await retry(log.task)))).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'There it is.', usage: { calls: 3 } },
    })
  })
})

it('a node that does the same again and again fails, and the others of its team go on', async () => {
  const { daemon, submit, ended } = world()
  const agents = ['stuck', 'fine', 'after'].map((name) => ({ name, instruction: `do ${name}` }))
  const graph = {
    task: 't',
    agents,
    edges: [
      ['stuck', 'after'],
      ['fine', 'after'],
    ],
    output_agent: 'after',
  }
  const provider = model((whose, turn) => {
    if (whose === 'stuck') return callsTool('look', {})
    return whose === 'root' && turn === 0
      ? callsTool('GraphWorkflow', graph)
      : answer({ content: `of ${whose}` })
  })
  daemon({ provider, tools: [look], limits: { repeatsMax: 3 } })
  const events = await ended(await submit())
  const nodes = events.flatMap((event) =>
    event.type === 'node_failed' || event.type === 'node_blocked' || event.type === 'node_completed'
      ? [`${event.type} ${event.data.node_id}`]
      : [],
  )
  expect(nodes.toSorted()).toEqual(['node_blocked after', 'node_completed fine', 'node_failed stuck'])
  expect(provider.asked.filter((whose) => whose === 'stuck')).toHaveLength(3)
  expect(events.find(({ type }) => type === 'node_failed')?.data).toMatchObject({
    failure: { class: 'no_progress', message: expect.stringContaining('same call of look') as string },
  })
})
