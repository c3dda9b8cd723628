// A task that ended without completing is taken up again, and keeps what completed.
import {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  defineTool,
  ProviderError,
} from '@beaver/agent'
import { event } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { typesOf, world } from '../test/kit.ts'

const answer = (text: string, toolCalls: ChatAnswer['toolCalls'] = []): ChatAnswer => ({
  content: text,
  toolCalls,
  finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
  usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
  model: 'm',
  responseId: null,
})
const refused = (): Error => new ProviderError('provider_refused', 'The key is wrong.', { status: 401 })
const said = (request: ChatRequest): string =>
  request.messages.findLast((message) => message.role === 'user')?.content ?? ''
/** What the provider was asked about, in order; `reply` answers. */
function provider(
  reply: (text: string, request: ChatRequest) => ChatAnswer,
): ChatProvider & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    name: 'p',
    model: 'm',
    asked,
    chat: async (request) => (asked.push(said(request)), reply(said(request), request)),
  }
}

const names = ['a', 'b', 'c', 'd', 'e']
const team = { task: 'compare', agents: names.map((name) => ({ name, instruction: `do ${name}` })) }
const results = (request: ChatRequest): string[] =>
  request.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
const nodeOf = (text: string): string | undefined => names.find((name) => text.includes(`do ${name}`))
const resultOf = (events: readonly RecordedEvent[]) =>
  events.at(-1)?.data as { readonly usage: unknown; readonly outputs: readonly unknown[] }
const told = (events: readonly RecordedEvent[]) =>
  events.flatMap((each) =>
    each.type === 'assistant_message_added' && each.data.copied_from === undefined ? [each.data.content] : [],
  )

/** The root calls the team at once and then answers with what it gave; the key is wrong for `broken()`. */
function teamProvider(broken: () => readonly string[]) {
  return provider((text, request) => {
    const node = nodeOf(text)
    if (node === undefined) {
      if (broken().includes('root') && results(request).length > 0) throw refused()
      return results(request).length > 0
        ? answer('the report')
        : answer('', [{ id: 't1', name: 'ConcurrentWorkflow', arguments: JSON.stringify(team) }])
    }
    if (broken().includes(node)) throw refused()
    return answer(`said ${node}`)
  })
}

describe('a team of five of which one node failed', () => {
  it('asks only for that node, and for the report that rests on it', async () => {
    const { daemon, submit, ended, retry, events } = world()
    let broken = ['d']
    const model = teamProvider(() => broken)
    daemon({ provider: model })
    const log = await submit({ text: 'compare them' })
    expect((await ended(log)).at(-1)?.type).toBe('task_incomplete')
    expect(model.asked).toHaveLength(7)
    broken = []
    model.asked.length = 0
    const again = await retry(log.task)
    const all = await ended(again)
    expect(again).toEqual({ ...log, task: `${log.task}.retry-1` })
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'the report' } })
    expect(model.asked.map(nodeOf)).toEqual(['d', undefined])
    expect(told(all)).toEqual(['said d', 'the report'])
    expect(resultOf(all).usage).toEqual({ input_tokens: 20, output_tokens: 10, calls: 2 })
    expect(resultOf(all).outputs).toHaveLength(5)
    // What the first task ended with is as it was.
    expect((await events(log)).at(-1)?.type).toBe('task_incomplete')
  })

  it('of a root that failed as well, drives the team on first', async () => {
    const { daemon, submit, ended, retry } = world()
    let broken = ['d', 'root']
    const model = teamProvider(() => broken)
    daemon({ provider: model })
    const log = await submit()
    expect((await ended(log)).at(-1)?.type).toBe('task_failed')
    broken = []
    model.asked.length = 0
    expect((await ended(await retry(log.task))).at(-1)).toMatchObject({ type: 'task_completed' })
    expect(model.asked.map(nodeOf)).toEqual(['d', undefined])
  })

  it('may fail again and be retried again: each retry keeps what completed so far', async () => {
    const { daemon, submit, ended, retry } = world()
    let broken = ['b', 'd']
    const model = teamProvider(() => broken)
    daemon({ provider: model })
    const log = await submit()
    await ended(log)
    broken = ['d']
    const second = await retry(log.task)
    expect((await ended(second)).at(-1)?.type).toBe('task_incomplete')
    broken = []
    model.asked.length = 0
    const third = await retry(second.task)
    const all = await ended(third)
    expect([second.task, third.task]).toEqual([`${log.task}.retry-1`, `${log.task}.retry-2`])
    expect(all.at(-1)?.type).toBe('task_completed')
    expect(model.asked.map(nodeOf)).toEqual(['d', undefined])
    const from = all.flatMap((each) =>
      each.type === 'assistant_message_added' && each.data.copied_from !== undefined
        ? [each.data.copied_from.task_id]
        : [],
    )
    expect(new Set(from)).toEqual(new Set([log.task, second.task]))
  })
})

