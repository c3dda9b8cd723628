// Budgets on a whole system: a task stops before it exceeds its budget, waits until it is given more, or ends.
// The commands are those of docs/how-to/bound-spending.md.
import { createApp, tokenAccess, tokenHash } from '@beaver/http'
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { placeIn } from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'
import { testServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'
import { page, type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only, testSystem } from '../support/system.ts'

let scene: SmokeScene
let text = ''
beforeAll(async () => {
  scene = await smokeScene()
  text = await page('docs/how-to/bound-spending.md')
})

/** The commands of the page that begin like this, each as its words. */
const commandsOf = (start: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`beaver ${start}`))
    .map((line) =>
      [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word).slice(1),
    )

async function beaver(...args: readonly string[]): Promise<string> {
  const { exit, out, err } = await scene.beaver(args)
  expect([exit, err], `beaver ${args.join(' ')}\n${out}`).toEqual([0, ''])
  return out
}

/** An answer of which the provider says that it used tokens for 0.69 USD, at the price of an unknown model. */
function dear(reply: FakeReply): FakeReply {
  const body = JSON.parse(reply?.body ?? '') as object
  const usage = { prompt_tokens: 100_000, completion_tokens: 26_000, total_tokens: 126_000 }
  return { body: JSON.stringify({ ...body, usage }) }
}

/** The first call uses a tool, and the second one answers. */
const twoCalls = ({ results }: SeenRequest): FakeReply =>
  results.length === 0 ? dear(use(['list_dir', { path: '.' }])) : say('Compared.')

const waits = (taskId: string) =>
  scene.system.reached(taskId, 'it waits', (all) => only(all, 'budget_exceeded').length > 0)

it('a task stops before a call that exceeds its budget, and completes when it is given more', async () => {
  scene.script('Compare the apples', twoCalls)
  const taskId = (await beaver('submit', 'Compare the apples', '--budget', 'usd=0.70')).trim()
  const [exceeded] = only(await waits(taskId), 'budget_exceeded')
  expect(exceeded?.data).toMatchObject({
    ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 0.7, used: 0.69 },
    spent_by: [{ agent_name: 'root', used: 0.69 }],
  })
  expect(scene.system.provider.about('Compare the apples')).toHaveLength(1)
  await until('show says it', async () =>
    (await beaver('show', taskId)).includes('Waits for  a budget: the budget of the task has no place'),
  )
  const raises = commandsOf('budget raise')
  expect(raises.map(([, , whose]) => whose)).toEqual([
    ...['<task>', '<task>', '<task>'],
    ...['--user', '--tenant', '--session'],
  ])
  const [first = []] = raises
  expect(await beaver(...first.map((word) => (word === '<task>' ? taskId : word)))).toBe(
    `Raised: ${taskId} may use 5.00 USD more.\n`,
  )
  const events = await scene.system.ended(taskId)
  expect(only(events, 'budget_raised')[0]?.data).toMatchObject({ more: { usd: 5 }, budget: { of: 'task' } })
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'Compared.' } })
})

it('a run without a terminal prints the command that gives more, and goes on after it', async () => {
  scene.script('Compare the grapes', twoCalls)
  for (const quiet of [false, true]) {
    const taskId = quiet ? 'grapes_quiet' : 'grapes'
    const ran = scene.beaver([
      ...['run', 'Compare the grapes', '--budget', 'usd=0.70', '--task-id', taskId],
      ...(quiet ? ['--quiet'] : []),
    ])
    await waits(taskId)
    await scene.system.client.raise(taskId, { usd: 1 })
    const { exit, out, err } = await ran
    expect(exit).toBe(0)
    const told = quiet ? err : out
    expect(told).toContain('Most was used by root (0.69 USD).\n')
    expect(told).toMatch(
      new RegExp(
        `  give more: \\S*beaver budget raise ${taskId} --usd [\\d.]+   stop: \\S*beaver cancel ${taskId}\\n`,
      ),
    )
    expect(out).toContain('Compared.')
  }
})

