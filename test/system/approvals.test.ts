// A call that asks waits for a person, who is shown what it would do and decides once: over NATS and with
// commands, on a real daemon. What a loop, a task and a suspension do is in
// packages/agent/src/loop/agent-loop.approval.test.ts and packages/runtime/src/task-approvals.test.ts.
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NodeDetail, TaskAnswer } from '@beaver/contracts'
import type { LiveDelta } from '@beaver/core'
import { until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { placeIn, startBeaver } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { keptSystem, type KeptSystem } from '../support/kept-system.ts'
import { only, type TestSystem, told } from '../support/system.ts'

let kept: KeptSystem
let system: TestSystem
beforeAll(async () => {
  kept = await keptSystem()
  system = kept.system
  await kept.projector()
})
beforeEach(() => system.provider.forget())

/** A root that makes these calls at once and then says what came of them. */
function calling(...calls: readonly (readonly [tool: string, args: object])[]): void {
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(...calls) : say(`They said: ${results.join(' | ')}`),
  )
}
const echoing = (...texts: readonly string[]): void =>
  calling(...texts.map((text) => ['echo', { text }] as const))

const refusal = (promise: Promise<unknown>): Promise<{ code: string; message: string }> =>
  promise.then(
    () => ({ code: 'done', message: '' }),
    (error: { code: string; message: string }) => error,
  )
const codeOf = async (promise: Promise<unknown>): Promise<string> => (await refusal(promise)).code
const waits = (taskId: string, calls = 1) =>
  system.reached(
    taskId,
    `${calls} calls wait`,
    (events) => only(events, 'approval_requested').length === calls,
  )
const suspended = (taskId: string) =>
  system.reached(taskId, 'it is suspended', (events) => told(events).includes('task_suspended'))

const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('a call that needs an approval', () => {
  it('is asked for, waits, and runs once when a person approves it', async () => {
    echoing('careful')
    const { task_id } = await system.client.submit({ task: 'say it' })
    expect(only(await waits(task_id), 'approval_requested')).toMatchObject([
      { data: { call_id: 'call_0', tool_name: 'echo' } },
    ])
    expect(told(await system.events(task_id))).not.toContain('tool_call_started')
    expect(await codeOf(system.client.decide(task_id, { callId: 'nope', approved: true }))).toBe('not_found')
    await system.client.decide(task_id, { callId: 'call_0', approved: true })
    const events = await system.ended(task_id)
    expect(told(events).filter((type) => /approval|tool_/.test(type))).toEqual([
      'approval_requested',
      'approval_granted',
      'tool_call_started',
      'tool_result_recorded',
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'They said: {"text":"careful"}' },
    })
    expect(await codeOf(system.client.decide(task_id, { callId: 'call_0', approved: false }))).toBe(
      'conflict',
    )
  })

  it('is decided by the id the provider gave it, however odd', async () => {
    const id = `a/b ${'x'.repeat(2_000)}`
    system.provider.answerBy(({ results }) => {
      const call = use(['echo', { text: 'careful' }])
      return results.length > 0 || call === null ? say('done') : { body: call.body.replace('call_0', id) }
    })
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(task_id)
    await system.client.decide(task_id, { callId: id, approved: true })
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
  })

  it('ends with its task when that is cancelled', async () => {
    echoing('careful')
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(task_id)
    await system.client.cancel(task_id, 'enough')
    expect(told(await system.ended(task_id)).at(-1)).toBe('task_cancelled')
  })
})

