// What the journal says, as a campaign needs it: one entry a task, folded message by message, live or from a
// second reading. It leaves the verdicts to check.ts, and those about single logs to @beaver/check. A message
// counts once, however often it is delivered. Nothing but compact facts is kept: a soak holds many tasks.
import { isTerminalTaskEvent, type LogId } from '@beaver/core'
import { splitBatch, type WireRecord } from '@beaver/core/journal'

export interface CallFacts {
  readonly tool: string
  started: boolean
  /** Whether its result is a success; `null`: it has none. */
  succeeded: boolean | null
}

export interface TaskLog {
  readonly id: LogId
  /** The type of its terminal event. */
  end: string | null
  failure: string | null
  /** The daemon that drives the task; `null`: nobody. */
  owner: string | null
  claims: number
  calls: Map<string, CallFacts>
  /** Ids of answers, with when the journal's writer had stored them at the latest. */
  answers: { responseId: string; time: number }[]
  /** Calls that wait for a person, as `<run>/<call>`. */
  asking: Set<string>
  types: string[]
  /** When the writer of each of `types` says that it happened. */
  times: number[]
}

export interface SeenEvent {
  readonly log: TaskLog
  readonly type: string
  readonly source: string
  readonly time: number
  readonly data: Readonly<Record<string, unknown>>
}

export interface Logs {
  readonly tasks: ReadonlyMap<string, TaskLog>
  /** @returns what was new */
  add(
    message: { sequence: number; log: LogId; payload: Uint8Array },
    onEvent?: (event: SeenEvent) => void,
  ): void
}

/** The events of a log, each with how many milliseconds after the first it happened. */
export const timesOf = ({ types, times }: TaskLog): string =>
  types.map((type, i) => `${type}@${(times[i] ?? 0) - (times[0] ?? 0)}`).join(' ')

const keyOf = ({ tenant, session, task }: LogId): string => `${tenant} ${session} ${task}`

export function collectLogs(): Logs {
  const tasks = new Map<string, TaskLog>()
  let last = 0
  return {
    tasks,
    add({ sequence, log: id, payload }, onEvent) {
      if (sequence <= last) return
      last = sequence
      const key = keyOf(id)
      const log = tasks.get(key) ?? emptyLog(id)
      tasks.set(key, log)
      for (const record of splitBatch(payload)) fold(log, record, onEvent)
    },
  }
}

const emptyLog = (id: LogId): TaskLog => ({
  id,
  end: null,
  failure: null,
  owner: null,
  claims: 0,
  calls: new Map(),
  answers: [],
  asking: new Set(),
  types: [],
  times: [],
})

function fold(log: TaskLog, record: WireRecord, onEvent?: (event: SeenEvent) => void): void {
  const type = /^beaver\.(.+)\.v\d+$/.exec(record.type)?.[1] ?? record.type
  const data = (record.data ?? {}) as Record<string, unknown>
  log.types.push(type)
  log.times.push(Date.parse(record.time))
  foldTaskEvent(log, type, data)
  foldRunEvent(log, type, data, record)
  onEvent?.({ log, type, source: record.source, time: Date.parse(record.time), data })
}

function foldTaskEvent(log: TaskLog, type: string, data: Record<string, unknown>): void {
  if (isTerminalTaskEvent(type)) {
    log.end ??= type
    log.owner = null
    log.failure ??=
      (data['failure'] as { class?: string; message?: string } | null | undefined)?.class ?? null
  } else if (type === 'task_claimed') {
    log.owner = String(data['daemon'])
    log.claims++
  } else if (type === 'task_released' || type === 'task_suspended') log.owner = null
}

function foldRunEvent(log: TaskLog, type: string, data: Record<string, unknown>, record: WireRecord): void {
  const callKey = `${record.runid ?? ''}/${String(data['call_id'])}`
  if (type === 'tool_call_started')
    log.calls.set(callKey, { tool: String(data['tool_name']), started: true, succeeded: null })
  else if (type === 'tool_result_recorded') {
    const call = record.data === undefined ? pendingCall(log, record.runid ?? '') : log.calls.get(callKey)
    if (call !== undefined && call !== null)
      call.succeeded = record.data === undefined || data['success'] === true
  } else if (type === 'assistant_message_added') {
    if (typeof data['response_id'] === 'string')
      log.answers.push({ responseId: data['response_id'], time: Date.parse(record.time) })
  } else if (type === 'approval_requested') log.asking.add(callKey)
  else if (type === 'approval_granted' || type === 'approval_denied') log.asking.delete(callKey)
}

/** A result that is a blob does not say which call it is of: the one of its run that waits for a result. */
function pendingCall(log: TaskLog, run: string): CallFacts | null {
  for (const [key, facts] of log.calls)
    if (key.startsWith(`${run}/`) && facts.started && facts.succeeded === null) return facts
  return null
}
