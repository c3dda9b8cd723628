// The event of a call's result.
import { type DomainEvent, event } from '@beaver/core'
import type { Taint } from '@beaver/core/taint'
import type { ToolResult } from '../tools/execute-tool.ts'

export function resultEvent(
  runId: string,
  callId: string,
  result: ToolResult,
  durationMs: number,
  taint: Taint | null = null,
): DomainEvent {
  const { tool_name, success, content, error, images = [] } = result
  const shown = success && images.length > 0 ? { images: [...images] } : {}
  const data = { call_id: callId, tool_name, success, content, error, duration_ms: durationMs, ...shown }
  return event('tool_result_recorded', taint === null ? data : { ...data, taint }, runId)
}
