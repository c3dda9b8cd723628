// One task that a program waits for. It is submitted, followed to its end, and cancelled when the program asks for it.
// T1. The promise ends with the result in the journal, or with a BeaverError that says what became of the task.
// T2. A callback that throws is reported. The task continues.
// T3. To let go of a task does not cancel it. It continues in the journal.
import { type BeaverClient, type Followed, followTask, type SubmittedTask } from '@beaver/client'
import { BeaverError, type LiveDelta, messageOf, pause, type RecordedEvent, systemClock } from '@beaver/core'
import { askApprovals } from './approvals.ts'
import type { OnApproval } from './options.ts'
import { type AgentRunResult, resultFold } from './run-result.ts'

const cancelTriesMax = 10
const cancelPauseMs = 200

/** How a program follows a task. */
export interface FollowOptions {
  /**
   * If it aborts, the task is cancelled and the promise resolves with its result. If it aborts before the call, nothing is stored and the promise
   * rejects with the reason.
   */
  readonly signal?: AbortSignal
  /** Is called with every event of the task, in order. */
  readonly onEvent?: (event: RecordedEvent) => void
  /** Is called with the pieces of answers while models give them. They are hints and may be lost. The answers themselves are events. */
  readonly onDelta?: (delta: LiveDelta) => void
}

export interface OpenTask {
  readonly result: Promise<AgentRunResult>
  /** The id of the task; `null` until the task is submitted. */
  readonly taskId: string | null
  cancel(reason: string): void
  /** Rejects the promise, because the service closes or failed. */
  letGo(error: BeaverError): void
}

export interface Submission {
  readonly client: BeaverClient
  readonly submitted: SubmittedTask
}

export function openTask(
  submit: () => Promise<Submission>,
  options: FollowOptions & { readonly onApproval: OnApproval | null; readonly tell: (message: string) => void },
): OpenTask {
  const over = new AbortController()
  const { promise: broken, reject: breakOff } = Promise.withResolvers<never>()
  broken.catch(() => {})
  let submission: Submission | null = null
  let cancelReason: string | null = null

  function cancel(reason: string): void {
    if (cancelReason !== null) return
    cancelReason = reason
    if (submission !== null) void sendCancel(submission)
  }

  /** A failed request is repeated. If the task ends by itself in the meantime, the request is no longer needed. */
  async function sendCancel({ client, submitted }: Submission): Promise<void> {
    for (let tries = 1; !over.signal.aborted; tries++) {
      try {
        return await client.cancel(submitted.task_id, cancelReason ?? '')
      } catch (error) {
        if (error instanceof BeaverError && error.code === 'conflict') return // the task has ended
        if (tries >= cancelTriesMax) return breakOff(error)
      }
      await pause(systemClock, cancelPauseMs, over.signal)
    }
  }

  const onAbort = (): void => cancel(`The program cancelled it: ${messageOf(options.signal?.reason)}`.slice(0, 1_000))

  async function run(): Promise<AgentRunResult> {
    options.signal?.throwIfAborted()
    options.signal?.addEventListener('abort', onAbort, { once: true })
    submission = await submit()
    if (cancelReason !== null) void sendCancel(submission)
    return follow(submission)
  }

  async function follow({ client, submitted: { task_id } }: Submission): Promise<AgentRunResult> {
    const fold = resultFold()
    const approvals = options.onApproval === null ? null : askApprovals(task_id, client, options.onApproval, options.tell)
    try {
      for await (const each of followed(client, task_id)) {
        if ('delta' in each) guarded('onDelta', () => options.onDelta?.(each.delta))
        else {
          fold.add(each.event)
          approvals?.saw(each.event)
          guarded('onEvent', () => options.onEvent?.(each.event))
        }
      }
    } finally {
      approvals?.close()
    }
    if (fold.result === null) throw new BeaverError('unreachable', `The task ${task_id} can no longer be followed. It continues. Call result("${task_id}").`)
    return fold.result
  }

  async function* followed(client: BeaverClient, taskId: string): AsyncGenerator<Followed> {
    if (options.onDelta !== undefined) yield* followTask(client, taskId, { signal: over.signal })
    else for await (const event of client.watch(taskId, { signal: over.signal })) yield { event }
  }

  function guarded(name: string, act: () => void): void {
    try {
      act()
    } catch (error) {
      options.tell(`${name} failed: ${messageOf(error)}`)
    }
  }

  const result = Promise.race([run(), broken]).finally(() => {
    options.signal?.removeEventListener('abort', onAbort)
    over.abort()
  })
  return {
    result,
    get taskId() {
      return submission?.submitted.task_id ?? null
    },
    cancel,
    letGo(error) {
      breakOff(error)
    },
  }
}
