// Executing one tool call: arguments parsed, a deadline set, every way to fail turned into a result the model can read.
// X1. Never throws: a call always has a result, whatever the tool throws or returns. X2. A result is bounded, well-formed text:
//     what is too long is cut, and says so. X3. A call that has a result has ended, for the loop: what its tool does later is not heard.
import type { Clock } from '@beaver/core'
import { readCallArguments } from './call-arguments.ts'
import { boundedText, resultText } from './result-text.ts'
import { failureOf, thrownText, ToolFailure } from './tool-failure.ts'
import type { Tool, ToolContext } from './tool.ts'

export interface ToolResult {
  readonly success: boolean
  readonly content: string
  readonly tool_name: string
  readonly error: string | null
}

export function failedResult(tool: string, error: string, message: string): ToolResult {
  return { success: false, tool_name: tool, error, content: JSON.stringify({ error, message }) }
}

/** @param limits `timeoutMs` where the tool has none of its own */
export async function executeTool(
  tool: Tool | undefined,
  call: { readonly name: string; readonly arguments: string },
  context: Omit<ToolContext, 'signal'>,
  limits: { timeoutMs: number; signal: AbortSignal; clock: Clock },
): Promise<ToolResult> {
  if (tool === undefined)
    return failedResult(call.name, 'tool_not_available', `There is no tool ${JSON.stringify(call.name)} here. Use one of the tools you were given.`)
  const args = readCallArguments(tool.name, call.arguments)
  if (!args.ok) return failedResult(tool.name, 'invalid_arguments', args.message)
  if ((tool.isolation ?? 'inline') !== 'inline' && tool.module === undefined)
    return failedResult(tool.name, 'tool_crash', `${tool.name} asks for a ${tool.isolation} of its own, but was not loaded from a module: it was not run.`)
  const timeoutMs = tool.timeoutMs ?? limits.timeoutMs
  const late = (): ToolFailure => new ToolFailure('tool_timeout', `${tool.name} did not finish within ${timeoutMs / 1000} s and was stopped.`)
  const stop = new AbortController()
  const onAbort = (): void => stop.abort(limits.signal.reason)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  const deadline = limits.clock.after(timeoutMs, () => stop.abort(late()))
  try {
    if (limits.signal.aborted) onAbort()
    const result = await Promise.race([tool.invoke(args.value, { ...context, signal: stop.signal }), whenAborted(stop.signal)])
    return { success: true, tool_name: tool.name, error: null, content: boundedText(resultText(tool.name, result)) }
  } catch (error) {
    // A tool may answer the abort with an error of its own, and before we do.
    if (limits.signal.aborted) return failedResult(tool.name, 'cancelled', `${tool.name} was stopped because the run was cancelled.`)
    const failure = failureOf(stop.signal.aborted && failureOf(error)?.code !== 'tool_timeout' ? late() : error)
    if (failure !== null) return failedResult(tool.name, failure.code, failure.message)
    return failedResult(tool.name, 'tool_crash', `${tool.name} failed: ${thrownText(error)}`)
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
