import { type OpenCall, type RunState, startRun } from '@beaver/core/fold'
import { rootSpec } from '@beaver/testing'
import { expect, test } from 'vitest'
import { suspensionOf } from './suspension.ts'

const call = (id: string, over: Partial<OpenCall> = {}): OpenCall => ({
  ...{
    id,
    name: 'write',
    arguments: '{}',
    started: false,
    idempotent: false,
    approval: null,
    callHash: null,
    denial: null,
    edited: null,
    questions: [],
    asking: false,
    atClient: false,
    clientAnswer: null,
    result: null,
    success: false,
  },
  ...over,
})
const run = (...calls: OpenCall[]): RunState => ({ ...startRun({ ...rootSpec().start, tools: [] }), calls })
const waitsFor = (...ids: string[]) => [
  {
    runId: 'r',
    asked: ids.map((callId) => ({ callId, leftMs: 60_000 })),
    teams: [],
    budgetMs: null,
    pause: null,
  },
]
const suspended = (state: RunState, ...ids: string[]): boolean =>
  suspensionOf(waitsFor(...ids), new Map([['r', state]]), 1_000) !== null

test('a call that has not begun behind one that waits for a person holds no task (D-66)', () => {
  const asked = call('a', { approval: 'requested' })
  expect(suspended(run(asked, call('b')), 'a')).toBe(true)
  expect(suspended(run(asked, call('b', { approval: 'granted' })), 'a')).toBe(true)
  expect(suspended(run(asked, call('b', { approval: 'requested' })), 'a')).toBe(false)
  expect(suspended(run(call('b'), asked), 'a')).toBe(false)
  expect(suspended(run(asked, call('b', { started: true })), 'a')).toBe(false)
  expect(suspended(run(call('b')))).toBe(false)
})

test('a call that asks a person holds no task if it can be made again, and holds it if it cannot', () => {
  const asks = {
    started: true,
    asking: true,
    questions: [{ index: 0, question: { message: 'Which?' }, answer: null }],
  }
  expect(suspended(run(call('a', { ...asks, idempotent: true })), 'a')).toBe(true)
  expect(suspended(run(call('a', { ...asks, idempotent: false })), 'a')).toBe(false)
})

test('a task whose calls are with the client waits for the client, unless one asks a person', () => {
  const atClient = call('a', { started: true, idempotent: true, atClient: true })
  const asked = call('b', { approval: 'requested' })
  const waits = (calls: OpenCall[], ...ids: readonly { callId: string; atClient: boolean }[]) => {
    const loops = waitsFor().map((each) => ({
      ...each,
      asked: ids.map((id) => ({ ...id, leftMs: 60_000 })),
    }))
    return suspensionOf(loops, new Map([['r', run(...calls)]]), 1_000)
  }
  const [one, two] = [
    { callId: 'a', atClient: true },
    { callId: 'b', atClient: false },
  ]
  expect(waits([atClient], one)).toMatchObject({
    waitsFor: 'client',
    reason: 'One call waits for the client.',
  })
  expect(waits([atClient, asked], one, two)).toMatchObject({
    waitsFor: 'person',
    reason: 'One call waits for a person.',
  })
})

test('a call that waits for a budget holds the task while another call of its answer works', () => {
  const waits = [{ runId: 'r', asked: [], teams: [], budgetMs: 60_000, pause: null }]
  const isSuspended = (state: RunState): boolean =>
    suspensionOf(waits, new Map([['r', state]]), 1_000) !== null
  expect(isSuspended(run())).toBe(true)
  expect(isSuspended(run(call('a')))).toBe(true)
  expect(isSuspended(run(call('a'), call('b', { started: true, idempotent: true })))).toBe(false)
})
