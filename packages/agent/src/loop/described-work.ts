// Asks the process that has a tool what a call would act on, so that rules and people see the same of every
// tool. Nobody is asked if the answer cannot matter. If a process cannot describe the call, its subject is
// unknown and the call is denied (permission.ts, P2). A call is described anew each time it is judged,
// because what it acts on may have changed.
import { type JsonObject, messageOf, type ToolCall } from '@beaver/core'
import { isUnlabelled } from '@beaver/core/taint'
import { readCallArguments } from '../tools/call-arguments.ts'
import { type CallDescription, describedTool } from '../tools/external-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { LoopWork } from './loop-work.ts'
import { unlessAborted } from './unless-aborted.ts'

/** `callHash`: what a person was shown, if somebody was asked. */
type Asked = Pick<ToolCall, 'name' | 'arguments'> & {
  readonly id?: string
  readonly callHash?: string | null
}

/**
 * The work, in which the tool of the call is described. It is the same object if nothing has to be asked, and
 * `null` if the run was cancelled.
 */
export async function describedWork(work: LoopWork, call: Asked): Promise<LoopWork | null> {
  const { assembly, signal } = work
  const tool = assembly.tools.get(call.name)
  if (tool?.describes !== true || !matters(work, tool, call)) return work
  const args = readCallArguments(call.name, call.arguments)
  if (!args.ok) return work
  const callDescription = await unlessAborted(description(work, call, args.value as JsonObject), signal)
  if (callDescription === null) return null
  const tools = new Map(assembly.tools).set(tool.name, describedTool(tool, callDescription))
  return { ...work, assembly: { ...assembly, tools } }
}

/** An approved call is compared with what was shown, whatever the rules are now. */
function matters({ services, run }: LoopWork, tool: Tool, { callHash = null }: Asked): boolean {
  return (
    callHash !== null ||
    services.permissions.length > 0 ||
    (tool.permission ?? 'allow') !== 'allow' ||
    !isUnlabelled(run().taint)
  )
}

async function description(
  { host, spec, start }: LoopWork,
  { name, id = '' }: Asked,
  args: JsonObject,
): Promise<CallDescription> {
  const run = {
    workspace: spec.workspace,
    taskId: spec.taskId,
    sessionId: spec.sessionId,
    runId: start.run_id,
  }
  const unknown = (unreadable: string): CallDescription => ({
    subject: null,
    unreadable,
    inputFault: null,
    preview: null,
    refused: null,
  })
  try {
    return (
      (await host.describeExternal({ name, callId: id, arguments: args, run })) ??
      unknown('its process does not describe it')
    )
  } catch (error) {
    return unknown(messageOf(error))
  }
}
