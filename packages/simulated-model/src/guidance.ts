// The root's habit: if an active skill has a team's guidance and its workflow tool is offered, it calls the
// tool with the agents of the guidance. The team's output becomes the answer.
import type { ToolSchema } from '@beaver/agent'
import { z } from 'zod'
import { failureIn, parseJson } from './conversation.ts'
import { callTools, type Conversation, type Habit, type MadeCall, say, type SimulatedReply } from './habit.ts'

export const followGuidance: Habit = (conversation) => {
  if (conversation.order !== null) return null
  for (const { body } of conversation.skills) {
    const guidance = readGuidance(body)
    if (guidance === null) continue
    const made = conversation.calls.findLast(
      (call) => shortName(call.name) === shortName(guidance.preferred_tool),
    )
    if (made !== undefined) return report(made)
    const offered = conversation.tools.find(
      (tool) => shortName(tool.name) === shortName(guidance.preferred_tool),
    )
    if (offered !== undefined)
      return callTools(conversation, [
        {
          name: offered.name,
          args: {
            task: taskText(conversation),
            agents: guidance.agents.map(slot),
            ...structureFor(offered, guidance),
          },
        },
      ])
  }
  return null
}

interface Guidance {
  readonly preferred_tool: string
  readonly agents: readonly Record<string, unknown>[]
  readonly [field: string]: unknown
}

const slotFields = [
  'name',
  'instruction',
  'use_skill',
  'skill_query',
  'allowed_tool_names',
  'required_evidence',
  'validation_rules',
  'evidence_contract',
]

const slot = (agent: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    slotFields.filter((field) => agent[field] !== undefined).map((field) => [field, agent[field]]),
  )

/** The further arguments in the guidance: edges, a flow, an aggregator. */
function structureFor({ parameters }: ToolSchema, guidance: Guidance): Record<string, unknown> {
  const known = Object.keys((parameters['properties'] ?? {}) as object).filter(
    (name) => name !== 'task' && name !== 'agents',
  )
  return Object.fromEntries(
    known.filter((name) => guidance[name] !== undefined).map((name) => [name, guidance[name]]),
  )
}

/** Workflow tools may have the prefix of their MCP server. */
const shortName = (name: string): string => name.replace(/^mcp_local_team_workflow_mcp_/, '')

const taskText = (conversation: Conversation): string =>
  conversation.userText.trim() || 'Do what the activated skill describes.'

/** The first `beaver-team-workflow` block with the required fields. */
function readGuidance(body: string): Guidance | null {
  for (const [, text = ''] of body.matchAll(/^```beaver-team-workflow[ \t]*\n([\s\S]*?)^```[ \t]*$/gm)) {
    const value = parseJson(text) as Partial<Guidance> | null | undefined
    if (typeof value?.preferred_tool === 'string' && Array.isArray(value.agents) && value.agents.length > 0)
      return value as Guidance
  }
  return null
}

/** The answer of a root agent after a team has reported. */
export function report(made: MadeCall): SimulatedReply {
  if (made.result === null)
    return say(`The call of ${made.name} has no result, so there is nothing to report.`)
  const failed = failureIn(made.result)
  if (failed !== null) return say(`The team did not start: ${failed.message} (${failed.code})`)
  const team = teamIn(made.result)
  if (team === null)
    return say(
      `The result of ${made.name} has a form the simulated model does not know: ${oneLine(made.result)}`,
    )
  const output = team.final_output.trim()
  if (team.outcome === 'complete' && output !== '') return say(output)
  const why = team.failures.map(
    ({ node_id, failure }) => `- ${node_id}: ${failure.message} (${failure.class})`,
  )
  const said = [
    `The team did not finish (${team.outcome}). ${team.message ?? ''}`.trim(),
    why.join('\n'),
    output === '' ? 'There is no result.' : `What there is so far:\n\n${output}`,
  ]
  return say(said.filter((part) => part !== '').join('\n\n'))
}

const teamResult = z.looseObject({
  final_output: z.string(),
  outcome: z.string().default('complete'),
  message: z.string().nullish(),
  failures: z
    .array(
      z.looseObject({
        node_id: z.string(),
        failure: z.looseObject({ class: z.string(), message: z.string() }),
      }),
    )
    .default([]),
})

/** What a team workflow returned. `null` for any other result. */
export const teamIn = (result: string): z.infer<typeof teamResult> | null =>
  teamResult.safeParse(parseJson(result)).data ?? null

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}
