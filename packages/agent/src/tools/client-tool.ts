// The tools that a client brings with its task, in the form that a loop uses. loop/client-call.ts makes their
// calls.
import type { ClientTool, JsonObject } from '@beaver/core'
import { schemaFault, schemaMismatch } from '@beaver/core/evidence'
import { teamOutputTool } from '@beaver/core/fold'
import { askUserTool } from '@beaver/core/question'
import { isWorkflowTool } from '@beaver/workflows'
import { teamSharedState } from './team-shared-state.ts'
import type { Tool } from './tool.ts'

/** The tool in the form that a loop uses. Its calls run beside each other and may be made again. */
export const clientToolOf = (tool: ClientTool): Tool => ({
  name: tool.name,
  description: tool.description ?? '',
  parameters: tool.parameters,
  idempotent: true,
  effects: 'reads',
  // Its arguments name nothing on this machine.
  subjectKind: 'text',
  inHost: true,
  atClient: true,
  inputFault: (args) => mismatch(tool, args),
  invoke: () => Promise.reject(new Error('The client makes the calls of its tools.')),
})

/** Names of tools that Beaver adds to a run by itself. */
const ownNames: ReadonlySet<string> = new Set([
  askUserTool,
  teamOutputTool,
  teamSharedState.name,
  'find_tools',
  'use_tool',
])

/**
 * Whether no tool of a client may have the name, whatever a daemon has loaded.
 *
 * @example
 * isReservedTool('ask_user') // => true
 * isReservedTool('colour') // => false
 */
export const isReservedTool = (name: string): boolean => ownNames.has(name) || isWorkflowTool(name)

/** A schema that is not supported proves nothing. */
function mismatch({ name, parameters }: ClientTool, args: unknown): string | null {
  if (schemaFault(parameters) !== null) return null
  const fault = schemaMismatch(parameters, JSON.stringify(args as JsonObject))
  return fault === null ? null : `The arguments of ${name} do not fit: the value ${fault}.`
}
