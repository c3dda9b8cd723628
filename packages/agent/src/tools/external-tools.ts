// Tools that live in the daemon's process rather than in a worker thread: those of MCP servers. Connected once per process,
// however many loops ask; a loop calls them through its host.
import type { JsonObject } from '@beaver/core'
import type { Permission } from './permission.ts'
import { type Tool, type ToolContext, ToolFailure } from './tool.ts'

/** Plain data: it goes to every worker thread. */
export interface ExternalTool {
  /** Unique among all tools; 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>
  readonly idempotent: boolean
  readonly permission: Permission
  /** Milliseconds a call may take, where it differs from the configured bound. */
  readonly timeoutMs?: number
}

export interface ExternalCall {
  readonly name: string
  readonly callId: string
  readonly arguments: JsonObject
  /** Whose call it is. */
  readonly run?: Pick<ToolContext, 'workspace' | 'taskId' | 'sessionId' | 'runId'> | undefined
}

export interface ExternalResult {
  readonly success: boolean
  readonly content: string
  /** A code when `success` is false. */
  readonly error: string | null
}

export interface ExternalTools {
  /** What is offered now. */
  readonly tools: readonly ExternalTool[]
  /** Called when `tools` has changed; returns what ends it. */
  onChange(listener: () => void): () => void
  /** Never rejects: what fails is a result the model can read. Ends soon after `signal` aborts. */
  call(call: ExternalCall, signal: AbortSignal): Promise<ExternalResult>
}

/** As a loop has it. */
export function externalTool(external: ExternalTool): Tool {
  return {
    ...external,
    inHost: true,
    async invoke(args, context) {
      const { workspace, taskId, sessionId, runId } = context
      const call = { name: external.name, arguments: args as JsonObject, run: { workspace, taskId, sessionId, runId } }
      const result = await context.callExternal(call, context.signal)
      if (!result.success) throw new ToolFailure(result.error ?? 'tool_crash', result.content)
      return result.content
    },
  }
}
