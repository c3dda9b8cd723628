// A rule that denies a command, on a real daemon: what it names never starts, a command that nobody can read
// waits for a person, and where nobody can answer it is refused.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, {
    run_command: { enabled: true },
    permissions: {
      rules: [
        { tool: 'run_command', pattern: 'git push*', decision: 'deny' },
        { tool: 'run_command', decision: 'allow' },
      ],
    },
  })
  await writeFile(join(system.workspace, 'a.txt'), 'one\n')
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const running = (command: string, ...args: readonly string[]): void =>
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['run_command', { command, args }]) : say(`It said: ${results.join()}`),
  )
const outputOf = async (task: string): Promise<string> =>
  only(await system.ended(task), 'task_completed')[0]?.data.final_output ?? ''

it('a readable script runs, and one that starts what the rule names does not', async () => {
  running('sh', '-c', 'cat a.txt | wc -l && echo done')
  expect(await outputOf((await system.client.submit({ task: 'count' })).task_id)).toContain('done')
  running('sh', '-c', 'cat a.txt && g"i"t -C . push')
  expect(await outputOf((await system.client.submit({ task: 'push' })).task_id)).toContain(
    'this rule forbids it: deny run_command git push* (this could be: git push)',
  )
})

it('a script that nobody can read waits for a person', async () => {
  running('sh', '-c', 'for x in 1 2; do echo "round $x"; done')
  const { task_id } = await system.client.submit({ task: 'loop' })
  const asked = await system.reached(
    task_id,
    'it asks',
    (all) => only(all, 'approval_requested').length === 1,
  )
  expect(only(asked, 'approval_requested')[0]?.data.rule).toBe(
    'deny run_command git push* (this could be: something that cannot be read, so a person decides)',
  )
  await system.client.decide(task_id, { callId: 'call_0', approved: true })
  expect(await outputOf(task_id)).toContain('round 2')
})

it('a script that nobody can read is refused where nobody can answer', async () => {
  running('sh', '-c', 'for x in 1 2; do echo "round $x"; done')
  const { task_id } = await system.client.submit({ task: 'loop', approvals: 'refuse' })
  const output = await outputOf(task_id)
  expect(output).toContain('approval_denied')
  expect(output).not.toContain('round 2')
})