describe('a write', () => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

  it('is shown with its diff; a decision about another call is refused; it asks again if the file changed since', async () => {
    const file = join(system.workspace, 'notes.txt')
    await writeFile(file, 'one\ntwo\nthree\n')
    const content = 'one\nTWO\u202e\nthree\n'
    system.provider.answerBy(({ results }) =>
      results.length < 2
        ? use(['write_file', { path: 'notes.txt', content, mode: 'overwrite' }])
        : say('done'),
    )
    const { task_id } = await system.client.submit({ task: 'write it' })
    const asked = async (times: number) =>
      only(await waits(task_id, times), 'approval_requested')[times - 1]?.data
    const first = await asked(1)
    expect(first).toMatchObject({
      subject: 'notes.txt',
      call_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      preview: {
        effect: 'overwrite',
        path: 'notes.txt',
        bytes: Buffer.byteLength(content),
        sha256: sha256(content),
        before: { bytes: 14, sha256: sha256('one\ntwo\nthree\n') },
        diff: '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\u202e\n three',
        diff_lines_left_out: 0,
      },
    })
    const decide = (callId: string, callHash: string): Promise<void> =>
      system.client.decide(task_id, { callId, callHash, approved: true })
    await expect(decide(first?.call_id ?? '', sha256('another call'))).rejects.toMatchObject({
      code: 'conflict',
    })

    await writeFile(file, 'changed meanwhile\n')
    await decide(first?.call_id ?? '', first?.call_hash ?? '')
    const second = await asked(2)
    expect(await readFile(file, 'utf8')).toBe('changed meanwhile\n')
    expect(second?.preview?.diff).toContain('-changed meanwhile')
    expect(second?.call_hash).not.toBe(first?.call_hash)

    await decide(second?.call_id ?? '', second?.call_hash ?? '')
    const events = await system.ended(task_id)
    expect(await readFile(file, 'utf8')).toBe(content)
    expect(only(events, 'tool_result_recorded').map(({ data }) => [data.success, data.error])).toEqual([
      [false, 'changed_since_approval'],
      [true, null],
    ])
    expect(only(events, 'approval_granted').map(({ data }) => data.call_hash)).toEqual([
      first?.call_hash,
      second?.call_hash,
    ])
  })

  it('that the tool refuses anyway asks nobody', async () => {
    calling(['write_file', { path: '.git/hooks/pre-commit', content: 'x' }])
    const { task_id } = await system.client.submit({ task: 'write it' })
    const events = await system.ended(task_id)
    expect(only(events, 'approval_requested')).toEqual([])
    expect(only(events, 'tool_result_recorded')[0]?.data).toMatchObject({
      success: false,
      error: 'protected_path',
    })
  })

  it('holds back the calls behind it: each names the call that a person must decide about, on screens and in answers', async () => {
    calling(
      ['write_file', { path: 'held.txt', content: 'x' }],
      ['read_file', { path: 'held.txt' }],
      ['list_files', {}],
    )
    const args = {
      task: 'Write and read',
      agents: [{ name: 'clerk', instruction: 'Write held.txt, then read it.' }],
    }
    const { task_id } = await system.client.submit({
      workflow: { name: 'SequentialWorkflow', arguments: args },
    })
    const { calls } = await until('the read model knows that it waits', async () => {
      const found = await system.client.query('node', { task_id, node_id: 'clerk' }).catch(() => null)
      return (
        found !== null &&
        found.calls.some((call) => call.kind === 'tool' && call.waits_for_call_id !== undefined) &&
        (found as NodeDetail)
      )
    })
    const tools = calls.flatMap((call) => (call.kind === 'tool' ? [call] : []))
    const [write] = tools
    expect(tools.map(({ tool, waits_for_call_id: id }) => [tool, id])).toEqual([
      ['write_file', write?.call_id],
      ['read_file', write?.call_id],
      ['list_files', write?.call_id],
    ])
    expect((await kept.beaver('show', task_id, '--node', 'clerk')).out).toMatch(
      /read_file .*waits until you decide about write_file/,
    )
    const { teams } = JSON.parse((await kept.beaver('show', task_id, '--json')).out) as TaskAnswer
    expect(teams[0]?.nodes[0]?.run?.status).toBe('waiting_for_approval')
    const { out } = await kept.beaver('show', task_id)
    expect(out).toContain('clerk  asks you')
    expect(out).not.toContain('acting')

    await system.client.decide(task_id, { callId: write?.call_id ?? '', approved: true })
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
    const after = await until('the read model has the end', async () => {
      const found = await system.client.query('node', { task_id, node_id: 'clerk' })
      return found.node.status === 'completed' && found
    })
    expect(after.calls.some((call) => call.kind === 'tool' && call.waits_for_call_id !== undefined)).toBe(
      false,
    )
  })
})

