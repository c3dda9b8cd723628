// Making a failing scenario smaller: fewer faults, fewer tasks, fewer steps, as long as it breaks the same
// rule.
import { runSchedule } from './run.ts'
import type { Fault, Scenario, TaskOf } from './scenario.ts'
import type { Rule } from './watch.ts'

/** @param runsMax schedules that may be run for it */
export async function shrink(
  scenario: Scenario,
  rule: Rule,
  { runsMax = 400 }: { runsMax?: number } = {},
): Promise<Scenario> {
  let runs = 0
  const breaks = async (smaller: Scenario): Promise<boolean> => {
    if (runs >= runsMax) return false
    runs++
    return (await runSchedule(smaller)).violations.some((violation) => violation.rule === rule)
  }
  for (let smallest = scenario; ;) {
    const smaller = await firstOf(smallerThan(smallest), breaks)
    if (smaller === null) return smallest
    smallest = smaller
  }
}

async function firstOf(
  of: Iterable<Scenario>,
  holds: (one: Scenario) => Promise<boolean>,
): Promise<Scenario | null> {
  for (const one of of) if (await holds(one)) return one
  return null
}

function* smallerThan(scenario: Scenario): Iterable<Scenario> {
  const { tasks, faults, daemons } = scenario
  for (let i = 0; i < faults.length; i++) yield { ...scenario, faults: faults.toSpliced(i, 1) }
  for (let i = 0; i < tasks.length; i++) yield { ...scenario, tasks: tasks.toSpliced(i, 1) }
  const last = daemons.length - 1
  if (last > 0 && faults.every(({ daemon }) => daemon < last))
    yield { ...scenario, daemons: daemons.slice(0, last) }
  if (daemons.some(({ offsetMs }) => offsetMs !== 0))
    yield { ...scenario, daemons: daemons.map((each) => ({ ...each, offsetMs: 0 })) }
  if (scenario.slowMs > 0) yield { ...scenario, slowMs: 0 }
  for (const [i, task] of tasks.entries())
    for (const smaller of smallerTask(task)) yield { ...scenario, tasks: tasks.with(i, smaller) }
  for (const [i, fault] of faults.entries())
    for (const smaller of smallerFault(fault)) yield { ...scenario, faults: faults.with(i, smaller) }
}

function* smallerTask(task: TaskOf): Iterable<TaskOf> {
  const { plan } = task
  if (task.twice !== null) yield { ...task, twice: null }
  if (task.cancelAtMs !== null) yield { ...task, cancelAtMs: null }
  if (task.steerAtMs.length > 0) yield { ...task, steerAtMs: task.steerAtMs.slice(1) }
  if (task.session !== null) yield { ...task, session: null }
  if (plan.pauseMs > 0) yield { ...task, plan: { ...plan, pauseMs: 0 } }
  if (plan.approval) yield { ...task, plan: { ...plan, approval: false } }
  if (plan.client === true)
    yield { ...task, plan: { steps: plan.steps, approval: false, pauseMs: plan.pauseMs } }
  if (plan.steps > (plan.approval || plan.client === true ? 1 : 0))
    yield { ...task, plan: { ...plan, steps: plan.steps - 1 } }
  if (task.atMs > 0) yield { ...task, atMs: 0 }
}

function* smallerFault(fault: Fault): Iterable<Fault> {
  if (fault.lasts) yield { ...fault, lasts: false }
  if (fault.forMs > 50) yield { ...fault, forMs: 50 }
  if (fault.afterSteps > 0) yield { ...fault, afterSteps: fault.afterSteps >> 1 }
}
