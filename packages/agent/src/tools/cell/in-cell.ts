// A tool whose calls run in cells: places where a loop without end, a full heap or a crash harm no other call.
import { resolve } from 'node:path'
import { groupsSupported } from '../process/process-group.ts'
import { ToolFailure, ToolInputError } from '../tool-failure.ts'
import type { Tool } from '../tool.ts'
import type { CellCall } from './cell-call.ts'
import { cellSlots } from './cell-slots.ts'
import { runInProcess } from './process-cell.ts'
import { runInThread } from './thread-cell.ts'

/** Of each worker thread. */
const slots = cellSlots(8, 256)

/** @param module URL of the module that exports the tool under its name; a tool without isolation stays as it is */
export function inCell(tool: Tool, module: string): Tool {
  const isolation = tool.isolation ?? 'inline'
  if (isolation === 'inline') return tool
  return {
    ...tool,
    module,
    async invoke(args, { workspace, taskId, sessionId, runId, callId, signal }) {
      if (isolation === 'process' && !groupsSupported)
        throw new ToolFailure('not_supported', `${tool.name} needs a process group of its own, which this system does not have.`)
      const free = await slots.take(signal)
      try {
        const call: CellCall = { module, tool: tool.name, args, at: { workspace: resolve(workspace), taskId, sessionId, runId, callId } }
        const answer = await (isolation === 'thread' ? runInThread(call, signal) : runInProcess(call, signal))
        if (answer.kind === 'done') return answer.content
        if (answer.kind === 'crash') throw new Error(answer.message)
        throw answer.kind === 'input' ? new ToolInputError(answer.message) : new ToolFailure(answer.code, answer.message)
      } finally {
        free()
      }
    },
  }
}
