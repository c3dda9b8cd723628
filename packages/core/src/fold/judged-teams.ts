// Decides by which teams a task is judged (D-60). Pure. The order of the calls decides, never the order in
// which the teams began or ended. A takeover therefore changes nothing. The teams of one answer count
// together. The teams of a later answer supersede those of earlier answers. A `workflow:` definition that was
// called as a tool is an ordinary tool. Its team never counts. A call that started no team, because it was
// refused, is not counted: the model got the refusal as the result of the call.
import { definitionPrefix } from '../graph/execution-graph.ts'

/**
 * A team and the call that started it. `call_id`: `null` if the task is a workflow and the team is its only
 * one.
 */
export interface CalledTeam {
  readonly call_id: string | null
  readonly workflow: string
}

/**
 * The teams by which a task is judged, in the order of their calls. The task completes only if all of them
 * are complete.
 *
 * @param callsOfAnswers the ids of the calls of each answer of the root run, in the order of the answers
 * @returns an empty list if no team counts
 * @example
 * const draft = { call_id: 'c1', workflow: 'SequentialWorkflow' }
 * const final = { call_id: 'c2', workflow: 'GraphWorkflow' }
 * judgedTeams([['c1'], ['c2']], [final, draft]) // => [final]
 * judgedTeams([['c1', 'c2']], [final, draft]) // => [draft, final]
 */
export function judgedTeams<Team extends CalledTeam>(
  callsOfAnswers: readonly (readonly string[])[],
  teams: Iterable<Team>,
): Team[] {
  const all = [...teams]
  const own = all.filter(({ call_id }) => call_id === null)
  if (own.length > 0) return own
  const counted = new Map(
    all.flatMap((team) =>
      team.call_id === null || isDefinition(team) ? [] : [[team.call_id, team] as const],
    ),
  )
  const newest = callsOfAnswers.findLast((calls) => calls.some((id) => counted.has(id))) ?? []
  return newest.flatMap((id) => counted.get(id) ?? [])
}

const isDefinition = ({ workflow }: CalledTeam): boolean => workflow.startsWith(definitionPrefix)
