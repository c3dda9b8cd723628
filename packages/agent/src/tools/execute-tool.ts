// Executes one tool call: parses the arguments, sets a deadline, and turns every failure into a bounded,
// well-formed text that the model can read. It never throws, and ignores what a tool does after its result. A
// call in this thread is marked until its tool is done, so that a watcher knows what may block the thread. A
// suspect tool runs in a cell; a built-in one has no module, so it is refused if it is suspect too often.
import { type Clock, type Logger, silentLogger } from '@beaver/core'
import type { ImagePart } from '@beaver/core/images'
import type { LoopHost } from '../loop/loop-spec.ts'
import { type CallScope, callScope } from './call-scope.ts'
import { readCallArguments } from './call-arguments.ts'
import { invokeInCell } from './cell/in-cell.ts'
import { boundedText, resultText } from './result-text.ts'
import { failureOf, thrownText, ToolFailure } from './tool-failure.ts'
import type { Tool, ToolContext } from './tool.ts'

/** The result of a call, in the form that is recorded. */
export interface ToolResult {
  readonly success: boolean
  readonly content: string
  readonly tool_name: string
  readonly error: string | null
  /** What the call showed to the model. Absent: nothing. */
  readonly images?: readonly ImagePart[]
  /** Whether a failure has Beaver's own words alone, and nothing of the tool. Default: `false`. */
  readonly ownWords?: boolean
}

export function failedResult(tool: string, error: string, message: string): ToolResult {
  return { success: false, tool_name: tool, error, content: JSON.stringify({ error, message }) }
}

/** A failure in Beaver's own words. */
const refused = (...of: Parameters<typeof failedResult>): ToolResult => ({
  ...failedResult(...of),
  ownWords: true,
})

export interface CallLimits {
  /** The deadline of a tool that has none of its own. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
  /** How often the tool cost this run or task a thread or an owner. Default: never. */
  readonly suspicions?: number
  /**
   * Called when the call begins to run in this thread. The returned function is called when nothing of the
   * call runs any more.
   */
  readonly works?: LoopHost['works']
  /** Receives what the tool prints in a cell and what it throws too late. Default: nobody does. */
  readonly logger?: Logger | undefined
}

/**
 * A built-in tool is refused after its thread was lost this often while it ran. A user's tool runs in a cell
 * after the first time.
 */
const builtinSuspicionsMax = 2

/**
 * A tool that did not ask for a cell has its whole time there: the clock does not count until the cell has
 * started.
 */
const cellStartMsMax = 5_000

/**
 * Executes one tool call. It never throws: every failure is a result that the model can read.
 *
 * @example
 * import { systemClock } from '@beaver/core'
 * import { toolContext } from '@beaver/testing'
 *
 * const add = defineTool({ name: 'add', description: 'Adds.', input: z.strictObject({ a: z.number(), b: z.number() }), run: ({ a, b }) => a + b })
 * const limits = { timeoutMs: 60_000, signal: AbortSignal.timeout(60_000), clock: systemClock }
 * const { content } = await executeTool(add, { name: 'add', arguments: '{"a": 1, "b": 2}' }, toolContext(), limits)
 * content // => '3'
 * const { success, error } = await executeTool(add, { name: 'add', arguments: '{"a": 1}' }, toolContext(), limits)
 * success // => false
 * error // => 'invalid_arguments'
 */
