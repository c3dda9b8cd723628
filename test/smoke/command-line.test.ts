// The command line beside a running system: that each verb succeeds and says the one fact for which people
// type it. docs.test.ts has the pages.
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only } from '../support/system.ts'

let scene: SmokeScene
/** A task that has ended, in a session of its own. */
let taskId = ''
beforeAll(async () => {
  scene = await smokeScene()
  taskId = (await scene.system.client.run({ task: 'Whistle a tune.', session_id: 'whistling' })).task_id
  await scene.known(taskId)
})

/** What a command prints. It must succeed, and complain of nothing. */
async function beaver(...args: readonly string[]): Promise<string> {
  const { exit, out, err } = await scene.beaver(args)
  expect([exit, err], `beaver ${args.join(' ')}\n${out}`).toEqual([0, ''])
  return out
}
const json = async (...args: readonly string[]): Promise<unknown> =>
  JSON.parse(await beaver(...args, '--json'))
const jsonLines = async (...args: readonly string[]): Promise<unknown[]> =>
  (await beaver(...args, '--json'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

/** A task that waits for a person, as the read model knows it. */
async function waiting(task: string, event: 'approval_requested' | 'question_asked'): Promise<string> {
  const { task_id: id } = await scene.system.client.submit({ task })
  await scene.system.reached(id, 'it waits', (events) => only(events, event).length === 1)
  await scene.known(id)
  return id
}

describe('giving work', () => {
  it('run follows a task to its answer, and with --json prints every event and the result', async () => {
    expect(await beaver('run', 'Sing a song.')).toContain('You said: Sing a song.')
    const lines = await jsonLines('run', 'Sing it again.', '--task-id', 'sing-again')
    expect(lines.at(0)).toMatchObject({ event: { taskseq: 1, type: 'task_submitted' } })
    expect(lines.at(-1)).toMatchObject({
      task_id: 'sing-again',
      status: 'completed',
      final_output: 'You said: Sing it again.',
    })
  })

  it('submit prints the id of the task, and watch follows it', async () => {
    const id = (await beaver('submit', 'Hum a tune.')).trim()
    expect(await beaver('watch', id)).toContain('You said: Hum a tune.')
  })

  it('approve and deny decide about a call that waits', async () => {
    const [allowed, refused] = [
      await waiting('write by-command', 'approval_requested'),
      await waiting('write not-this', 'approval_requested'),
    ]
    expect(await beaver('approve', allowed)).toContain('Allowed: write_file: by-command.txt')
    await beaver('deny', refused, '--reason', 'Not this file.')
    const [written, denied] = [await scene.system.ended(allowed), await scene.system.ended(refused)]
    expect(only(written, 'tool_result_recorded')[0]?.data.success).toBe(true)
    expect(only(denied, 'tool_result_recorded')[0]?.data).toMatchObject({
      success: false,
      error: 'approval_denied',
    })
    for (const call of [[], [only(denied, 'approval_denied')[0]?.data.call_id ?? '']])
      expect(await scene.beaver(['approve', refused, ...call])).toMatchObject({
        exit: 1,
        err: expect.stringMatching(/was already refused by \S+ at /) as string,
      })
  })

  it('answer answers a question of an agent', async () => {
    const id = await waiting(
      'ask_user {"question": "Which tune?", "options": ["fast", "slow"]}',
      'question_asked',
    )
    expect(await beaver('answer', id, '2')).toBe(`Answered: slow (${id})\n`)
    expect((await scene.system.ended(id)).at(-1)).toMatchObject({ data: { final_output: 'So: slow' } })
    await scene.known(id)
    expect(await scene.beaver(['answer', id, '1'])).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/was already answered by \S+ at /) as string,
    })
  })

  it('steer and cancel reach a task that runs', async () => {
    const { task_id: id } = await scene.system.client.submit({ task: 'wait for_command' })
    await scene.system.reached(id, 'it runs', (events) => only(events, 'run_started').length === 1)
    await beaver('steer', id, 'Be quick.')
    await beaver('cancel', id)
    const events = await scene.system.ended(id)
    expect([only(events, 'task_steer_requested')[0]?.data.text, events.at(-1)?.type]).toEqual([
      'Be quick.',
      'task_cancelled',
    ])
  })

  it('retry runs a task that failed again', async () => {
    const { task_id: id } = await scene.system.client.run({ task: 'fail' })
    await scene.known(id)
    expect(await beaver('retry', id)).toContain(`Retried as ${id}.retry-1`)
    expect(only(await scene.system.ended(`${id}.retry-1`), 'task_log_copied')).toHaveLength(1)
  })
})

