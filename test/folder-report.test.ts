// The skill `folder-report`, as `npm start` runs it: a real daemon, the simulated model, real files.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testServer } from './support/nats.ts'
import { only, testSystem } from './support/system.ts'

test('the report that the user gets is the text of the reporter, and no model writes its checked figures again (D-61)', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  await writeFile(join(system.workspace, 'README.md'), '# Garden\n\nA plan for the garden.\n')
  await system.daemon({ OPENAI_API_KEY: '', OPENAI_BASE_URL: '' })
  const { task_id } = await system.client.submit({ task: 'Report on this folder', skill: 'folder-report' })
  const events = await system.ended(task_id)
  const reporter = only(events, 'node_started').find(({ data }) => data.node_id === 'reporter')?.data.run_id
  const written = only(events, 'assistant_message_added').find(({ runId }) => runId === reporter)?.data.content
  const [end] = only(events, 'task_completed')
  expect(written).toContain('# Folder report')
  expect(end?.data.final_output).toBe(written)
  const root = only(events, 'run_started')[0]?.data.run_id
  const ofRoot = only(events, 'assistant_message_added').filter(({ runId }) => runId === root)
  expect(ofRoot.map(({ data }) => [data.finish_reason, data.usage.calls])).toEqual([
    ['tool_calls', 1],
    ['delivered', 0],
  ])
  expect([end?.data.usage.calls, end?.data.simulated]).toEqual([9, true])
})
