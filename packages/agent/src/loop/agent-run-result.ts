// The result of a run as a caller gets it (AL-13). Its fields are data: snake_case.
import type { RunState, Usage } from '@beaver/core'

export interface AgentRunResult {
  readonly session_id: string
  readonly run_id: string
  /** Empty when there was no answer. */
  readonly output_text: string
  /** As the provider said it; `null` when no answer came. */
  readonly finish_reason: string | null
  readonly tool_iterations: number
  /** Who gave the last answer. */
  readonly provider_name: string | null
  readonly model: string | null
  /** Of the whole run: answers, the choice of a skill, summaries. */
  readonly usage: Usage
}

export function runResultOf(sessionId: string, run: RunState): AgentRunResult {
  return {
    session_id: sessionId,
    run_id: run.start.run_id,
    output_text: run.outputText,
    finish_reason: run.finishReason,
    tool_iterations: run.toolIterations,
    provider_name: run.provider,
    model: run.model,
    usage: run.usage,
  }
}