describe('with commands, a call that waits', () => {
  it('is told with the commands that answer where there is no terminal, and these commands answer', async () => {
    echoing('careful')
    await using run = startBeaver(
      ['run', 'say it', '--task-id', 'task_approved'],
      placeIn(kept.server, system, { BEAVER_CALLER: 'ben' }),
    )
    await until('the question stands there', () => run.out.includes('refuse:'))
    expect(run.out).toContain('waits until somebody allows echo: ')
    const typed = /allow: \S*beaver (approve .*?) +refuse:/.exec(run.out)?.[1]
    expect(typed).toBe('approve task_approved')
    expect(await kept.beaver(...(typed ?? '').split(' '))).toMatchObject({
      exit: 0,
      out: expect.stringMatching(
        /^Allowed: echo: .*careful.* \(task_approved\)\n {2}call hash: [0-9a-f]{64}\n$/,
      ) as string,
      err: '',
    })
    const ended = await run.ended
    expect(ended).toMatchObject({
      exit: 0,
      out: expect.stringContaining('They said: {"text":"careful"}') as string,
    })
    expect(ended.out).toContain('allowed echo (')
  })

  it('has to be named when several wait, by its id or the beginning of it; the model is told who refused and why', async () => {
    echoing('careful one', 'careful two')
    const { task_id } = await system.client.submit({ task: 'say both' })
    const ids = only(await waits(task_id, 2), 'approval_requested').map((event) => event.data.call_id)
    await until(
      'the projector knows',
      async () =>
        (await system.client.query('approvals')).calls.filter((call) => call.task_id === task_id).length ===
        2,
    )
    const refused = await kept.beaver('approve', task_id, '--json')
    expect(refused).toMatchObject({ exit: 2, err: expect.stringContaining('2 calls of the task') as string })
    expect(jsonLines(refused.out)).toMatchObject([
      { ok: false, error: { code: 'invalid_arguments', problems: ids.map((path) => ({ path })) } },
    ])
    const denied = await kept.beaver(
      'deny',
      task_id.slice(0, -1),
      ids[1] ?? '',
      '--reason',
      'not that one',
      '--json',
    )
    expect(jsonLines(denied.out)).toEqual([
      { task_id, call_id: ids[1], approved: false, by: 'ben', reason: 'not that one' },
    ])
    await system.client.decide(task_id, { callId: ids[0] ?? '', approved: true })
    const events = await system.ended(task_id)
    const result = only(events, 'tool_result_recorded').find((event) => event.data.call_id === ids[1])
    expect(result?.data).toMatchObject({ success: false, error: 'approval_denied' })
    expect(result?.data.content).toMatch(/ben.*not that one/s)
    expect(only(events, 'tool_call_started').map(({ data }) => data.call_id)).toEqual([ids[0]])
  })
})

it('a call that a person changes is made with the arguments of the person, and the model and the journal have both versions', async () => {
  echoing('carefully remove everything')
  const { task_id } = await system.client.submit({ task: 'say it' })
  await suspended(task_id)
  const decide = (text: string) =>
    system.client.decide(task_id, { callId: 'call_0', approved: true, arguments: text })
  expect(await refusal(decide('{"txt": 1}'))).toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('still waits') as string,
  })
  expect(await refusal(decide('{"text": "the forbidden plan"}'))).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('rule forbids it') as string }) // prettier-ignore
  expect(await refusal(decide('["text"]'))).toMatchObject({ code: 'invalid_arguments' })
  expect(told(await system.events(task_id))).not.toContain('approval_granted')
  await decide('{"text":"list everything"}')
  const events = await system.ended(task_id)
  expect(only(events, 'assistant_message_added')[0]?.data.tool_calls[0]?.arguments).toContain(
    'remove everything',
  )
  expect(only(events, 'approval_granted')).toMatchObject([
    { data: { arguments: '{"text":"list everything"}' } },
  ])
  expect(only(events, 'tool_result_recorded')).toMatchObject([
    { data: { success: true, content: '{"text":"list everything"}' } },
  ])
  const last = JSON.stringify(system.provider.requests.at(-1))
  expect(last).toContain('changed the arguments before the call was made')
  expect(last).toContain('remove everything')
})