it('the other commands of the page raise what they name, and what is not bounded cannot be raised', async () => {
  const { task_id: taskId } = await scene.system.client.submit({
    task: 'wait for_more',
    budget: { model_calls: 5 },
  })
  await scene.system.reached(taskId, 'it runs', (all) => only(all, 'model_call_reserved').length > 0)
  const [, more = [], ofNode = []] = commandsOf('budget raise')
  const forTask = (words: readonly string[]) => words.map((word) => (word === '<task>' ? taskId : word))
  await beaver(...forTask(more))
  // This system has no budget of nodes.
  expect(await scene.beaver(forTask(ofNode))).toMatchObject({
    exit: 1,
    err: expect.stringContaining('There is no limit of usd in the budget of the node write') as string,
  })
  await scene.system.client.raise(taskId, { usd: 1 }, { requestId: 'once' })
  await scene.system.client.raise(taskId, { usd: 1 }, { requestId: 'once' })
  await expect(scene.system.client.raise(taskId, { usd: 2 }, { requestId: 'once' })).rejects.toMatchObject({
    code: 'conflict',
  })
  await expect(scene.system.client.raise(taskId, { usd: 0 })).rejects.toMatchObject({
    code: 'invalid_arguments',
  })
  await scene.system.client.cancel(taskId, 'Enough.')
  expect(only(await scene.system.ended(taskId), 'budget_raised').map(({ data }) => data.more)).toEqual([
    { tokens: 100_000, model_calls: 10 },
    { usd: 1 },
  ])
})

it('a task is run with a budget as the page says, and never with more than the configuration gives', async () => {
  const runs = commandsOf('run')
  expect(runs).toHaveLength(2)
  scene.script('Compare the offers', () => say('Compared.'))
  for (const run of runs) expect(await beaver(...run, '--quiet')).toContain('Compared.')
  expect(await scene.beaver(['submit', 'Compare all', '--budget', '20'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining(
      'The task asks for 20.00 USD, but the configuration gives a task at most 10.00 USD.',
    ) as string,
  })
  expect(await scene.beaver(['submit', 'Compare all', '--budget', 'eur=1'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('"eur=1" names no measure: usd, tokens,') as string,
  })
})

it('a task ends at its budget if the configuration says so, and a retry may have another one', async () => {
  await using server = await testServer()
  await using system = await testSystem(server, {
    budgets: [{ of: 'task', usd: 0.7, exceeded: 'end' }],
  })
  system.provider.answerBy(twoCalls)
  await system.daemon()
  const failed = await system.client.run({ task: 'Compare the pears' })
  expect(failed).toMatchObject({
    status: 'failed',
    failure: {
      class: 'budget_exceeded',
      message: expect.stringContaining('used 0.69 of 0.70 USD') as string,
    },
  })
  await expect(system.client.retry(failed.task_id, { budget: { usd: 1 } })).rejects.toMatchObject({
    ...{ code: 'invalid_arguments', problems: [{ path: 'budget.usd' }] },
  })
  const { task_id } = await system.client.retry(failed.task_id, { budget: { usd: 0.65 } })
  const events = await system.ended(task_id)
  expect(only(events, 'task_submitted')[0]?.data.request.budget).toEqual({ usd: 0.65 })
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'Compared.' } })
})

