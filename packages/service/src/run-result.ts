// AgentRunResult: the result of a task, folded from its events (AL-13). Field names are those of the journal,
// the events and `--json`, in snake_case, because they are data. Methods and options are in camelCase. A
// failed task has a result too: `status` and `failure` say so.
import {
  type Failure,
  isTerminalTaskEvent,
  type JsonValue,
  type NodeOutput,
  noUsage,
  type RecordedEvent,
  type FailedResult,
  type Usage,
} from '@beaver/core'

/** The result of a task that has ended. */
export interface AgentRunResult<Output = JsonValue> {
  readonly task_id: string
  readonly session_id: string
  /** The run of the root agent; `null` for a task that is a workflow. */
  readonly run_id: string | null
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  /** The final output; empty if there is none. */
  readonly output_text: string
  /**
   * The answer as a value, if the task completed and an output was asked for. `output_text` is its canonical
   * JSON.
   */
  readonly output?: Output
  /**
   * The finish reason of the model's last answer, even if the run failed: `stop`, `length`, `content_filter`,
   * or Beaver's `max_tool_iterations_finalized`. It is `error` if the run failed without a final answer, and
   * `cancelled` if it was cancelled. A task without a root agent has `stop`, `error` or `cancelled`.
   */
  readonly finish_reason: string
  /** How many answers of the root agent called tools. */
  readonly tool_iterations: number
  readonly provider_name: string | null
  readonly model: string | null
  /** The usage of all runs of the task, including teams. */
  readonly usage: Usage
  /** The outputs of the teams by which the task is judged, in declared order. */
  readonly outputs: readonly NodeOutput[]
  /** Whether Beaver's simulated model answered. Then no language model worked on the task. */
  readonly simulated: boolean
  /** Why the task did not complete; `null` if it completed. */
  readonly failure: Failure | null
  /** What the agent said, if the task failed because of it: `output_invalid`, `evidence_missing`. */
  readonly unfit_output?: string
}

/** Collects the result of a task from its events. */
export interface ResultFold {
  /** Takes the next event of the task. */
  add(event: RecordedEvent): void
  /** `null` until the task has ended. */
  readonly result: AgentRunResult | null
}

/**
 * Collects the result of one task from its events, in their order.
 *
 * @example
 * await using service = new AgentService()
 * const ended = await service.processDirect('Say what you are.')
 * const fold = resultFold()
 * for await (const event of service.client.watch(ended.task_id)) fold.add(event)
 * fold.result?.status // => 'completed'
 */
export function resultFold(): ResultFold {
  let task = { task_id: '', session_id: '' }
  let root: string | null = null
  let finish: { reason: string | null; iterations: number } = { reason: null, iterations: 0 }
  /** The finish reason of the root's last answer; `null` if that answer called tools. */
  let answered: string | null = null
  let result: AgentRunResult | null = null
  return {
    add(event) {
      if (event.type === 'task_submitted')
        task = { task_id: event.data.task_id, session_id: event.data.session_id }
      else if (event.type === 'run_started' && event.data.team_run_id === null) root = event.data.run_id
      else if (isTerminalTaskEvent(event.type))
        result = resultOf(
          event.type.slice('task_'.length) as AgentRunResult['status'],
          event.data as FailedResult,
        )
      else if (event.runId !== root) return
      else if (event.type === 'assistant_message_added')
        answered = event.data.tool_calls.length === 0 ? event.data.finish_reason : null
      else if (event.type === 'run_completed')
        finish = { reason: event.data.finish_reason, iterations: event.data.tool_iterations }
      else if (event.type === 'run_failed')
        finish = { reason: answered ?? 'error', iterations: event.data.tool_iterations }
      else if (event.type === 'run_cancelled')
        finish = { reason: 'cancelled', iterations: event.data.tool_iterations }
    },
    get result() {
      return result
    },
  }

  function resultOf(status: AgentRunResult['status'], end: FailedResult): AgentRunResult {
    return {
      ...task,
      run_id: root,
      status,
      output_text: end.final_output,
      ...(end.output === undefined ? {} : { output: end.output }),
      finish_reason:
        finish.reason ?? (status === 'cancelled' ? 'cancelled' : status === 'failed' ? 'error' : 'stop'),
      tool_iterations: finish.iterations,
      provider_name: end.provider,
      model: end.model,
      usage: end.usage ?? noUsage,
      outputs: end.outputs,
      simulated: end.simulated,
      failure: end.failure,
      ...(end.unfit_output === undefined ? {} : { unfit_output: end.unfit_output }),
    }
  }
}
