// An endpoint that goes away and comes back, in a daemon's real seconds. Minutes and hours are in packages/providers/src/outage.test.ts.
import type { RecordedEvent } from '@beaver/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refuse, say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem, type TestSystem } from './support/system.ts'

describe('a daemon', () => {
  let server: TestServer
  let system: TestSystem
  beforeAll(async () => {
    server = await testServer()
    system = await testSystem(server)
    await system.daemon()
  })
  afterAll(async () => {
    await system[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  it('whose endpoint fails for longer than its tries take completes the task when the endpoint is back', async () => {
    let failedAt: number | null = null
    system.provider.answerBy(() => {
      failedAt ??= performance.now()
      return performance.now() - failedAt < 7_000 ? refuse(503, 'overloaded') : say('back')
    })
    const { task_id } = await system.client.submit({ task: 'wait for it' })
    const events: readonly RecordedEvent[] = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'back' } })
    const failures = only(events, 'provider_call_failed')
    expect(failures.length).toBeGreaterThan(4)
    expect(failures.every(({ data }) => data.failure.class === 'provider_unavailable' && (data.retry_in_ms ?? 0) > 0)).toBe(true)
  })
})
