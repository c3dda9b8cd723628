// A task handed to the daemon, again when no answer came: it has an id, so that a repeated request is the same task.
// S1. A refusal is not repeated: nothing was stored.
import type { BeaverClient, SubmittedTask, SubmitTask } from '@beaver/client'
import { BeaverError, type ErrorCode, pause, systemClock } from '@beaver/core'

const triesMax = 3
const pauseMs = 250
/** No answer, which says nothing about the task: the nats-server was away, or the daemon busy. */
const unanswered: ReadonlySet<ErrorCode> = new Set(['timeout', 'no_daemon', 'unreachable'])

export async function submitTask(client: Pick<BeaverClient, 'submit'>, task: SubmitTask & { readonly task_id: string }): Promise<SubmittedTask> {
  for (let tries = 1; ; tries++) {
    try {
      return await client.submit(task)
    } catch (error) {
      if (!(error instanceof BeaverError && unanswered.has(error.code)) || tries >= triesMax) throw error
      await pause(systemClock, pauseMs * tries, new AbortController().signal)
    }
  }
}
