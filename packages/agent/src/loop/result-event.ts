// The event of a call's result.
import { type DomainEvent, event } from '@beaver/core'
import type { ToolResult } from '../tools/execute-tool.ts'

export function resultEvent(runId: string, callId: string, result: ToolResult, durationMs: number): DomainEvent {
  const { tool_name, success, content, error } = result
  return event('tool_result_recorded', { call_id: callId, tool_name, success, content, error, duration_ms: durationMs }, runId)
}
