// What `onApproval` may return: only `true` and `{ arguments }` approve a call.
import { BeaverError } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { askApprovals } from './open-task.ts'

const asked = {
  type: 'approval_requested',
  runId: 'r',
  data: { call_id: 'c', tool_name: 'write_file', call_hash: 'h', subject: 'a' },
} as unknown as RecordedEvent

/** A program whose `onApproval` returns any JavaScript value. */
function program(answer: () => unknown, refuse: (sent: object) => BeaverError | null = () => null) {
  const sent: { approved: boolean; reason?: string | undefined; arguments?: string | undefined }[] = []
  const told: string[] = []
  const decide = async (_: string, decision: (typeof sent)[number]): Promise<void> => {
    sent.push(decision)
    const error = refuse(decision)
    if (error !== null) throw error
  }
  const approvals = askApprovals(
    't',
    { decide },
    async () => answer() as boolean,
    (message) => told.push(message),
  )
  approvals.saw(asked)
  return { sent, told, approvals }
}

describe('onApproval', () => {
  it.each([
    [true, { approved: true }],
    [false, { approved: false }],
    ['not today', { approved: false, reason: 'not today' }],
    [{ arguments: { path: 'b' } }, { approved: true, arguments: '{"path":"b"}' }],
  ])('that returns %j decides', async (answer, decision) => {
    const { sent, told, approvals } = program(() => answer)
    await until('it has decided', () => sent.length === 1)
    expect([sent, told]).toEqual([[{ callId: 'r/c', callHash: 'h', ...decision }], []])
    approvals.close()
  })

  it.each([
    [null],
    [undefined],
    [1],
    [{}],
    [[true]],
    [{ approved: false }],
    [{ approved: false, arguments: { path: 'b' } }],
    [{ approved: true, arguments: { path: 'b' } }],
    [{ approved: true }],
    [{ arguments: null }],
    [{ arguments: [1] }],
    [{ arguments: '{}' }],
    [{ arguments: { n: 1n } }],
  ])('that returns what is no answer denies the call and says so: case %#', async (answer) => {
    const { sent, told, approvals } = program(() => answer)
    await until('it has decided', () => sent.length === 1)
    expect(sent).toMatchObject([{ approved: false, reason: 'The program could not decide.' }])
    expect(told).toEqual([
      expect.stringMatching(/^onApproval failed, so the call c of write_file is denied: /),
    ])
    approvals.close()
  })

  it('that changes arguments which do not fit denies the call', async () => {
    const refuse = (decision: object): BeaverError | null =>
      'arguments' in decision ? new BeaverError('invalid_arguments', 'path is missing') : null
    const { sent, told, approvals } = program(() => ({ arguments: {} }), refuse)
    await until('it was denied', () => sent.length === 2)
    expect(sent.map(({ approved }) => approved)).toEqual([true, false])
    expect(told[0]).toContain('path is missing')
    approvals.close()
  })
})
