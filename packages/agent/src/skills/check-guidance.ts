// Plans the guidance of a skill as a root agent would call it, so that its author learns of a fault before a
// task does. A fault in what the guidance says is a problem. A field that the guidance leaves to the model is
// none. What depends on the configuration of a system is advice: another system may have the tool.
import { evidenceFault, findTaskWorkflow, type KnownTools } from '@beaver/workflows'
import type { SkillProblem } from './check-skill.ts'
import type { WorkflowGuidance } from './skill.ts'

/** What a system offers to the agents that use a skill. */
export interface SkillSurroundings {
  /** The tools that agents of a team may have. */
  readonly tools: KnownTools
  /** The workflow tools that root agents of the default profile have. */
  readonly teamWorkflows: readonly string[]
  /** The default profile. `null`: there is none. */
  readonly profile: string | null
}

export function guidanceFaults(
  guidance: WorkflowGuidance,
  around?: SkillSurroundings,
): { problems: SkillProblem[]; advice: SkillProblem[] } {
  const workflow = findTaskWorkflow(guidance.preferred_tool)
  if (workflow === null) return { problems: [], advice: [] }
  const slots = Object.keys((workflow.parameters['properties'] ?? {}) as object)
  const given = Object.fromEntries(Object.entries(guidance).filter(([field]) => slots.includes(field)))
  // First, because a plan ends at its first fault, which may be a field that the model adds.
  const impossible = evidenceFault(given, around?.tools)
  const planned =
    impossible ??
    workflow.plan(
      { task: 'The task of a person.', ...given },
      around === undefined ? {} : { tools: around.tools },
    )
  const told = planned.ok
    ? []
    : [
        {
          rule: 'guidance',
          message: `No call of ${workflow.name} with its guidance can be planned. ${planned.error.message}`,
        },
      ]
  const saidThere = !planned.ok && Object.hasOwn(given, planned.error.path.split('.')[0] ?? '')
  return {
    problems: saidThere ? told : [],
    advice: [
      ...(saidThere ? [] : told),
      ...(around === undefined ? [] : adviceFor(guidance, workflow.name, around)),
    ],
  }
}

function adviceFor(
  { agents }: WorkflowGuidance,
  preferred: string,
  { tools, teamWorkflows, profile }: SkillSurroundings,
): SkillProblem[] {
  const advice: SkillProblem[] = []
  if (!teamWorkflows.includes(preferred)) {
    const who =
      profile === null ? 'Root agents here' : `Root agents of the profile ${JSON.stringify(profile)}`
    const message = `${who} do not have the workflow tool ${preferred} that its guidance prefers. List it in tool_ids_inventory of a profile, or prefer one of ${teamWorkflows.join(', ') || 'none'}.`
    advice.push({ rule: 'guidance', message })
  }
  for (const { name, allowed_tool_names: allowed } of agents) {
    const missing = (allowed ?? []).filter((tool) => !tools.has(tool))
    if (missing.length === 0) continue
    advice.push({
      rule: 'guidance',
      message: `The agent ${JSON.stringify(name)} is limited to tools that are not here: ${missing.map((tool) => JSON.stringify(tool)).join(', ')}.`,
    })
  }
  return advice
}
