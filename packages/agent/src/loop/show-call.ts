// Says what a person is shown about a call that asks, and binds the decision to it by a hash over the tool,
// the arguments, what the call acts on and what it would change. Before an approved call begins it is shown
// again, and another hash means that it does not run. A call that its tool refuses when shown fails at once.
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonValue, type ToolCall } from '@beaver/core'
import type { OpenCall } from '@beaver/core/fold'
import { readCallArguments } from '../tools/call-arguments.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { permissionOnSubject, subjectOf } from '../tools/permission.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import type { CallPreview, Tool } from '../tools/tool.ts'
import type { Authorisation } from './authorise.ts'
import type { LoopWork } from './loop-work.ts'

type Asked = Pick<ToolCall, 'name' | 'arguments'>

/** The authorisation with what a person is shown, if it asks. */
export async function showCall(work: LoopWork, call: Asked, given: Authorisation): Promise<Authorisation> {
  if (given.kind !== 'ask') return given
  const shown = await previewCall(work, call)
  return 'refused' in shown ? { kind: 'refuse', result: shown.refused } : { ...given, ...shown }
}

/** The result of an approved call that would not do any more what the person was shown. `null`: it would. */
export async function changedSinceShown(work: LoopWork, call: OpenCall): Promise<ToolResult | null> {
  if (call.callHash === null) return null
  const now = await previewCall(work, call)
  if ('refused' in now) return now.refused
  if (now.callHash === call.callHash) return null
  return failedResult(
    call.name,
    'changed_since_approval',
    `${call.name} was not called: what it acts on changed after a person had approved the call. Look at it again, and call again if the call is still right; the person is then asked about the new state.`,
  )
}

type Shown =
  | { readonly callHash: string; readonly preview: CallPreview | null }
  | { readonly refused: ToolResult }

async function previewCall({ assembly, services, spec, signal }: LoopWork, call: Asked): Promise<Shown> {
  const tool = assembly.tools.get(call.name)
  const args = readCallArguments(call.name, call.arguments)
  const value = args.ok ? args.value : { unreadable: call.arguments }
  let preview: CallPreview | null = null
  if (args.ok && tool?.preview !== undefined) {
    try {
      preview = await tool.preview(value, {
        workspace: spec.workspace,
        permission: (subject) => permissionOnSubject(tool, subject, services.permissions),
        signal,
      })
    } catch (error) {
      if (error instanceof ToolFailure) return { refused: failedResult(call.name, error.code, error.message) }
    }
  }
  return {
    callHash: hashOf(
      { tool: call.name, arguments: value as JsonValue, subject: ownSubject(tool, value) },
      preview,
    ),
    preview,
  }
}

/** `null`: the call acts on its arguments, or nobody can say on what. */
function ownSubject(tool: Tool | undefined, args: unknown): string | null {
  if (tool?.subject === undefined) return null
  try {
    return subjectOf(tool, args)
  } catch {
    return null
  }
}

/** The diff is left out: it follows from the rest, and how it is cut is a matter of taste. */
function hashOf(
  call: { readonly tool: string; readonly arguments: JsonValue; readonly subject: string | null },
  preview: CallPreview | null,
): string {
  const state =
    preview === null
      ? null
      : { effect: preview.effect, path: preview.path, sha256: preview.sha256, before: preview.before }
  return createHash('sha256')
    .update(canonicalJson({ ...call, state } as JsonValue))
    .digest('hex')
}
