// Tools that live in the daemon's process and not in a worker thread: those of MCP servers. They are connected once per process, and the loops
// call them through their host.
import type { JsonObject, Sink } from '@beaver/core'
import type { Effects, Reads } from '../taint/tool-kind.ts'
import type { Permission } from './permission.ts'
import { type Tool, type ToolContext, ToolFailure } from './tool.ts'

/** Plain data: it is sent to every worker thread. */
export interface ExternalTool {
  /** Unique among all tools; 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  readonly description: string
  /** The JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>
  readonly idempotent: boolean
  readonly permission: Permission
  /** What a call does. Default: `writes`. */
  readonly effects?: Effects
  /** What a call does with its arguments. Default: as for any tool. */
  readonly sink?: Sink
  /** Whose text the results are. Default: `own`. */
  readonly reads?: Reads
  /** How long a call may take, in milliseconds. Default: the configured bound. */
  readonly timeoutMs?: number
}

/** A call of an external tool. */
export interface ExternalCall {
  readonly name: string
  readonly callId: string
  readonly arguments: JsonObject
  /** The run to which the call belongs. */
  readonly run?: Pick<ToolContext, 'workspace' | 'taskId' | 'sessionId' | 'runId'> | undefined
}

/** The result of an external call. */
export interface ExternalResult {
  readonly success: boolean
  readonly content: string
  /** A code if `success` is false. */
  readonly error: string | null
}

/** The external tools of a daemon's process. */
export interface ExternalTools {
  /** The tools that are offered now. */
  readonly tools: readonly ExternalTool[]
  /** Calls `listener` when `tools` has changed. The returned function ends this. */
  onChange(listener: () => void): () => void
  /** Never rejects: a failure is a result that the model can read. Ends soon after `signal` aborts. */
  call(call: ExternalCall, signal: AbortSignal): Promise<ExternalResult>
}

/**
 * The external tool in the form that a loop uses.
 *
 * @example
 * const search = externalTool({
 *   name: 'github_search',
 *   description: 'Searches issues.',
 *   parameters: { type: 'object', properties: { query: { type: 'string' } } },
 *   idempotent: true,
 *   permission: 'allow',
 * })
 * search.inHost // => true
 */
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