export async function executeTool(
  tool: Tool | undefined,
  call: { readonly name: string; readonly arguments: string },
  context: Omit<ToolContext, 'signal'>,
  limits: CallLimits,
): Promise<ToolResult> {
  if (tool === undefined)
    return refused(
      call.name,
      'tool_not_available',
      `There is no tool ${JSON.stringify(call.name)} here. Use one of the tools that you have.`,
    )
  const args = readCallArguments(tool.name, call.arguments)
  if (!args.ok) return refused(tool.name, 'invalid_arguments', args.message)
  const misplaced = misplacement(tool, limits.suspicions ?? 0)
  if (misplaced !== null) return refused(tool.name, 'tool_crash', misplaced)
  const timeoutMs = tool.timeoutMs ?? limits.timeoutMs
  const late = (): ToolFailure =>
    new ToolFailure(
      'tool_timeout',
      `${tool.name} did not finish within ${timeoutMs / 1000} s and was stopped.`,
    )
  const stop = new AbortController()
  const { promise: ended, reject: end } = Promise.withResolvers<never>()
  let open = true
  const { taskId, runId, callId } = context
  const fail = (error: unknown): boolean => {
    end(error as Error)
    return open
  }
  const logger = (limits.logger ?? silentLogger).with({
    task_id: taskId,
    run_id: runId,
    call_id: callId,
    tool: tool.name,
  })
  const scope: CallScope = { tool: tool.name, taskId, runId, callId, logger, fail }
  // What the tool does when its signal aborts belongs to the call.
  const abort = (reason: unknown): void => {
    callScope.run(scope, () => stop.abort(reason))
    end(reason as Error)
  }
  const onAbort = (): void => abort(limits.signal.reason)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  const dueIn = (ms: number) => limits.clock.after(ms, () => abort(late()))
  let deadline = dueIn(timeoutMs + (goesToCell(tool, limits) ? cellStartMsMax : 0))
  const onStart = (): void => {
    deadline.cancel()
    if (open) deadline = dueIn(timeoutMs)
  }
  /** The clock of the call stops while a person is asked (D-63). */
  const ask: ToolContext['ask'] = async (question) => {
    deadline.cancel()
    try {
      return await context.ask(question)
    } finally {
      onStart()
    }
  }
  try {
    if (limits.signal.aborted) onAbort()
    const work = callScope.run(scope, async () =>
      place(tool, { ...limits, timeoutMs, onStart })(args.value, { ...context, ask, signal: stop.signal }),
    )
    const result = await Promise.race([work, ended])
    return {
      success: true,
      tool_name: tool.name,
      error: null,
      content: boundedText(resultText(tool.name, result)),
    }
  } catch (error) {
    // A tool may answer the abort with an error of its own, and may do so first.
    if (limits.signal.aborted)
      return refused(tool.name, 'cancelled', `${tool.name} was stopped because the run was cancelled.`)
    if (stop.signal.aborted && (error === stop.signal.reason || failureOf(error)?.code !== 'tool_timeout'))
      return refused(tool.name, 'tool_timeout', late().message)
    const failure = failureOf(error)
    // The schema of the tool says why, and the tool did not run.
    if (failure?.kind === 'input' && refusesInput(tool, args.value))
      return refused(tool.name, failure.code, failure.message)
    if (failure !== null) return failedResult(tool.name, failure.code, failure.message)
    return failedResult(tool.name, 'tool_crash', `${tool.name} failed: ${thrownText(error)}`)
  } finally {
    open = false
    deadline.cancel()
    limits.signal.removeEventListener('abort', onAbort)
  }
}

function refusesInput(tool: Tool, args: unknown): boolean {
  try {
    return (tool.inputFault?.(args) ?? null) !== null
  } catch {
    return false
  }
}

/** Why the call cannot be made anywhere. `null` if it can. */
function misplacement(tool: Tool, suspicions: number): string | null {
  if (tool.module !== undefined || tool.inHost === true) return null
  if ((tool.isolation ?? 'inline') !== 'inline')
    return `${tool.name} needs a ${tool.isolation} of its own, but was not loaded from a module. It was not run.`
  if (suspicions < builtinSuspicionsMax) return null
  return `${tool.name} was not run: ${suspicions} times the thread of this run died while the tool was at work. Do the work without it, or ask it for less.`
}

/** Whether an inline tool goes into a cell because it is suspect. */
const goesToCell = ({ module, isolation = 'inline' }: Tool, { suspicions = 0 }: CallLimits): boolean =>
  module !== undefined && isolation === 'inline' && suspicions > 0

/** Runs the call in its place: in this thread, marked until the tool is done, or in a cell. */
function place(tool: Tool, limits: CallLimits & { readonly onStart: () => void }): Tool['invoke'] {
  const { module, name } = tool
  const { works, timeoutMs, onStart } = limits
  if ((tool.isolation ?? 'inline') !== 'inline' || tool.inHost === true)
    return (args, context) => tool.invoke(args, context)
  if (module !== undefined && goesToCell(tool, limits))
    return (args, context) =>
      invokeInCell({ tool: name, module, accepted: tool.accepted, onStart }, args, context)
  return async (args, context) => {
    const begin = (): (() => void) | undefined =>
      works?.({ kind: 'tool', tool: name, timeoutMs, own: module !== undefined })
    let over = begin()
    let isOver = false
    /** A call that waits for a person cannot block the thread. */
    const ask: ToolContext['ask'] = async (question) => {
      over?.()
      over = undefined
      try {
        return await context.ask(question)
      } finally {
        if (!isOver) over ??= begin()
      }
    }
    try {
      return await tool.invoke(args, { ...context, ask })
    } finally {
      isOver = true
      over?.()
    }
  }
}
