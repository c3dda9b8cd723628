// The tool team_output: a root agent reads what an ended team wrote, in parts, without running the team again
// (D-61). Its schema is sent only while a message of the run refers to it, so that other requests do not pay
// for it.
import { teamOutputTool } from '@beaver/core/fold'
import { z } from 'zod'
import type { TeamRunResult } from '../loop/loop-spec.ts'
import { wholeEnd } from './result-text.ts'
import { defineTool, type Tool, ToolFailure, ToolInputError } from './tool.ts'

/** The limit of one part. */
const partCharsMax = 50_000

/** @param teamOf the result of the team that a call of this run started; `null` if there is none */
export function teamOutput(teamOf: (callId: string) => Promise<TeamRunResult | null>): Tool {
  return defineTool({
    name: teamOutputTool,
    description: 'Reads the text of a team that has ended, in parts, without running it again.',
    input: z.strictObject({
      call_id: z.string().describe('The id of the call that ran the team.'),
      node_id: z.string().optional().describe('The agent whose output to read; left out: the final output.'),
      offset: z.number().int().nonnegative().optional().describe('Where to begin, in characters; default 0.'),
    }),
    idempotent: true,
    effects: 'none',
    async run({ call_id, node_id, offset = 0 }) {
      const team = await teamOf(call_id)
      if (team === null)
        throw new ToolFailure(
          'unknown_team',
          `No team that has ended was started by the call ${JSON.stringify(call_id)} of this run.`,
        )
      return partOf(textOf(team, node_id), offset)
    },
  })
}

/**
 * The tool as every root has it, for the rules and for the request. A call is made by the tool that knows the
 * teams of its run.
 */
export const rootTeamOutput: Tool = teamOutput(() => Promise.resolve(null))

function textOf({ final_output, outputs }: TeamRunResult, nodeId: string | undefined): string {
  if (nodeId === undefined) return final_output
  const found = outputs.find(({ node_id }) => node_id === nodeId)
  if (found !== undefined) return found.output
  const there = outputs.map(({ node_id }) => JSON.stringify(node_id)).join(', ')
  throw new ToolInputError(
    `"node_id" is ${JSON.stringify(nodeId)}; the outputs of the team are those of ${there === '' ? 'nobody' : there}.`,
  )
}

function partOf(text: string, offset: number): string {
  if (offset > 0 && offset >= text.length)
    throw new ToolInputError(`"offset" is ${offset}; the text has ${text.length} characters.`)
  const end = text.length - offset <= partCharsMax ? text.length : wholeEnd(text, offset + partCharsMax)
  const part = text.slice(offset, end).toWellFormed()
  return end === text.length ? part : `${part}\n[${text.length - end} more characters: offset ${end}]`
}
