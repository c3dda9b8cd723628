// `beaver run --evidence` and `--user`: what a person says about the final text and about whom the task is
// for.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TaskAnswer } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Ran, runBeaver } from '../support/cli.ts'
import { say } from '../support/fake-provider.ts'
import { type OperatedSystem, operatedSystem } from '../support/kept-system.ts'
import type { TestSystem } from '../support/system.ts'

let system: TestSystem
let plain: OperatedSystem
let folder: string
beforeAll(async () => {
  plain = await operatedSystem()
  system = plain.system
  folder = await mkdtemp(join(tmpdir(), 'beaver-evidence-'))
  system.provider.answerBy(() => say('Too short.'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const beaver = (args: readonly string[]): Promise<Ran> => plain.beaver(...args)

it('run --evidence fails the task, and show says why', async () => {
  const checks = join(folder, 'checks.json')
  await writeFile(checks, JSON.stringify([{ kind: 'output_length', min: 200 }, 'Be kind.']))
  const ran = await beaver([
    'run',
    '--quiet',
    '--task-id',
    'evidence-short',
    '--evidence',
    checks,
    'Write much',
  ])
  expect([ran.exit, ran.err]).toEqual([1, expect.stringContaining('at least 200 required') as string])
  const shown = await until('show knows the end', async () => {
    const { out } = await beaver(['show', 'evidence-short'])
    return out.includes('Evidence of the final text') && out
  })
  expect(shown).toMatch(/Evidence of the final text\n {2}. .*200/)
  expect(shown).toContain('Be kind. (not checked by code)')
  const loud = await beaver(['run', '--evidence', checks, 'Write much'])
  expect(loud.out).toMatch(
    /Why: .*at least 200 required[^]*The last text of the agent, which was not accepted:\s+Too short\./,
  )
  const { evidence } = JSON.parse((await beaver(['show', 'evidence-short', '--json'])).out) as TaskAnswer
  expect(evidence?.map(({ status }) => status)).toEqual(['failed', 'not_checked'])
})

it('run --output-schema prints the value so that a person can read it, and as JSON with --json', async () => {
  system.provider.answerBy(() => say('{ "total": 3, "parts": [1, 2] }'))
  const schema = join(folder, 'schema.json')
  await writeFile(
    schema,
    JSON.stringify({ type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }),
  )
  const run = (...args: string[]) => beaver(['run', '--output-schema', schema, ...args, 'Count'])
  const indented = '{\n  "parts": [\n    1,\n    2\n  ],\n  "total": 3\n}'
  expect((await run('--task-id', 'evidence-counted')).out).toContain(`\n${indented}\n`)
  expect((await run('--quiet')).out).toBe('{"parts":[1,2],"total":3}\n')
  const last = (await run('--json')).out.trim().split('\n').at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({
    final_output: '{"parts":[1,2],"total":3}',
    output: { total: 3, parts: [1, 2] },
  })
  await until('show knows the end', async () =>
    (await beaver(['show', 'evidence-counted'])).out.includes(indented),
  )
  system.provider.answerBy(() => say('Too short.'))
})

async function file(text: string): Promise<string> {
  const path = join(folder, 'given.json')
  await writeFile(path, text)
  return path
}

it('run --evidence - reads the checks from the standard input', async () => {
  const ran = await runBeaver(['run', '--evidence', '-', 'x'], {
    cwd: system.workspace,
    env: plain.env,
    input: '{}',
  })
  expect([ran.exit, ran.err]).toEqual([
    2,
    expect.stringContaining('must contain a JSON list of checks') as string,
  ])
})

it.each([
  ['[', 'is not JSON'],
  ['[{"kind":"output_length"}]', 'every output passes'],
  ['[{"kind":"fly"}]', 'required_evidence.0'],
])('run --evidence with %s says what is wrong', async (text, says) => {
  const ran = await beaver(['run', '--evidence', await file(text), 'x'])
  expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining(says) as string])
})

it('run --user and submit --user give the task a user', async () => {
  await beaver([
    'run',
    '--quiet',
    '--task-id',
    'of-adele',
    '--session',
    'adele talks',
    '--user',
    'adele',
    'Hello',
  ])
  const sent = await beaver([
    'submit',
    '--task-id',
    'of-adele-2',
    '--session',
    'adele talks',
    '--user',
    'adele',
    'Again',
  ])
  expect(sent.exit).toBe(0)
  const [accepted] = await system.ended('of-adele')
  expect(accepted?.data).toMatchObject({ request: { user_id: 'adele' } })
  await until('tasks lists them', async () =>
    (await beaver(['tasks', '--user', 'adele'])).out.includes('of-adele-2'),
  )
  const other = await beaver(['run', '--session', 'adele talks', '--user', 'bert', 'Mine now'])
  expect([other.exit, other.err]).toEqual([
    expect.any(Number) as number,
    expect.stringContaining('belongs to a user') as string,
  ])
})