it('the tasks of a user share a budget for a month, and one that waits for it goes on when it is raised', async () => {
  await using server = await testServer()
  await using system = await testSystem(server, {
    budgets: [
      { of: 'user', per: 'month', usd: 0.69 },
      { of: 'tenant', per: 'month', usd: 1_000 },
    ],
  })
  system.provider.answerBy(() => dear(say('Compared.')))
  await system.daemon()
  await using _ = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  const { cwd, env } = placeIn(server, system, { HOME: system.workspace })
  const here = async (...args: readonly string[]): Promise<string> => {
    const { exit, out, err } = await (
      await keptCommands()
    ).run(args, { cwd, env: { ...env, BEAVER_TRUST: '1' } })
    expect([exit, err], `beaver ${args.join(' ')}\n${out}`).toEqual([0, ''])
    return out
  }
  const forAnn = async (task: string): Promise<string> => (await here('submit', task, '--user', 'ann')).trim()
  expect((await system.ended(await forAnn('Compare the plums'))).at(-1)?.type).toBe('task_completed')
  const waiting = await forAnn('Compare the figs')
  const events = await system.reached(waiting, 'it waits', (all) => only(all, 'budget_exceeded').length > 0)
  expect(only(events, 'budget_exceeded')[0]?.data.budget).toEqual({ of: 'user', name: 'ann', per: 'month' })
  const listed = await until('the account says who waits', async () => {
    const out = await here('budget')
    return / 1$/m.test(out) && out.includes('asks you') ? out : null
  })
  expect(listed.replaceAll(/\d{4}-\d\d-\d\d/g, '<the date>')).toBe(
    [
      'BUDGET OF   PER    USED                 ANEW FROM   WAITING',
      'the tenant  month  0.69 of 1000.00 USD  <the date>        0',
      'user ann    month  0.69 of 0.69 USD     <the date>        1',
      '',
      'TASK                             STATUS    USED                   USER',
      `${waiting}  asks you  0.00 of 10.00 USD      ann`,
      '                                           0 of 5,000,000 tokens',
      '',
    ].join('\n'),
  )
  // The price of the model is not known, and the list does not say 0.
  expect(JSON.parse(await here('budget', '--status', 'completed', '--json'))).toMatchObject({
    ...{ budgets: [], next: null },
    tasks: [{ of: 'task', limits: { usd: 10 }, used: { tokens: 126_000, model_calls: 1 }, reserved: {} }],
  })

  const tokens = [
    { name: 'ops', sha256: tokenHash('ops'), roles: ['admin'] as const },
    { name: 'ann', sha256: tokenHash('ann'), roles: ['read', 'approve'] as const, userId: 'ann' },
    { name: 'ben', sha256: tokenHash('ben'), roles: ['read'] as const, userId: 'ben' },
  ]
  const app = createApp({
    ...{ client: system.client, connected: () => true, access: tokenAccess(() => tokens) },
    ...{ hosts: () => ['beaver.test'], workspaceRoot: system.workspace },
  })
  const send = (token: string, path: string, body?: object): Promise<Response> =>
    app.fetch(
      new Request(`http://beaver.test${path}`, {
        headers: {
          ...{ host: 'beaver.test', authorization: `Bearer ${token}`, 'idempotency-key': 'once' },
          ...{ 'content-type': 'application/json' },
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      }),
    )
  const seen = async (token: string, query = ''): Promise<unknown> => {
    const { budgets } = (await (await send(token, `/api/v1/budgets${query}`)).json()) as {
      budgets: { of: string; name?: string; used: { usd: number } }[]
    }
    return budgets.map(({ of, name, used }) => [of, name ?? null, used.usd])
  }
  expect(await seen('ops')).toEqual([
    ['tenant', null, 0.69],
    ['user', 'ann', 0.69],
  ])
  expect([await seen('ann'), await seen('ben'), await seen('ann', '?of=tenant')]).toEqual([
    [['user', 'ann', 0.69]],
    [],
    [],
  ])
  expect((await send('ben', '/api/v1/budgets?name=ann')).status).toBe(403)
  const more = { of: 'tenant', per: 'month', more: { usd: 1 } }
  expect((await send('ann', '/api/v1/budgets/raise', more)).status).toBe(403)
  for (const _ of ['first', 'again']) {
    const answer = await send('ops', '/api/v1/budgets/raise', more)
    expect([answer.status, await answer.json()]).toMatchObject([202, { budget: { limits: { usd: 1_001 } } }])
  }
  expect((await send('ops', '/api/v1/budgets/raise', { ...more, more: { usd: 2 } })).status).toBe(409)

  const [, , , ofUser = []] = commandsOf('budget raise')
  // A month ends less often than a day while this test runs.
  expect(await here(...ofUser.map((word) => (word === 'day' ? 'month' : word)))).toBe(
    'Raised: the budget of the user ann for a month is 5.69 USD now. 1 task that waited was told.\n',
  )
  expect((await system.ended(waiting)).at(-1)).toMatchObject({
    ...{ type: 'task_completed', data: { final_output: 'Compared.' } },
  })
})

it('before a task begins, the plan says what earlier ones used, and no cost that nobody knows', async () => {
  const planned = await until('the read model has a task that completed', async () => {
    const out = await beaver('plan')
    return out.includes('90% of them') ? out : null
  })
  expect(planned.split('\n')).toEqual([
    'A task without a workflow: 1 agent, which may start teams',
    'Spends  at least 1 call of models, at most 10.00 USD and 5,000,000 tokens',
    expect.stringMatching(
      /^Past {4}half of \d+ tasks used at most [\d,]+ tokens, \d model calls?$/,
    ) as string,
    expect.stringMatching(/^ {8}90% of them used at most [\d,]+ tokens, \d model calls?$/) as string,
    expect.stringMatching(
      /^ {8}the cost of \d+ of them is unknown(?:; .* other .* used (?:at most )?0\.00 USD)?$/,
    ) as string,
    '',
  ])
})

it('where no tasks share a budget, the list says so and names the page', async () => {
  expect(await beaver('budget')).toBe(
    'No tasks share a budget now, and no open task has one. "budgets" in the configuration sets them: docs/how-to/bound-spending.md.\n',
  )
  expect(
    await scene.beaver(['budget', 'raise', '--user', 'ann', '--per', 'month', '--usd', '1']),
  ).toMatchObject({
    exit: 1,
    err: expect.stringContaining('There is no budget of the user ann for a month') as string,
  })
})
