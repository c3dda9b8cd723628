// Asks the process that has a tool what a call of it would act on, so that rules and people see the same of every tool, wherever it comes from.
// W1. Nobody is asked if the answer cannot matter: without a rule, a permission or a label, a call is allowed.
// W2. A process that cannot describe the call leaves its subject unknown, and the call is denied (permission.ts, P2).
import { isUnlabelled, type JsonObject, messageOf, type ToolCall } from '@beaver/core'
import { readCallArguments } from '../tools/call-arguments.ts'
import { type CallDescription, describedTool } from '../tools/external-tools.ts'
import type { LoopWork } from './loop-work.ts'

type Asked = Pick<ToolCall, 'name' | 'arguments'> & { readonly id?: string }

/** The work, in which the tool of the call is described. It is the same object if nothing has to be asked. */
export function describedWork(work: LoopWork, call: Asked): LoopWork | Promise<LoopWork> {
  const { assembly, services, run } = work
  const tool = assembly.tools.get(call.name)
  if (tool?.describes !== true) return work
  if (services.permissions.length === 0 && (tool.permission ?? 'allow') === 'allow' && isUnlabelled(run().taint)) return work
  const args = readCallArguments(call.name, call.arguments)
  if (!args.ok) return work
  return description(work, call, args.value as JsonObject).then((told) => {
    const tools = new Map(assembly.tools).set(tool.name, describedTool(tool, told))
    return { ...work, assembly: { ...assembly, tools } }
  })
}

async function description({ host, spec, start }: LoopWork, { name, id = '' }: Asked, args: JsonObject): Promise<CallDescription> {
  const run = { workspace: spec.workspace, taskId: spec.taskId, sessionId: spec.sessionId, runId: start.run_id }
  const unknown = (unreadable: string): CallDescription => ({ subject: null, unreadable, inputFault: null, preview: null, refused: null })
  try {
    return (await host.describeExternal?.({ name, callId: id, arguments: args, run })) ?? unknown('its process does not describe it')
  } catch (error) {
    return unknown(messageOf(error))
  }
}
