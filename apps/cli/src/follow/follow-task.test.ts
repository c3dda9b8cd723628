import { BeaverError, event } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'
import * as log from '../../test/task-events.ts'
import { followTask } from './follow-task.ts'

/** Follows a task whose watch gives these events and then fails with this error. */
function follow(events: readonly RecordedEvent[], error: Error): Promise<unknown> {
  const system = {
    daemonStatus: () => Promise.reject(new BeaverError('no_daemon', 'nobody is there')),
    client: {
      async *watch() {
        yield* events
        await Promise.reject(error)
      },
      async *live() {
        // No model answers.
      },
    },
  }
  return followTask(system, 'task1', {
    signal: new AbortController().signal,
    onEvent: () => {},
    onNotice: () => {},
    systemGone: () => false,
  })
}

describe('following a task', () => {
  it('on a server without a journal says how to start the system', async () => {
    await expect(
      follow([], new BeaverError('stream_missing', 'There is no stream BEAVER_default.')),
    ).rejects.toMatchObject({
      code: 'no_daemon',
      message: expect.stringContaining('beaver up') as string,
    })
  })

  it('whose journal goes away meanwhile says that it is missing', async () => {
    const begun = log.recorded([log.submitted(), event('task_claimed', { daemon: 'd1' })])
    await expect(follow(begun, new BeaverError('stream_missing', 'gone'))).rejects.toMatchObject({
      code: 'stream_missing',
    })
  })

  it('gives any other error as it is, whatever its words', async () => {
    await expect(follow([], new Error('stream not found: no responders'))).rejects.toThrow(
      'stream not found: no responders',
    )
  })
})
