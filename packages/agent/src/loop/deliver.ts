// Delivers a team's text to the user: it becomes the answer of the task, word for word, without another call
// of a model (D-61). Pure. The result of the call, the answer and the end of the run are recorded together.
// No crash comes between them. Only a complete team with a text is delivered, and only if its call is the
// only one of its answer. In all other cases the root goes on with the result, which says why.
import { type DomainEvent, event, faultsText, noUsage, type RunState, teamRunId } from '@beaver/core'
import type { TeamResult } from './loop-spec.ts'
import { finalEvents } from './run-ends.ts'

/** The `finish_reason` of an answer that is a team's text. */
const deliveredFinish = 'delivered'

/** Why the text is not delivered. `null` if it can be. */
export function deliveryFault(
  run: RunState,
  team: TeamResult,
  isTool: (name: string) => boolean,
): string | null {
  if (team.outcome !== 'complete')
    return `The team is not complete (${team.outcome}), so you go on with its result.`
  if (run.calls.length !== 1) return 'The answer had other calls, so you go on with all results.'
  const [end] = finalEvents(run, answerOf(team), isTool)
  if (end?.type === 'output_rejected')
    return `The text does not fit the JSON Schema of the answer (${faultsText(end.data.faults)}), so write the answer from it.`
  return end?.type === 'run_failed' ? `The text cannot be an answer: ${end.data.failure.message}` : null
}

/**
 * The answer and the end of the run, which follow the result of the call. @param found the facts that come
 * before the end
 */
export function deliveryEvents(
  run: RunState,
  team: TeamResult,
  isTool: (name: string) => boolean,
  found: readonly DomainEvent[] = [],
): DomainEvent[] {
  const answer = event(
    'assistant_message_added',
    {
      content: team.final_output,
      tool_calls: [],
      finish_reason: deliveredFinish,
      usage: noUsage,
      provider_name: run.provider ?? '',
      model: run.model ?? '',
      response_id: null,
      duration_ms: 0,
      delivered_from: teamRunId.parse(team.team_run_id),
    },
    run.start.run_id,
  )
  return [answer, ...found, ...finalEvents(run, answerOf(team), isTool)]
}

const answerOf = ({ final_output }: TeamResult) => ({
  content: final_output,
  finishReason: deliveredFinish,
  usage: noUsage,
})