describe('a question of an agent', () => {
  const question = { question: 'Which branch?', options: ['main', 'next'] }
  const ask = (): void => calling(['ask_user', question])

  it('is listed, is answered by the number of an option, and takes no other answer', async () => {
    ask()
    const { task_id } = await system.client.submit({ task: 'ask me' })
    await until('the projector knows', async () =>
      (await system.client.query('questions')).questions.some((each) => each.task_id === task_id),
    )
    expect((await kept.beaver('answer')).out).toContain('Which branch? 1) main 2) next')
    expect((await kept.beaver('tasks')).out).toMatch(
      new RegExp(
        `asks: Which branch\\?\\n  1\\) main\\n  2\\) next\\n  answer: \\S*beaver answer ${task_id} <number>`,
      ),
    )
    expect(await kept.beaver('answer', task_id, 'old')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('Answer with one of: "main", "next".') as string,
    })
    expect(await kept.beaver('answer', task_id, '2')).toMatchObject({
      exit: 0,
      out: `Answered: next (${task_id})\n`,
    })
    const events = await system.ended(task_id)
    expect(only(events, 'question_answered')).toMatchObject([
      { data: { question_index: 0, answer: { action: 'accept', answers: ['next'] } } },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'They said: next' } })
  })

  it('suspends its task, which then holds no daemon, and is answered once', async () => {
    ask()
    const { task_id } = await system.client.submit({ task: 'ask me' })
    await suspended(task_id)
    const answer = { callId: 'call_0', answer: { action: 'accept' as const, answers: ['main'] } }
    const both = await Promise.all([
      codeOf(system.client.answer(task_id, answer)),
      codeOf(system.client.answer(task_id, { ...answer, answer: { action: 'decline' } })),
    ])
    expect(both.toSorted()).toEqual(['conflict', 'done'])
    const events = await system.ended(task_id)
    expect(only(events, 'question_answered')).toHaveLength(1)
    expect(only(events, 'task_claimed')).toHaveLength(2)
  })

  it('with a deadline tells until when it waits; nobody is waited for longer, and the agent goes on', async () => {
    calling(['ask_user', { question: 'Which branch?', wait_minutes: 0.05 }])
    const { task_id } = await system.client.submit({ task: 'ask me' })
    const events = await system.ended(task_id)
    const asked = only(events, 'question_asked')[0]
    expect(asked?.data.question).toEqual({ message: 'Which branch?', timeout_ms: 3_000 })
    expect(only(events, 'question_answered')[0]?.data).toMatchObject({
      answer: { action: 'cancel' },
      by: 'beaver',
      reason: 'Nobody answered within 3 s.',
    })
    expect(events.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: expect.stringContaining('Nobody answered') as string },
    })
    const { questions } = await until('the read model has it', async () => {
      const task = await system.client.query('task', { task_id }).catch(() => null)
      return task?.questions?.[0]?.state === 'cancel' ? (task as TaskAnswer & { questions: object[] }) : false
    })
    expect(questions).toMatchObject([
      { expires_at: new Date(Date.parse(asked?.time ?? '') + 3_000).toISOString() },
    ])
  })

  it('is not offered where nobody can answer, and a call of it all the same is told so', async () => {
    ask()
    const { task_id } = await system.client.submit({ task: 'ask me', approvals: 'refuse' })
    const events = await system.ended(task_id)
    expect(only(events, 'run_started')[0]?.data.tools).not.toContain('ask_user')
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { error: 'tool_not_available' } }])
  })
})

describe('what a streamed answer says', () => {
  /** The deltas of a task until it has said what is wanted. */
  async function heard(taskId: string, task: string, wanted: string): Promise<LiveDelta[]> {
    const stop = new AbortController()
    const said: LiveDelta[] = []
    const listening = (async () => {
      for await (const delta of system.client.deltas(taskId, { signal: stop.signal })) said.push(delta)
    })()
    await system.nc.flush()
    await system.client.submit({ task, task_id: taskId, stream: true })
    expect(only(await system.ended(taskId), 'task_completed')[0]?.data.final_output).toBe(wanted)
    await until('all of it was heard', () => said.map((delta) => delta.text).join('') === wanted, {
      everyMs: 5,
    })
    stop.abort()
    await listening
    return said
  }

  it('is published while it is said; the journal holds the whole', async () => {
    const chunk = (delta: object, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    system.provider.answerBy(() => ({
      headers: { 'content-type': 'text/event-stream' },
      body: [
        chunk({ role: 'assistant', content: 'Good ' }),
        chunk({ content: 'morning' }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ].join(''),
    }))
    const [first] = await heard('greeting', 'greet', 'Good morning')
    expect(first).toMatchObject({ call: 1, offset: 0, agent_name: 'root', node_id: null })
    expect(system.provider.requests[0]?.stream).toBe(true)
  })

  it('is published in pieces if it is larger than a message, and costs no daemon', async () => {
    const whole = '中\u0001'.repeat(600_000)
    system.provider.answerBy(() => say(whole))
    const before = kept.daemon.stderr.length
    await heard('long answer', 'much', whole)
    expect(kept.daemon.stderr.slice(before)).not.toContain('Error')
  })
})
