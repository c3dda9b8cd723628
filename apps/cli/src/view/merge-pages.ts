// Joins the pages of the answer `task` to one answer. A page has some of the nodes, with the runs and teams
// above them. Everything appears once, and what a later page says about it wins. Nodes are in declared order.
import type { NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'

export function mergePages(first: TaskAnswer, later: TaskAnswer): TaskAnswer {
  return { ...later, runs: mergeRuns(first.runs, later.runs), teams: mergeTeams(first.teams, later.teams) }
}

function mergeBy<T>(
  a: readonly T[],
  b: readonly T[],
  idOf: (item: T) => string,
  merge: (a: T, b: T) => T,
): T[] {
  const byId = new Map(a.map((item) => [idOf(item), item]))
  for (const item of b) {
    const known = byId.get(idOf(item))
    byId.set(idOf(item), known === undefined ? item : merge(known, item))
  }
  return [...byId.values()]
}

const mergeTeams = (a: readonly TeamAnswer[], b: readonly TeamAnswer[]): TeamAnswer[] =>
  mergeBy(
    a,
    b,
    (team) => team.team_run_id,
    (one, other) => ({ ...other, nodes: mergeNodes(one.nodes, other.nodes) }),
  )

const mergeNodes = (a: readonly NodeAnswer[], b: readonly NodeAnswer[]): NodeAnswer[] =>
  mergeBy(
    a,
    b,
    (node) => node.node_id,
    (one, other) => ({
      ...other,
      run: one.run === null || other.run === null ? (other.run ?? one.run) : mergeRun(one.run, other.run),
    }),
  ).toSorted((one, other) => one.declared_index - other.declared_index)

const mergeRuns = (a: readonly RunAnswer[], b: readonly RunAnswer[]): RunAnswer[] =>
  mergeBy(a, b, (run) => run.run_id, mergeRun)

const mergeRun = (a: RunAnswer, b: RunAnswer): RunAnswer => {
  const others = mergeRuns(a.other_runs ?? [], b.other_runs ?? [])
  return { ...b, teams: mergeTeams(a.teams, b.teams), ...(others.length === 0 ? {} : { other_runs: others }) }
}
