// The rules of a run and its calls: it starts and ends once, and each state of its conversation has one
// answer.
import type { CheckedEvent } from './event.ts'
import type { Report } from './rules.ts'
import { type Call, newCall, newRun, type Run, type Trail } from './trail.ts'

type RunEnd = 'run_completed' | 'run_failed' | 'run_cancelled'
const endOf: ReadonlyMap<string, Run['status']> = new Map([
  ['run_completed', 'completed'],
  ['run_failed', 'failed'],
  ['run_cancelled', 'cancelled'],
] satisfies [RunEnd, Run['status']][])

export function judgeRun(trail: Trail, event: CheckedEvent, report: Report): void {
  if (event.type === 'run_started') return startRun(trail, event, report)
  const { runId, type } = event
  if (runId === null) return
  const run = trail.runs.get(runId)
  const end = endOf.get(type)
  if (run === undefined) return judgeUnstarted(trail, event, runId, report)
  if (run.status !== 'open') {
    if (end === undefined)
      report('run_after_end', `${type} follows the end of the run ${runId}, which ${run.status}`)
    else report('run_end_once', `${type} ends the run ${runId}, which had ${run.status} before`)
    return
  }
  if (end !== undefined) return endRun(run, runId, end, report)
  if (event.type === 'user_message_added') judgeSteer(trail, event.data.steer_request_id, runId, report)
  judgeConversation(run, event, runId, report)
  judgeCall(run, event, runId, report)
}

function startRun(
  trail: Trail,
  { runId, data }: Extract<CheckedEvent, { type: 'run_started' }>,
  report: Report,
): void {
  if (runId !== data.run_id)
    report('run_once', `the run ${data.run_id} starts in an event of the run ${runId ?? 'none'}`)
  if (trail.runs.has(data.run_id)) return report('run_once', `the run ${data.run_id} starts a second time`)
  trail.runs.set(data.run_id, newRun())
  const place = data.team_run_id === null ? undefined : `${data.team_run_id} ${data.node_id ?? ''}`
  if (trail.nodeRuns.get(data.run_id) !== place)
    report('run_once', `the run ${data.run_id} starts, and no node was started with it`)
}

/** The supervisor records the failure of a run whose thread was lost before the run wrote anything. */
function judgeUnstarted(trail: Trail, { type }: CheckedEvent, runId: string, report: Report): void {
  if (type !== 'run_failed')
    return report('run_unstarted', `${type} belongs to the run ${runId}, which has not started`)
  trail.runs.set(runId, { ...newRun(), status: 'failed' })
}

function endRun(run: Run, runId: string, end: Run['status'], report: Report): void {
  // A run that was stopped may leave open calls. A run that completed has the result of each call.
  if (end === 'completed') {
    for (const [callId, call] of run.calls)
      if (!call.settled)
        report('call_unsettled', `the run ${runId} completed, and its call ${callId} has no result`)
  }
  run.status = end
  run.calls.clear()
}

function judgeSteer(trail: Trail, requestId: string | undefined, runId: string, report: Report): void {
  if (requestId === undefined) return
  const steer = trail.steers.get(requestId)
  if (steer === undefined)
    report('steer_once', `the run ${runId} was given the text of ${requestId}, which nobody requested`)
  if (steer === 'given')
    report('steer_once', `the run ${runId} was given the text of ${requestId} a second time`)
  trail.steers.set(requestId, 'given')
}

function judgeConversation(run: Run, event: CheckedEvent, runId: string, report: Report): void {
  switch (event.type) {
    case 'user_message_added':
      run.due = true
      return
    case 'output_rejected':
      if (run.due || run.rejected)
        report(
          'answer_once',
          `the answer of the run ${runId} is refused ${run.rejected ? 'a second time' : 'before it came'}`,
        )
      run.rejected = true
      run.due = true
      return
    case 'skill_selection_recorded':
      if (run.skillsChosen) report('answer_once', `the model chose skills for the run ${runId} a second time`)
      run.skillsChosen = true
      return
    case 'assistant_message_added': {
      const ids = event.data.tool_calls.map((call) => call.id)
      if (!run.due) judgeAnswer(run, ids, runId, report)
      run.due = false
      return takeCalls(run, ids)
    }
    case 'tool_call_requested':
      return takeCalls(run, [event.data.call.id])
    default:
  }
}

/** Checks an answer that was not due: the state was answered twice, or results of calls are missing. */
function judgeAnswer(run: Run, ids: readonly string[], runId: string, report: Report): void {
  const open = [...run.calls].filter(([, call]) => callIsOpen(call))
  const goesOn =
    open.some(([, call]) => call.started || call.approval !== null) && !ids.some((id) => run.calls.has(id))
  if (!goesOn)
    return report(
      'answer_once',
      `the model answered a second time in the run ${runId}, and nothing had been said to it since`,
    )
  for (const [callId] of open)
    report('call_unsettled', `the run ${runId} goes on, and its call ${callId} has no result`)
}

// The rules of a tool call: it is requested, approved if necessary, started, and settled with one result. The
// calls of a run are those of its last answer; earlier ones are settled.

const callIsOpen = (call: Call): boolean => !call.settled

function takeCalls(run: Run, ids: readonly string[]): void {
  run.calls.clear()
  for (const id of ids) run.calls.set(id, newCall())
}

function judgeCall(run: Run, event: CheckedEvent, runId: string, report: Report): void {
  switch (event.type) {
    case 'approval_requested':
    case 'approval_granted':
    case 'approval_denied':
    case 'question_asked':
    case 'question_answered':
    case 'client_call_requested':
    case 'client_call_answered':
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
    case 'client_call_requested':
      return goesToClient(call, name, report)
    case 'client_call_answered':
      return clientAnswers(call, name, report)
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

function goesToClient(call: Call, name: string, report: Report): void {
  if (!call.started || call.settled)
    report('client_call_once', `${name} goes to the client and is not under way`)
  if (call.client !== null) report('client_call_once', `${name} goes to the client a second time`)
  call.client ??= 'asked'
}

function clientAnswers(call: Call, name: string, report: Report): void {
  if (call.client === null) report('client_call_once', `the client answers ${name}, which is not with it`)
  if (call.client === 'answered') report('client_call_once', `the client answers ${name} a second time`)
  if (call.settled) report('client_call_once', `the client answers ${name}, which has its result`)
  call.client = 'answered'
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
  if (success && call.client === 'asked')
    report('client_call_once', `${name} succeeded, and the client has not answered it`)
  if (success && !call.started) report('call_unstarted', `${name} succeeded, and it never started`)
  call.settled = true
  if (![...run.calls.values()].some(callIsOpen)) run.due = true
}
