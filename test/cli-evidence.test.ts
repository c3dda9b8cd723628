// `beaver run --evidence` and `--user`: what a person says about the final text and about whom the task is for, as a process.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskAnswer } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Ran, startBeaver } from './support/cli.ts'
import { say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { type ProjectorProcess, projectorProcess } from './support/projector.ts'
import { type TestSystem, testSystem } from './support/system.ts'

let server: TestServer
let system: TestSystem
let projector: ProjectorProcess
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  await system.daemon()
  system.provider.answerBy(() => say('Too short.'))
}, 120_000)
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function beaver(args: readonly string[], input = ''): Promise<Ran> {
  const env = { NATS_URL: server.url, BEAVER_NAMESPACE: system.subjects.namespace }
  await using process = startBeaver(args, { cwd: system.workspace, env, input })
  return await process.ended
}

it('run --evidence fails the task, and show says why', async () => {
  const checks = join(system.workspace, 'checks.json')
  await writeFile(checks, JSON.stringify([{ kind: 'output_length', min: 200 }, 'Be kind.']))
  const ran = await beaver(['run', '--quiet', '--task-id', 'short', '--evidence', checks, 'Write much'])
  expect([ran.exit, ran.err]).toEqual([1, expect.stringContaining('at least 200 required') as string])
  const shown = await until('show knows the end', async () => {
    const { out } = await beaver(['show', 'short'])
    return out.includes('Evidence of the final text') && out
  })
  expect(shown).toMatch(/Evidence of the final text\n {2}. .*200/)
  expect(shown).toContain('Be kind. (not checked by code)')
  const { evidence } = JSON.parse((await beaver(['show', 'short', '--json'])).out) as TaskAnswer
  expect(evidence?.map(({ status }) => status)).toEqual(['failed', 'not_checked'])
})

it('run --output-schema prints the value so that a person can read it, and as JSON with --json', async () => {
  system.provider.answerBy(() => say('{ "total": 3, "parts": [1, 2] }'))
  const schema = join(system.workspace, 'schema.json')
  await writeFile(schema, JSON.stringify({ type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }))
  const run = (...args: string[]) => beaver(['run', '--output-schema', schema, ...args, 'Count'])
  const indented = '{\n  "parts": [\n    1,\n    2\n  ],\n  "total": 3\n}'
  expect((await run('--task-id', 'counted')).out).toContain(`\n${indented}\n`)
  expect((await run('--quiet')).out).toBe('{"parts":[1,2],"total":3}\n')
  const last = (await run('--json')).out.trim().split('\n').at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({ final_output: '{"parts":[1,2],"total":3}', output: { total: 3, parts: [1, 2] } })
  await until('show knows the end', async () => (await beaver(['show', 'counted'])).out.includes(indented))
  system.provider.answerBy(() => say('Too short.'))
})

it.each([
  ['{}', 'must contain a JSON list of checks'],
  ['[', 'is not JSON'],
  ['[{"kind":"output_length"}]', 'every output passes'],
  ['[{"kind":"fly"}]', 'required_evidence.0'],
])('run --evidence with %s says what is wrong', async (text, says) => {
  const ran = await beaver(['run', '--evidence', '-', 'x'], text)
  expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining(says) as string])
})

it('run --user and submit --user give the task a user', async () => {
  await beaver(['run', '--quiet', '--task-id', 'of-ada', '--session', 'talk', '--user', 'ada', 'Hello'])
  const sent = await beaver(['submit', '--task-id', 'of-ada-2', '--session', 'talk', '--user', 'ada', 'Again'])
  expect(sent.exit).toBe(0)
  const [accepted] = await system.ended('of-ada')
  expect(accepted?.data).toMatchObject({ request: { user_id: 'ada' } })
  await until('tasks lists them', async () => (await beaver(['tasks', '--user', 'ada'])).out.includes('of-ada-2'))
  const other = await beaver(['run', '--session', 'talk', '--user', 'bob', 'Mine now'])
  expect([other.exit, other.err]).toEqual([expect.any(Number) as number, expect.stringContaining('belongs to a user') as string])
})
