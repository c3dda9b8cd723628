// What a task ends with, decided from how its root ended and what its last team gave. Pure.
// N1. Never a silent success: an empty final output is not `completed`; neither is a task whose team is not complete (D-35).
import { type DomainEvent, event, type Failure, type TaskResult, type Usage } from '@beaver/core'
import type { LoopEnd, TeamResult } from '@beaver/agent'

const simulatedProvider = 'simulated'

export function taskEnd(root: LoopEnd, team: TeamResult | null, usage: Usage): DomainEvent {
  const result = (failure: Failure | null): TaskResult => ({
    final_output: root.status === 'completed' ? root.facts.outputText : '',
    outputs: team === null ? [] : team.outputs.map((each) => ({ ...each })),
    usage,
    provider: root.provider,
    model: root.model,
    simulated: root.provider === simulatedProvider,
    failure,
  })
  if (root.status === 'cancelled') return event('task_cancelled', result(root.failure))
  if (root.status === 'failed') return event('task_failed', result(root.failure))
  if (root.facts.outputText.trim() === '') return event('task_failed', result({ class: 'empty_output', message: 'The final answer is empty.' }))
  if (team !== null && team.outcome !== 'complete') return event('task_incomplete', result(teamFailure(team)))
  return event('task_completed', result(null))
}

/** The first failed node's class stands for the team's; the message names them all. */
function teamFailure(team: TeamResult): Failure {
  const [first] = team.failures
  const reasons = team.failures.map(({ node_id, failure }) => `${node_id}: ${failure.message}`)
  return { class: first?.failure.class ?? 'cancelled', message: [team.message ?? 'The team did not complete', ...reasons].join('. ') }
}
