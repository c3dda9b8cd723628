// One task a program waits for: submitted, followed to its end, cancelled when the program says so.
// T1. The promise ends with what the journal says, or with a BeaverError that says where the task stands. T2. A callback that
//     throws is told; the task goes on. T3. Letting go of a task is not a cancel: it goes on in the journal.
import { type BeaverClient, type Followed, followTask, type SubmittedTask } from '@beaver/client'
import { BeaverError, type LiveDelta, messageOf, pause, type RecordedEvent, systemClock } from '@beaver/core'
import { askApprovals } from './approvals.ts'
import type { OnApproval } from './options.ts'
import { type AgentRunResult, resultFold } from './run-result.ts'

const cancelTriesMax = 10
const cancelPauseMs = 200

export interface FollowOptions {
  /** Aborting it cancels the task; the promise resolves with what it came to. Aborted before it was submitted: nothing is stored. */
  readonly signal?: AbortSignal
  /** Every event of the task, in order. */
  readonly onEvent?: (event: RecordedEvent) => void
  /** Pieces of answers while models give them: hints, which may be lost. The answers themselves are events. */
  readonly onDelta?: (delta: LiveDelta) => void
}

export interface OpenTask {
  readonly result: Promise<AgentRunResult>
  /** `null` until it is submitted. */
  readonly taskId: string | null
  cancel(reason: string): void
  /** The service goes away. */
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

  /** A request that fails is repeated: the task may end by itself meanwhile, and then it does not matter. */
  async function sendCancel({ client, submitted }: Submission): Promise<void> {
    for (let tries = 1; !over.signal.aborted; tries++) {
      try {
        return await client.cancel(submitted.task_id, cancelReason ?? '')
      } catch (error) {
        if (error instanceof BeaverError && error.code === 'conflict') return // it has ended
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
    if (fold.result === null) throw new BeaverError('unreachable', `The task ${task_id} cannot be followed any more; it goes on. Ask result("${task_id}").`)
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
