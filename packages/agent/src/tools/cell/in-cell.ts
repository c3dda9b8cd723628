// Decides where the calls of a tool run: in a cell if the tool asks for one or if it is suspect. In a cell,
// an endless loop, a full heap or a crash harms no other call. Which tools are suspect is decided elsewhere
// (loop-spec, core's ownerLosses). A tool that asks for a cell always runs in one. A suspect tool runs in a
// process of its own, with the environment that it had before, because a thread that hangs in a system call
// cannot be ended. A cell loads a module only while it has the content that was accepted.
import { resolve } from 'node:path'
import { childEnvironment, wholeEnvironment } from '../process/child-environment.ts'
import { groupsSupported } from '../process/process-group.ts'
import { noSandbox, type SandboxOptions } from '../sandbox/sandbox.ts'
import { type AcceptedFiles, changedFile } from '../accepted-files.ts'
import { ToolFailure, ToolInputError } from '../tool-failure.ts'
import type { Tool, ToolContext } from '../tool.ts'
import type { CellCall } from './cell-call.ts'
import { cellSlots } from './cell-slots.ts'
import { runInProcess } from './process-cell.ts'
import { runInThread } from './thread-cell.ts'

/** The slots of each worker thread. */
const slots = cellSlots(8, 256)

/** Where a tool's calls run. */
export interface CellOptions {
  /**
   * Of a tool that asks for a process. Default: none. A suspect tool gets none, because it had the rights of
   * the daemon before.
   */
  readonly sandbox?: SandboxOptions | undefined
  /** The files to whose content the user agreed. Default: none needs it. */
  readonly accepted?: AcceptedFiles | undefined
}

/**
 * @param module the URL of the module that exports the tool under its name; a tool without isolation stays
 * inline until it is suspect
 */
export function inCell(
  tool: Tool,
  module: string,
  { sandbox = noSandbox, accepted = {} }: CellOptions = {},
): Tool {
  const isolation = tool.isolation ?? 'inline'
  // A tool may be an instance of a class, so its methods must stay reachable.
  if (isolation === 'inline') return Object.assign(Object.create(tool) as Tool, { module, accepted })
  return {
    ...tool,
    module,
    accepted,
    invoke(args, context) {
      refuseChanged(accepted)
      if (isolation === 'process' && !groupsSupported)
        throw new ToolFailure(
          'not_supported',
          `${tool.name} needs a process group of its own, which this system does not have.`,
        )
      const call = callOf(tool.name, module, args, context)
      return inSlot(context.signal, () =>
        isolation === 'thread'
          ? runInThread(call, context.signal, context.progress)
          : runInProcess(
              call,
              { env: childEnvironment(), sandbox, onProgress: context.progress },
              context.signal,
            ),
      )
    },
  }
}

/**
 * Makes one call of an inline tool in a process of its own, or in a thread if the system has no process
 * groups.
 *
 * @param of.onStart called when the cell is about to make the call, if the cell can tell
 */
export function invokeInCell(
  of: { tool: string; module: string; accepted: AcceptedFiles | undefined; onStart: () => void },
  args: unknown,
  context: ToolContext,
): Promise<string> {
  refuseChanged(of.accepted ?? {})
  const call = callOf(of.tool, of.module, args, context)
  return inSlot(context.signal, () =>
    groupsSupported
      ? runInProcess(
          call,
          { env: wholeEnvironment(), onStart: of.onStart, onProgress: context.progress },
          context.signal,
        )
      : runInThread(call, context.signal, context.progress),
  )
}

function refuseChanged(accepted: AcceptedFiles): void {
  const changed = changedFile(accepted)
  if (changed !== null) throw new ToolFailure('tool_changed', changed)
}

function callOf(tool: string, module: string, args: unknown, context: ToolContext): CellCall {
  const { workspace, taskId, sessionId, runId, callId, teamContext } = context
  const team = teamContext === undefined ? {} : { teamContext }
  return {
    module,
    tool,
    args,
    at: { workspace: resolve(workspace), taskId, sessionId, runId, callId, ...team },
  }
}

async function inSlot(signal: AbortSignal, run: () => ReturnType<typeof runInThread>): Promise<string> {
  const free = await slots.take(signal)
  try {
    const answer = await run()
    if (answer.kind === 'done') return answer.content
    if (answer.kind === 'crash') throw new Error(answer.message)
    throw answer.kind === 'input'
      ? new ToolInputError(answer.message)
      : new ToolFailure(answer.code, answer.message)
  } finally {
    free()
  }
}
