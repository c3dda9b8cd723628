// Asks the program about the calls of one task that wait for an approval. The program is asked once about
// each call, and only if the journal contains no decision: replayed events are read first. Several runs of a
// task may have a call with the same id, so a call is known by its run and its id.
import type { BeaverClient, CallDecision } from '@beaver/client'
import { BeaverError, messageOf, type RecordedEvent } from '@beaver/core'
import type { ApprovalRequest, OnApproval } from './options.ts'

/** If nothing came for this time, the replay is over. */
const settleMs = 25

export interface AskedApprovals {
  saw(event: RecordedEvent): void
  close(): void
}

export function askApprovals(
  taskId: string,
  client: Pick<BeaverClient, 'decide'>,
  ask: OnApproval,
  tell: (message: string) => void,
): AskedApprovals {
  const waiting = new Map<string, ApprovalRequest>()
  const stop = new AbortController()
  let timer: NodeJS.Timeout | null = null

  async function put(request: ApprovalRequest): Promise<void> {
    let answer: Said
    try {
      answer = saidBy(await ask(request, stop.signal))
    } catch (error) {
      tell(
        `onApproval failed, so the call ${request.call_id} of ${request.tool_name} is denied: ${messageOf(error)}`,
      )
      answer = { approved: false, reason: 'The program could not decide.' }
    }
    if (stop.signal.aborted) return
    const decision = {
      callId: `${request.run_id}/${request.call_id}`,
      callHash: request.call_hash,
      ...answer,
    }
    try {
      await client.decide(taskId, decision)
    } catch (error) {
      // Somebody else decided, or the task ended.
      if (error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')) return
      if (
        error instanceof BeaverError &&
        error.code === 'invalid_arguments' &&
        decision.arguments !== undefined
      ) {
        tell(
          `onApproval changed the arguments of the call ${request.call_id}, and they do not fit, so the call is denied: ${error.message}`,
        )
        const { arguments: _, ...denied } = decision
        await client
          .decide(taskId, {
            ...denied,
            approved: false,
            reason: 'The program changed the arguments, and they do not fit.',
          })
          .catch(() => {})
        return
      }
      tell(
        `The decision about the call ${request.call_id} of the task ${taskId} was not delivered: ${messageOf(error)}`,
      )
    }
  }

  return {
    saw(event) {
      if (event.type === 'approval_requested')
        waiting.set(`${event.runId}/${event.data.call_id}`, {
          task_id: taskId,
          run_id: event.runId ?? '',
          ...event.data,
        })
      else if (event.type === 'approval_granted' || event.type === 'approval_denied')
        waiting.delete(`${event.runId}/${event.data.call_id}`)
      if (timer !== null) clearTimeout(timer)
      timer = waiting.size === 0 ? null : setTimeout(putAll, settleMs)
    },
    close() {
      stop.abort()
      if (timer !== null) clearTimeout(timer)
    },
  }

  function putAll(): void {
    const requests = [...waiting.values()]
    waiting.clear()
    for (const request of requests) void put(request)
  }
}

type Said = Pick<CallDecision, 'approved' | 'reason' | 'arguments'>

/** What is no answer denies: a program in JavaScript may return anything. @throws {Error} */
function saidBy(answer: unknown): Said {
  if (typeof answer === 'boolean') return { approved: answer }
  if (typeof answer === 'string') return { approved: false, reason: answer }
  const isChange = typeof answer === 'object' && answer !== null && Object.keys(answer).join() === 'arguments'
  const changed = isChange ? (answer as { readonly arguments: unknown }).arguments : null
  if (typeof changed === 'object' && changed !== null && !Array.isArray(changed))
    return { approved: true, arguments: JSON.stringify(changed) }
  throw new TypeError('It returned neither true, false, a reason nor {arguments: {…}}.')
}
