// Executing one tool call: arguments parsed, a deadline set, every way to fail turned into a result the model can read.
// X1. Never throws: a call always has a result. X2. A result is bounded: what is too long is cut, and says so.
import { type Clock, messageOf } from '@beaver/core'
import { type Tool, type ToolContext, ToolFailure, ToolInputError } from './tool.ts'

export interface ToolResult {
  readonly success: boolean
  readonly content: string
  readonly tool_name: string
  readonly error: string | null
}

const resultCharsMax = 200_000

export function failedResult(tool: string, error: string, message: string): ToolResult {
  return { success: false, tool_name: tool, error, content: JSON.stringify({ error, message }) }
}

export async function executeTool(
  tool: Tool | undefined,
  call: { readonly name: string; readonly arguments: string },
  context: Omit<ToolContext, 'signal'>,
  limits: { timeoutMs: number; signal: AbortSignal; clock: Clock },
): Promise<ToolResult> {
  if (tool === undefined)
    return failedResult(call.name, 'tool_not_available', `There is no tool ${JSON.stringify(call.name)} here. Use one of the tools you were given.`)
  let args: unknown
  try {
    args = call.arguments.trim() === '' ? {} : JSON.parse(call.arguments)
  } catch (error) {
    return failedResult(tool.name, 'invalid_arguments', `The arguments of ${tool.name} are not JSON (${messageOf(error)}). Send one JSON object.`)
  }
  const stop = new AbortController()
  const onAbort = (): void => stop.abort(limits.signal.reason)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  const deadline = limits.clock.after(limits.timeoutMs, () =>
    stop.abort(new ToolFailure('tool_timeout', `${tool.name} did not finish within ${limits.timeoutMs / 1000} s and was stopped.`)),
  )
  try {
    if (limits.signal.aborted) onAbort()
    const content = await Promise.race([tool.invoke(args, { ...context, signal: stop.signal }), whenAborted(stop.signal)])
    return { success: true, tool_name: tool.name, error: null, content: bounded(content) }
  } catch (error) {
    if (error instanceof ToolInputError) return failedResult(tool.name, 'invalid_arguments', error.message)
    if (error instanceof ToolFailure) return failedResult(tool.name, error.code, error.message)
    if (limits.signal.aborted) return failedResult(tool.name, 'cancelled', `${tool.name} was stopped because the run was cancelled.`)
    return failedResult(tool.name, 'tool_crash', `${tool.name} failed: ${messageOf(error)}`)
  } finally {
    deadline.cancel()
    limits.signal.removeEventListener('abort', onAbort)
  }
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

function bounded(content: string): string {
  if (content.length <= resultCharsMax) return content
  return `${content.slice(0, resultCharsMax)}\n[cut: ${content.length - resultCharsMax} more characters]`
}