describe('looking at work', () => {
  it('tasks, show, timeline and events tell of one task, also as JSON', async () => {
    expect(await beaver('tasks', '--session', 'whistling')).toMatch(
      new RegExp(`${taskId} +completed .*Whistle a tune\\.`),
    )
    expect(await json('tasks', '--session', 'whistling')).toMatchObject({
      tasks: [{ task_id: taskId, status: 'completed' }],
    })
    expect(await beaver('show', taskId)).toMatch(
      /Record +verified: \d+ events, unbroken hash chain, head \w+, signed\n  Anyone who has a daemon's key can sign another record\.[^]*You said: Whistle a tune\./,
    )
    expect(await json('show', taskId)).toMatchObject({
      task: { task_id: taskId, chain_ok: true },
      final_output: 'You said: Whistle a tune.',
    })
    expect(await beaver('timeline', taskId)).toContain('Root agent answered: You said: Whistle a tune.')
    expect((await jsonLines('timeline', taskId)).at(-1)).toMatchObject({ kind: 'task_completed' })
    expect(await beaver('timeline', taskId, '--full')).toMatch(
      /^ +\d+ +.* s  Root agent has its system prompt.*\n(?: {19}.*\n)* {19}content\n {21}\S/m,
    )
    expect(await beaver('timeline', 'whistling')).toContain('Root agent answered: You said: Whistle a tune.')
    expect(await beaver('events', taskId)).toContain('task_completed')
    expect(await jsonLines('events', taskId, '--after', '1', '--limit', '1')).toMatchObject([{ taskseq: 2 }])
  })

  it('sessions, session, search and memory tell what was said and is remembered', async () => {
    expect(await beaver('sessions', '--limit', '100')).toMatch(/^whistling +1 .*Whistle a tune\./m)
    expect(await beaver('session', 'whistling')).toMatch(
      /^You +Whistle a tune\.\nBeaver +You said: Whistle a tune\.$/m,
    )
    expect(await json('search', 'whistle')).toMatchObject({
      hits: expect.arrayContaining([expect.objectContaining({ task_id: taskId })]) as unknown,
    })
    expect(await json('memory', '--user', 'nobody-yet')).toMatchObject({ user: { entries: [] } })
  })

  it('tasks are found by what is known of them', async () => {
    const ids = async (...args: readonly string[]): Promise<string[]> =>
      ((await json('tasks', ...args)) as { tasks: { task_id: string }[] }).tasks.map(({ task_id: id }) => id)
    expect(await ids('--text', 'whistle TUNE', '--since', '1h', '--tokens-min', '1')).toContain(taskId)
    expect(await ids('--text', 'whistle', '--workflow', 'SequentialWorkflow')).toEqual([])
    expect(await ids('--text', 'whistle', '--until', '1h')).toEqual([])
  })

  it('failures tells why tasks failed, and the class leads to those tasks', async () => {
    const { task_id: id } = await scene.system.client.run({ task: 'fail', user_id: 'unlucky' })
    await scene.known(id)
    expect(await beaver('failures', '--user', 'unlucky')).toMatch(
      new RegExp(`^ +1 +100% +\\w+ .*\n +.*no such model\n +.* show ${id}\n\nIn all: 1 task failed\\.`, 'm'),
    )
    const { groups } = (await json('failures', '--user', 'unlucky', '--since', '1h')) as {
      groups: { failure_class: string }[]
    }
    expect(groups).toMatchObject([{ tasks: 1, task_ids: [id] }])
    expect(await beaver('tasks', '--failure', groups[0]?.failure_class ?? '', '--user', 'unlucky')).toContain(
      'fail',
    )
    expect(await beaver('failures', '--user', 'unlucky', '--until', '1h')).toBe('No such task failed.\n')
  })

  it('usage and prices tell what models used and cost', async () => {
    expect(await beaver('usage')).toContain('fake-model')
    expect(await json('usage')).toMatchObject({ total: { calls: expect.any(Number) as number } })
    expect(await beaver('prices', 'list', 'gpt-5-mini')).toMatch(/^gpt-5-mini .*0\.25/m)
  })
})