describe('a root that failed', () => {
  it('at a later turn goes on there: no answer is asked for again, no tool runs again', async () => {
    const { daemon, submit, ended, retry } = world()
    let ran = 0
    const step = defineTool({
      name: 'step',
      description: 'Steps.',
      input: z.strictObject({}),
      run: () => `step ${++ran}`,
    })
    let broken = true
    const model = provider((_, request) => {
      const done = results(request).length
      if (done === 3 && broken) throw refused()
      return done < 4
        ? answer('', [{ id: `c${done}`, name: 'step', arguments: '{}' }])
        : answer(`done: ${results(request).join(', ')}`)
    })
    daemon({ provider: model, tools: [step] })
    const log = await submit()
    expect((await ended(log)).at(-1)?.type).toBe('task_failed')
    expect([model.asked.length, ran]).toEqual([4, 3])
    broken = false
    const all = await ended(await retry(log.task))
    expect(all.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'done: step 1, step 2, step 3, step 4' },
    })
    expect([model.asked.length, ran]).toEqual([6, 4])
  })

  it('with a call whose outcome is not known leaves it in doubt', async () => {
    const { daemon, submit, ended, retry, passing, events } = world()
    let ran = 0
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      input: z.strictObject({}),
      idempotent: false,
      run: () => (ran++, new Promise(() => {})),
    })
    const model = provider((_, request) =>
      results(request).length === 0
        ? answer('', [{ id: 'c1', name: 'send', arguments: '{}' }])
        : answer(results(request)[0] ?? ''),
    )
    const { tasks } = daemon({ provider: model, tools: [send] })
    const log = await submit()
    await passing('it is sent', () => ran === 1)
    await [...tasks.values()][0]?.cancel('enough')
    expect((await ended(log)).at(-1)?.type).toBe('task_cancelled')
    const all = await ended(await retry(log.task))
    expect(all.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: expect.stringContaining('in_doubt') },
    })
    expect([ran, (await events(log)).length > 0]).toEqual([1, true])
  })

  it('continues the history it began with, and a later task is told of the retry alone', async () => {
    const { daemon, submit, ended, retry } = world()
    let broken = false
    const requests: ChatRequest[] = []
    const model = provider((text, request) => {
      requests.push(request)
      if (broken) throw refused()
      return answer(`answer to ${text}`)
    })
    daemon({ provider: model })
    await ended(await submit({ session_id: 's', text: 'one' }))
    broken = true
    const failed = await submit({ session_id: 's', text: 'two' })
    await ended(failed)
    broken = false
    await ended(await retry(failed.task))
    await ended(await submit({ session_id: 's', text: 'three' }))
    const conversations = requests.map(({ messages }) => messages.slice(1).map(({ content }) => content))
    expect(conversations.slice(2)).toEqual([
      ['one', 'answer to one', 'two'],
      ['one', 'answer to one', 'two', 'answer to two', 'three'],
    ])
  })
})

describe('a retry', () => {
  it('asked for twice is one task', async () => {
    const { daemon, submit, ended, retry, journal } = world()
    daemon({
      provider: provider(() => {
        throw refused()
      }),
    })
    const log = await submit()
    await ended(log)
    const [one, two] = await Promise.all([retry(log.task), retry(log.task)])
    expect(one).toEqual(two)
    await ended(one)
    expect(await retry(log.task)).toEqual(one)
    expect((await journal.sessionTail('local', log.session)).task).toBe(one.task)
  })

  it('of a task that runs, completed or does not exist is refused, and says why', async () => {
    const { daemon, submit, ended, retry } = world()
    const log = await submit()
    await expect(retry(log.task)).rejects.toThrow(
      `The task ${log.task} has not ended: it is submitted. Only a task that has ended can be retried.`,
    )
    daemon({ provider: provider(() => answer('x')) })
    await ended(log)
    await expect(retry(log.task)).rejects.toMatchObject({
      code: 'conflict',
      message: `The task ${log.task} completed, so there is nothing to retry.`,
    })
    await expect(retry('nope')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('has its copy with its first claim, once: a daemon that dies then leaves the whole of it or nothing', async () => {
    const { daemon, submit, ended, retry, passing, events } = world()
    let broken = ['d']
    const first = daemon({ provider: teamProvider(() => broken) })
    const log = await submit()
    await ended(log)
    first.kill()
    broken = []
    const slow = daemon({
      provider: { name: 'p', model: 'm', chat: () => new Promise(() => {}) },
      id: 'slow',
    })
    const again = await retry(log.task)
    const begun = await passing('it is claimed', async () =>
      (await events(again)).length > 1 ? events(again) : null,
    )
    expect(typesOf(begun).slice(0, 3)).toEqual(['task_submitted', 'task_claimed', 'task_log_copied'])
    slow.kill()
    daemon({ provider: teamProvider(() => []), id: 'next' })
    const all = await ended(again)
    expect(all.at(-1)?.type).toBe('task_completed')
    expect(typesOf(all).filter((type) => type === 'task_log_copied')).toHaveLength(1)
    expect(told(all)).toEqual(['said d', 'the report'])
  })

  it('that was cancelled before its first claim brings its copy all the same', async () => {
    const { daemon, submit, ended, retry, write } = world()
    const one = daemon({ provider: teamProvider(() => ['d']) })
    const log = await submit()
    await ended(log)
    one.kill()
    const again = await retry(log.task)
    await write(again, event('task_cancel_requested', { reason: 'no' }))
    daemon({ provider: teamProvider(() => []), id: 'next' })
    const all = await ended(again)
    expect(all.at(-1)?.type).toBe('task_cancelled')
    expect(typesOf(all)).toContain('task_log_copied')
  })
})
