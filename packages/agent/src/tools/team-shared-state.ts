// The tool team_shared_state: the members of a team share what they find (D-51). Only a team with a shared
// state has it. Its arguments are one flat object, because providers do not accept a union at the top.
import { sharedStateChange } from '@beaver/core/graph'
import { z } from 'zod'
import { defineTool, ToolFailure, ToolInputError } from './tool.ts'

export const teamSharedState = defineTool({
  name: 'team_shared_state',
  description:
    'Reads and changes the state all members of your team share. get: the value at a path; set, delete; increment: adds "by" to a number; ' +
    'append: adds "value" to the end of a list. Changes are atomic: prefer increment and append to set when others may write too. Returns the value after it.',
  input: z.strictObject({
    action: z.enum(['get', 'set', 'increment', 'append', 'delete']),
    path: z
      .string()
      .max(500)
      .default('')
      .describe('Keys joined by dots, such as custom_data.findings; empty, for get only: the whole state.'),
    value: z.json().optional().describe('For set and append.'),
    by: z.number().optional().describe('For increment; default 1.'),
  }),
  // The text stays in the team, with its labels.
  effects: 'none',
  async run({ action, path, value, by }, { sharedState }) {
    if (sharedState === null) throw new ToolFailure('no_shared_state', 'This team has no shared state.')
    const result = await sharedState(
      action === 'get' ? { action, path } : changeOf({ action, path, value, by }),
    )
    if (!result.ok) throw new ToolFailure('shared_state_refused', result.message)
    return { value: result.value }
  },
})

function changeOf({
  action,
  path,
  value,
  by,
}: {
  action: 'set' | 'increment' | 'append' | 'delete'
  path: string
  value: unknown
  by: number | undefined
}) {
  if ((action === 'set' || action === 'append') && value === undefined)
    throw new ToolInputError(`"value" is missing: ${action} needs it.`)
  const change = sharedStateChange.safeParse(
    action === 'delete'
      ? { action, path }
      : action === 'increment'
        ? { action, path, by: by ?? 1 }
        : { action, path, value },
  )
  if (!change.success)
    throw new ToolInputError(
      `"path" is not valid: ${change.error.issues[0]?.message ?? ''}. Name what to ${action}, such as custom_data.findings.`,
    )
  return change.data
}
