// A call that is held behind an approval of another call of the same answer says so, on the screens and in the answers of queries.
import type { NodeDetail, TaskAnswer } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { runBeaver } from './support/cli.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { testSystem } from './support/system.ts'

it('the run waits, and each call names the call that a person must decide about', async () => {
  await using server = await testServer()
  await using system = await testSystem(server, { permissions: { rules: [{ tool: 'write_file', decision: 'ask' }] } })
  await using _projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['write_file', { path: 'a.txt', content: 'x' }], ['read_file', { path: 'a.txt' }], ['list_files', {}]) : say('done'),
  )
  await system.daemon()
  const args = { task: 'Write and read', agents: [{ name: 'clerk', instruction: 'Write a.txt, then read it.' }] }
  const { task_id } = await system.client.submit({ workflow: { name: 'SequentialWorkflow', arguments: args } })
  const { calls } = await until('the read model knows that it waits', async () => {
    const found = await system.client.query('node', { task_id, node_id: 'clerk' }).catch(() => null)
    return found !== null && found.calls.some((call) => call.kind === 'tool' && call.waits_for_call_id !== undefined) && (found as NodeDetail)
  })
  const tools = calls.flatMap((call) => (call.kind === 'tool' ? [call] : []))
  const [write] = tools
  expect(tools.map(({ tool, waits_for_call_id: id }) => [tool, id])).toEqual([
    ['write_file', write?.call_id],
    ['read_file', write?.call_id],
    ['list_files', write?.call_id],
  ])
  const env = { NATS_URL: server.url, BEAVER_NAMESPACE: system.subjects.namespace }
  const beaver = (...more: string[]) => runBeaver(more, { cwd: system.workspace, env })
  expect((await beaver('show', task_id, '--node', 'clerk')).out).toMatch(/read_file .*waits until you decide about write_file/)
  const { teams } = JSON.parse((await beaver('show', task_id, '--json')).out) as TaskAnswer
  expect(teams[0]?.nodes[0]?.run?.status).toBe('waiting_for_approval')
  const { out } = await beaver('show', task_id)
  expect(out).toContain('clerk  asks you')
  expect(out).not.toContain('acting')

  await system.client.decide(task_id, { callId: write?.call_id ?? '', approved: true })
  expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
  const after = await until('the read model has the end', async () => {
    const found = await system.client.query('node', { task_id, node_id: 'clerk' })
    return found.node.status === 'completed' && found
  })
  expect(after.calls.some((call) => call.kind === 'tool' && call.waits_for_call_id !== undefined)).toBe(false)
})
