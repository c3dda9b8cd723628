// A person is shown what a write would change, and what was shown is what runs.
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

it('shows the diff, refuses a decision about another call, and asks again if the file changed since', async () => {
  await using system = await testSystem(server)
  const file = join(system.workspace, 'notes.txt')
  await writeFile(file, 'one\ntwo\nthree\n')
  const content = 'one\nTWO\u202e\nthree\n'
  system.provider.answerBy(({ results }) => (results.length < 2 ? use(['write_file', { path: 'notes.txt', content, mode: 'overwrite' }]) : say('done')))
  await system.daemon()
  const { task_id } = await system.client.submit({ task: 'write it' })
  const asked = async (times: number) =>
    only(await system.reached(task_id, 'it is asked', (all) => only(all, 'approval_requested').length === times), 'approval_requested')[times - 1]?.data

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
  const decide = (callId: string, callHash: string): Promise<void> => system.client.decide(task_id, { callId, callHash, approved: true })
  await expect(decide(first?.call_id ?? '', sha256('another call'))).rejects.toMatchObject({ code: 'conflict' })

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
  expect(only(events, 'approval_granted').map(({ data }) => data.call_hash)).toEqual([first?.call_hash, second?.call_hash])
})

it('asks nobody about a write that the tool refuses anyway', async () => {
  await using system = await testSystem(server)
  system.provider.answerBy(({ results }) => (results.length === 0 ? use(['write_file', { path: '.git/hooks/pre-commit', content: 'x' }]) : say('done')))
  await system.daemon()
  const { task_id } = await system.client.submit({ task: 'write it' })
  const events = await system.ended(task_id)
  expect(only(events, 'approval_requested')).toEqual([])
  expect(only(events, 'tool_result_recorded')[0]?.data).toMatchObject({ success: false, error: 'protected_path' })
})