describe('this system', () => {
  it('status finds its daemon and its read model, and nothing that is wrong', async () => {
    const { exit, out } = await scene.look(['status', '--json'])
    const { ok, findings, projector } = JSON.parse(out) as {
      ok: boolean
      findings: { status: string }[]
      projector: { tasks_broken: number }
    }
    expect([exit, ok, findings.filter(({ status }) => status === 'fail'), projector.tasks_broken]).toEqual([
      0,
      true,
      [],
      0,
    ])
  })

  it('plan shows the graph of a workflow without running it', async () => {
    await writeFile(
      join(scene.system.workspace, 'plan.json'),
      JSON.stringify({
        task: 'Tune.',
        agents: ['one', 'two'].map((name) => ({ name, instruction: 'Do it.' })),
      }),
    )
    expect(await json('plan', 'SequentialWorkflow', '-f', 'plan.json')).toMatchObject({
      ok: true,
      graph: { output: 'two' },
    })
  })

  it('models, skills, tools, keys and token list what the system has', async () => {
    const models = await scene.beaver(['models', '--json'])
    expect([models.exit, JSON.parse(models.out)]).toMatchObject([
      0,
      { models: [{ name: 'main', route: ['main'] }] },
    ])
    expect(await beaver('skills', 'list')).toMatch(/^folder-report +built-in /m)
    expect(await json('tools', 'list')).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ id: 'system:read_file', effects: 'reads' })]),
    })
    expect(await beaver('keys')).toMatch(/ operator +trusted /)
    expect(await beaver('token')).toMatch(/^ann +submit, read, approve +ann /m)
  })
})

describe('the record', () => {
  it('check and audit verify find a task whole, signed and in the tree of a checkpoint', async () => {
    expect(await json('check', '--task', taskId)).toMatchObject({
      ok: true,
      findings: [],
      summary: { tasks: 1 },
    })
    expect(await json('check', '--no-projection')).toMatchObject({ ok: true, broken: {} })
    // It succeeds when the projector has made a checkpoint over the task.
    expect((await scene.look(['audit', 'verify', taskId])).out).toContain('✔ Verified: these logs are whole')
    expect(await beaver('audit')).toMatch(/^✔ Nothing is wrong: /)
  })

  it('audit redact removes a text from a task, whose chain still verifies', async () => {
    const { task_id: id } = await scene.system.client.run({ task: 'My number is 4711-0815.' })
    await scene.known(id)
    await beaver('audit', 'redact', id, '--text', '4711-0815', '--reason', 'A number of a customer.')
    // Until the read model has the task again, there is none.
    await until('the read model has the task without the text', async () => {
      const { exit, out } = await scene.beaver(['show', id])
      return exit === 0 && out.includes('My number is') && !out.includes('4711-0815')
    })
    expect(await json('check', '--task', id)).toMatchObject({ ok: true, findings: [] })
  })

  it('archive writes sessions that have ended to a checked file', async () => {
    const { task_id: id } = await scene.system.client.run({ task: 'File me.' })
    await scene.known(id)
    const { file, sha256, tasks } = (await json(
      'archive',
      '--before',
      '0s',
      '--out',
      'archive',
      '--copy',
    )) as { file: string; sha256: string; tasks: string[] }
    expect([
      tasks.includes(id),
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ]).toEqual([true, sha256])
  })
})
