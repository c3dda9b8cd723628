// The rules of a tool call: it is requested, approved if necessary, started, and settled with one result. The
// calls of a run are those of its last answer. The calls of earlier answers are settled.
import type { CheckedEvent } from './event.ts'
import type { Report } from './rules.ts'
import { type Call, newCall, type Run } from './trail.ts'

export const callIsOpen = (call: Call): boolean => !call.settled

export function takeCalls(run: Run, ids: readonly string[]): void {
  run.calls.clear()
  for (const id of ids) run.calls.set(id, newCall())
}

export function judgeCall(run: Run, event: CheckedEvent, runId: string, report: Report): void {
  switch (event.type) {
    case 'approval_requested':
    case 'approval_granted':
    case 'approval_denied':
    case 'question_asked':
    case 'question_answered':
    case 'tool_call_started':
    case 'tool_result_recorded':
      break
    default:
      return
  }
  const callId = event.data.call_id
  const name = `the call ${callId} of the run ${runId}`
  const call = run.calls.get(callId)
  if (call === undefined)
    return report('call_unasked', `${event.type} belongs to ${name}, which nobody asked for`)
  switch (event.type) {
    case 'approval_requested':
      if (call.approval !== null) report('approval_once', `an approval of ${name} is requested a second time`)
      call.approval ??= 'requested'
      return
    case 'approval_granted':
      if (event.data.arguments !== undefined && !isObjectText(event.data.arguments))
        report('edit_form', `${name} was granted with arguments that are no JSON object`)
      return decide(call, 'granted', name, report)
    case 'approval_denied':
      return decide(call, 'denied', name, report)
    case 'question_asked':
      return asks(call, event.data.question_index, name, report)
    case 'question_answered':
      return answers(call, event.data.question_index, name, report)
    case 'tool_call_started':
      return start(call, event.data.idempotent, name, report)
    case 'tool_result_recorded':
      return settle(run, call, event.data, name, report)
    default:
      return event satisfies never
  }
}

function decide(call: Call, decision: 'granted' | 'denied', name: string, report: Report): void {
  if (call.approval === null)
    report('approval_unasked', `${name} was ${decision}, and no approval of it had been requested`)
  else if (call.approval !== 'requested')
    return report('approval_once', `${name} was ${decision}, after it had been ${call.approval}`)
  call.approval = decision
}

function asks(call: Call, index: number, name: string, report: Report): void {
  if (!call.started || call.settled)
    report('question_order', `${name} asks question ${index} and is not under way`)
  if (index !== call.asked || !call.answered)
    report(
      'question_order',
      `${name} asks question ${index} after ${call.asked}, of which the last is ${call.answered ? '' : 'not '}answered`,
    )
  call.asked = index + 1
  call.answered = false
}

function answers(call: Call, index: number, name: string, report: Report): void {
  if (call.answered || index !== call.asked - 1)
    report('question_order', `question ${index} of ${name} is answered, and it does not wait`)
  if (index === call.asked - 1) call.answered = true
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function start(call: Call, idempotent: boolean, name: string, report: Report): void {
  if (call.approval === 'denied') report('denied_started', `${name} started, after it had been denied`)
  if (call.approval === 'requested') report('denied_started', `${name} started before anybody granted it`)
  if (call.settled) report('call_start_once', `${name} started after it had its result`)
  else if (call.started && !(call.idempotent && idempotent))
    report('call_start_once', `${name} started a second time, and its tool is not idempotent`)
  call.started = true
  call.idempotent = idempotent
}

function settle(
  run: Run,
  call: Call,
  { success }: { readonly success: boolean },
  name: string,
  report: Report,
): void {
  if (call.settled) return report('result_once', `${name} has a second result`)
  if (success && !call.started) report('call_unstarted', `${name} succeeded, and it never started`)
  call.settled = true
  if (![...run.calls.values()].some(callIsOpen)) run.due = true
}
