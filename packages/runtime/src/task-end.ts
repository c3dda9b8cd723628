// Decides what a task ends with, from how its root ended and from the result of its last team. Pure.
// N1. Success is never silent: a task with an empty final output does not complete, and neither does one whose team is incomplete (D-35).
import { cleanTaint, type DomainEvent, event, type Failure, isUnlabelled, joinTaints, noUsage, type TaskResult, type Usage } from '@beaver/core'
import type { LoopEnd, TeamRefusal, TeamResult } from '@beaver/agent'

const simulatedProvider = 'simulated'

export function taskEnd(root: LoopEnd, team: TeamResult | null, usage: Usage): DomainEvent {
  const taint = joinTaints([root.taint ?? cleanTaint, team?.taint ?? cleanTaint])
  const result = (failure: Failure | null): TaskResult => ({
    final_output: root.status === 'completed' ? root.facts.outputText : '',
    outputs: team === null ? [] : team.outputs.map((each) => ({ ...each })),
    usage,
    provider: root.provider,
    model: root.model,
    simulated: root.provider === simulatedProvider,
    failure,
    ...(isUnlabelled(taint) ? {} : { taint }),
  })
  if (root.status === 'cancelled') return event('task_cancelled', result(root.failure))
  if (root.status === 'failed') return event('task_failed', result(root.failure))
  if (team !== null && team.outcome !== 'complete') return event('task_incomplete', result(teamFailure(team)))
  if (root.facts.outputText.trim() === '') return event('task_failed', result({ class: 'empty_output', message: 'The final answer is empty.' }))
  return event('task_completed', result(null))
}

/** How a task that is a workflow ended, told like the end of a root run. What did not complete keeps what there is. */
export function workflowEnd(team: TeamResult | TeamRefusal, of: { cancelled: string | null } & Pick<LoopEnd, 'provider' | 'model'>): LoopEnd {
  const facts = (outputText: string): LoopEnd['facts'] => ({ outputText, outputSeq: 0, tools: [] })
  const { provider, model } = of
  if ('refused' in team)
    return { status: 'failed', facts: facts(''), failure: { class: 'internal', message: team.refused.message }, usage: noUsage, provider, model }
  if (of.cancelled !== null && team.outcome === 'cancelled')
    return { status: 'cancelled', facts: facts(team.final_output), failure: { class: 'cancelled', message: of.cancelled }, usage: noUsage, provider, model }
  return { status: 'completed', facts: facts(team.final_output), failure: null, usage: noUsage, provider, model }
}

/** The first failed node's class stands for the team's; the message names them all. */
function teamFailure(team: TeamResult): Failure {
  if (team.stopped !== null) return { class: team.stopped.class, message: sentences([team.stopped.message, ...(team.message === null ? [] : [team.message])]) }
  const [first] = team.failures
  const reasons = team.failures.map(({ node_id, failure }) => `${node_id}: ${failure.message}`)
  return { class: first?.failure.class ?? 'cancelled', message: sentences([team.message ?? 'The team did not complete', ...reasons]) }
}

/** Parts that may end with a full stop or not, one after the other. */
const sentences = (parts: readonly string[]): string => parts.map((part, i) => (i < parts.length - 1 ? part.replace(/\.$/, '') : part)).join('. ')
