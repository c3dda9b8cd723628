// Decides how a run ends: completed with a valid answer, otherwise failed with what stopped it. An answer
// that is empty, cut off, refused or forced is no success (D-35, SCH-07). One that does not fit the run's
// JSON Schema is asked for again once. An end counts the usage of its answer.
import { addUsage, type DataOf, type DomainEvent, event, noUsage, type Usage } from '@beaver/core'
import { faultsText, judgeOutput } from '@beaver/core/evidence'
import { mustCall, type RunState } from '@beaver/core/fold'
import type { Failure } from '@beaver/core/supervision'
import { counted, excerpt } from '@beaver/core/task-view'
import type { ChatAnswer } from '../provider/chat-provider.ts'
import { failedData, type GivenUp } from './ask-provider.ts'
import { finishMeaning } from '../provider/finish-reason.ts'
import { rawToolCall } from './raw-tool-call.ts'

/** The `finish_reason` of an answer that was requested after the tool iterations were used up. */
export const forcedFinish = 'max_tool_iterations_finalized'

/** How an answer failed that ended with this reason, or `null` if it did not. */
function failedFinish(reason: string): Failure | null {
  if (reason === forcedFinish)
    return {
      class: 'iterations_exhausted',
      message: 'The answer was forced when the tool iterations were used up',
    }
  const meaning = finishMeaning(reason)
  if (meaning === 'refused') return { class: 'refusal', message: 'The model refused to answer' }
  return meaning === 'cut'
    ? { class: 'output_truncated', message: 'The answer was cut off at the token limit' }
    : null
}

/**
 * Returns how a run ends with an answer without tool calls. The answer is no success if it was refused, cut
 * off or forced, if it is empty (D-35), if it is a tool call written as text (D-42), or if it does not fit
 * the JSON Schema of the run. In the last case the run may go on with `output_rejected`.
 */
export function finalEvents(
  run: RunState,
  answer: Pick<ChatAnswer, 'content' | 'finishReason' | 'usage'>,
  isTool: (name: string) => boolean,
): DomainEvent[] {
  const { usage } = answer
  const content = answer.content ?? ''
  const failed = failedFinish(answer.finishReason)
  if (failed !== null)
    return failWith(
      run,
      { ...failed, message: `${failed.message} (finish_reason ${answer.finishReason}).` },
      usage,
    )
  if (mustCall(run)) return withoutCall(run, usage)
  if (content.trim() === '')
    return failWith(
      run,
      {
        class: 'empty_output',
        message: `The model gave an empty answer (finish_reason ${answer.finishReason}).`,
      },
      usage,
    )
  const judged = run.start.output_schema === undefined ? null : judgeOutput(run.start.output_schema, content)
  const completed = event(
    'run_completed',
    {
      finish_reason: answer.finishReason,
      tool_iterations: run.toolIterations,
      usage: addUsage(run.usage, usage),
    },
    run.start.run_id,
  )
  // JSON of the schema may look like a call.
  if (judged?.kind === 'fits') return [completed]
  const call = rawToolCall(content, isTool)
  if (call !== null)
    return failWith(
      run,
      {
        class: 'malformed_output',
        message: `The final answer is ${call}, written as text: no tool was called and there is no result.`,
      },
      usage,
    )
  if (judged === null) return [completed]
  if (run.outputsRejected === 0)
    return [event('output_rejected', { faults: [...judged.faults] }, run.start.run_id)]
  return failWith(
    run,
    {
      class: 'output_invalid',
      message: `The answer does not fit its JSON Schema, also after it was asked for again: ${faultsText(judged.faults)}.`,
    },
    usage,
  )
}

/** The task asks for a call of a tool, and the answer has none. The model is asked once more. */
function withoutCall(run: RunState, usage: Usage): DomainEvent[] {
  if (run.outputsRejected === 0) {
    const faults = [{ path: '', message: 'must call a tool' }]
    return [event('output_rejected', { faults, must_call: true }, run.start.run_id)]
  }
  const { tools: choice } = run.choice
  const which =
    choice !== null && typeof choice === 'object' && 'names' in choice
      ? `one of ${choice.names.join(', ')}`
      : 'a tool'
  return failWith(
    run,
    {
      class: 'tool_choice_unmet',
      message: `A call of ${which} is asked for first, and the model made none, also after it was asked again.`,
    },
    usage,
  )
}

