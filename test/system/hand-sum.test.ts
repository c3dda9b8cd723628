// Ten turns with tokens of a cache and of thoughts, added up and priced by hand: the command line, its JSON
// and HTTP say the same to the last digit.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Usage } from '@beaver/core'
import { costOf } from '@beaver/core/cost'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { keptCommands } from '../support/kept-system.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

/** What the provider counts of each turn: all input, of which from a cache, all output, of which thoughts. */
const turns = [
  [1200, 0, 150, 90],
  [1400, 1152, 120, 60],
  [1661, 1280, 333, 200],
  [2003, 1536, 41, 0],
  [2099, 1920, 507, 411],
  [2701, 2048, 88, 17],
  [2903, 2688, 199, 101],
  [3301, 2816, 77, 3],
  [3407, 3200, 250, 249],
  [3803, 3328, 611, 13],
] as const

/** Added up by hand. */
const sum = {
  input_tokens: 24_478,
  output_tokens: 2_376,
  calls: 10,
  cached_input_tokens: 19_968,
  reasoning_tokens: 1_144,
}
/** USD per million tokens. */
const prices = { 'hand-model': { input: 1.25, cached_input: 0.13, output: 10.01, reasoning: 7.7 } }
/**
 * By hand, in millionths of a dollar: 4,510 × 1.25 + 19,968 × 0.13 + 1,232 × 10.01 + 1,144 × 7.7 = 5,637.5 +
 * 2,595.84 + 12,332.32 + 8,808.8
 */
const usd = 0.02937446

function counted(reply: FakeReply, turn: number): FakeReply {
  const [input = 0, cached, output = 0, thoughts] = turns[turn] ?? []
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thoughts },
  }
  return {
    ...reply,
    body: JSON.stringify({ ...(JSON.parse(reply?.body ?? '{}') as object), model: 'hand-model', usage }),
  }
}

let scene: ProtocolScene
let folder: string
beforeAll(async () => {
  scene = await keptScene()
  folder = mkdtempSync(join(tmpdir(), 'beaver-hand-sum-'))
  // The projector reads imported prices when it is asked.
  writeFileSync(pricesFile(), JSON.stringify({ as_of: '2026-11-01', models: { 'hand-model': [imported] } }))
})
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(pricesFile())
})
const imported = { from: '2020-01-01', ...prices['hand-model'] }
const pricesFile = (): string => join(scene.projectorHome, 'prices.json')

async function printed(...args: readonly string[]): Promise<string> {
  const env = { HOME: folder, NATS_URL: scene.server.url, BEAVER_NAMESPACE: scene.system.subjects.namespace }
  const { out, err, exit } = await (await keptCommands()).run(['--trust', ...args], { cwd: folder, env })
  expect([exit, err]).toEqual([0, ''])
  return out
}

type Costed = Usage & { readonly cost_usd?: number | null }
type Counted = Costed & { readonly usage_by_model: readonly (Costed & { readonly model: string })[] }

async function overHttp(path: string): Promise<unknown> {
  const answer = await fetch(`${scene.gateway.info.url}/api/v1/${path}`, {
    headers: { authorization: `Bearer ${scene.tokens.admin}` },
  })
  return answer.json()
}

it('ten turns cost what they cost by hand, wherever somebody asks', async () => {
  const user = 'hand-sum'
  scene.system.provider.answerBy(({ results }) =>
    counted(
      results.length < 9 ? use(['echo', { text: `turn ${results.length}` }]) : say('Ten turns.'),
      results.length,
    ),
  )
  const { task_id, status } = await scene.system.client.run({ task: 'Take ten turns.', user_id: user })
  expect(status).toBe('completed')

  await expect
    .poll(async () => ((await overHttp(`tasks/${task_id}`)) as { task?: { status: string } }).task?.status)
    .toBe('completed')
  const shown = JSON.parse(await printed('show', task_id, '--json')) as { task: Counted }
  const used = JSON.parse(await printed('usage', '--user', user, '--json')) as { total: Counted }
  const told = (await overHttp(`tasks/${task_id}`)) as { task: Counted }
  const summed = (await overHttp(`usage?user_id=${user}`)) as { total: Counted }
  for (const each of [shown.task, used.total, told.task, summed.total]) {
    expect(each).toMatchObject(sum)
    expect(each.usage_by_model).toHaveLength(1)
    const [only] = each.usage_by_model
    expect(only).toMatchObject({ ...sum, model: 'hand-model' })
    expect(costOf('hand-model', only as Usage, { configured: prices })).toBe(usd)
    expect([each.cost_usd, only?.cost_usd]).toEqual([usd, usd])
  }
  expect(await printed('show', task_id)).toContain('24,478 in, 2,376 out')
  expect(await printed('show', task_id)).toContain('$0.0294')
  expect(await printed('usage', '--user', user)).toMatch(
    /10 calls, 24,478 tokens in, 2,376 out \(81% of the input from a cache, 1,144 of the output thoughts\), \$0\.0294\./,
  )
})

it('a choice of skills that failed costs what it cost by hand', async () => {
  const user = 'hand-choice'
  const broken: FakeReply = {
    body: JSON.stringify({
      id: 'r',
      model: 'hand-model',
      choices: [{ index: 0, finish_reason: 'error', message: { role: 'assistant', content: '{"skills":' } }],
    }),
  }
  let choices = 0
  scene.system.provider.answerBy(({ messages }) =>
    messages[0]?.content?.startsWith('Choose the skills') === true
      ? counted(broken, choices++)
      : counted(say('Done.'), 2),
  )
  const { task_id } = await scene.system.client.run({
    task: 'Make a report on this folder with a team.',
    user_id: user,
  })
  expect(choices).toBe(2)
  await expect
    .poll(async () => ((await overHttp(`tasks/${task_id}`)) as { task?: { status: string } }).task?.status)
    .toBe('completed')
  // The first three turns.
  const first = {
    input_tokens: 4_261,
    output_tokens: 603,
    calls: 3,
    cached_input_tokens: 2_432,
    reasoning_tokens: 350,
  }
  const { task } = JSON.parse(await printed('show', task_id, '--json')) as { task: Counted }
  const { total } = JSON.parse(await printed('usage', '--user', user, '--json')) as { total: Counted }
  for (const each of [task, total])
    expect([each, each.usage_by_model]).toMatchObject([first, [{ ...first, model: 'hand-model' }]])
})