/** Returns how the run of a tool node ends after its one call has this result. */
export function afterToolNode(
  run: RunState,
  { success, tool_name, content, error }: DataOf<'tool_result_recorded'>,
): DomainEvent[] {
  if (success)
    return [
      event(
        'run_completed',
        { finish_reason: 'stop', tool_iterations: 0, usage: run.usage },
        run.start.run_id,
      ),
    ]
  const message = content.length > 1000 ? `${content.slice(0, 1000)}…` : content
  return failWith(run, {
    class: error === 'tool_timeout' ? 'tool_timeout' : 'tool_crash',
    message: `The tool ${tool_name} failed: ${message}`,
  })
}

/**
 * Ends a run whose provider call failed for good. `last` is the try that is not recorded yet, `error` is what
 * the run fails with.
 */
export function providerFailed(run: RunState, { error, tries, waitedMs, last }: GivenUp): DomainEvent[] {
  const waited = tries > 1 ? ` (tried ${tries} times${waitedFor(waitedMs)})` : ''
  return [
    event('provider_call_failed', failedData(last, { tries, retry_in_ms: null }), run.start.run_id),
    ...failWith(run, { class: error.class, message: `${error.message}${waited}` }, last.error.paid?.usage),
  ]
}

/** Long waits are mentioned, because people want to know what took so long. */
function waitedFor(ms: number): string {
  if (ms < 10_000) return ''
  return ms < 120_000 ? ` in ${Math.round(ms / 1_000)} s` : ` in ${Math.round(ms / 60_000)} minutes`
}

const whereNamed = { profile: 'its file', skill: 'the folder that contains it', model: 'it' } as const

/** The daemon that accepted the task may have other profiles and skills than this one. */
export function notLoaded(run: RunState, what: keyof typeof whereNamed, name: string): DomainEvent[] {
  const message = `The ${what} ${JSON.stringify(name)} is not loaded by the daemon that runs this task. Name ${whereNamed[what]} in "${what}s" of that daemon's configuration.`
  return failWith(run, { class: 'invalid_configuration', message })
}

/**
 * Ends a run whose forced answer is no answer either.
 *
 * @param usage the usage of that answer
 */
export function iterationsExhausted(run: RunState, usage: Usage): DomainEvent[] {
  const message = `The run used all of its ${run.start.max_tool_iterations} tool iterations without a final answer.`
  return failWith(run, { class: 'iterations_exhausted', message }, usage)
}

/** Ends a run whose next call has no place in a budget. */
export const refusedByBudget = (run: RunState, failure: Failure): DomainEvent[] => failWith(run, failure)

/** Ends a run that did the same as often in a row as it may. Its model is not asked again. */
export function noProgress(run: RunState): DomainEvent[] {
  const { times, turn } = run.sameTurns
  const calls = turn?.calls ?? []
  const names = [...new Set(calls.map(({ name }) => excerpt(name, nameCharsMax)))]
  const shown = names.slice(0, namesMax).join(', ')
  const more = names.length > namesMax ? ` and ${counted(names.length - namesMax, 'more tool')}` : ''
  const [made, outcome] =
    calls.length === 1
      ? ['call', calls.some(({ success }) => success) ? 'it had the same result' : 'it failed']
      : ['calls', calls.some(({ success }) => success) ? 'they had the same results' : 'they failed']
  const { input_tokens, output_tokens, calls: asked } = run.usage
  const message = `The run makes no progress: its model made the same ${made} of ${shown}${more} in ${counted(times, 'answer')} in a row, and each time ${outcome}. So far the run used ${counted(input_tokens + output_tokens, 'token')} in ${counted(asked, 'call')} of models. Retry the task and tell its agent what to do instead, change what the task asks for, or raise "repeats_max".`
  return failWith(run, { class: 'no_progress', message })
}

const namesMax = 3
const nameCharsMax = 100

export function runCancelled(run: RunState, reason: string): DomainEvent {
  return event(
    'run_cancelled',
    { reason, tool_iterations: run.toolIterations, usage: run.usage },
    run.start.run_id,
  )
}

function failWith(run: RunState, failure: Failure, usage = noUsage): DomainEvent[] {
  return [
    event(
      'run_failed',
      { failure, tool_iterations: run.toolIterations, usage: addUsage(run.usage, usage) },
      run.start.run_id,
    ),
  ]
}
