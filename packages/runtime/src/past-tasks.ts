// What earlier tasks of a session asked and answered, from the first and the last entry of their logs.
// P1. Two reads a task, however long its log is; none for a task that is kept. P2. An ended task never changes, so what it said is
//     kept: the newest used, at most `tasksMax` and `charsMax` characters. P3. What is read is verified; what lies between is the audit's.
import {
  BeaverError,
  type BlobStore,
  blobOf,
  chainFault,
  emptyHead,
  type Entry,
  headAfter,
  isTerminalTaskEvent,
  type Journal,
  type LogHead,
  type LogId,
  logKey,
  openRecord,
  type RecordedEvent,
  splitBatch,
  type TaskId,
  type TaskResult,
  visibleAnswer,
  type WireRecord,
} from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { loadTask } from './load-task.ts'

export interface PastTask {
  /** The task before it in the session. */
  readonly previous: TaskId | null
  readonly said: string
  /** What it ended with, or why without an answer; empty when it has not ended. */
  readonly answered: string
  /** Of both; where it is more than `saidCharsMax`, they are empty. */
  readonly chars: number
  /** The turn it took, with its workflow's name; `null` for none (D-48). */
  readonly turn: string | null
  /** The task it retries: what that one said is said again. */
  readonly retryOf: TaskId | null
}

export interface PastTasks {
  /** `null`: there is no such log. @throws {BeaverError} `corrupt_journal`, `blob_missing` */
  read(log: LogId): Promise<PastTask | null>
}

export interface PastTaskPorts {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly findWorkflow: (name: string) => Workflow | null
}

/** No history shows more. */
export const saidCharsMax = 100_000

export function pastTasks(ports: PastTaskPorts, { tasksMax = 10_000, charsMax = 20_000_000 }: { tasksMax?: number; charsMax?: number } = {}): PastTasks {
  const kept = new Map<string, PastTask>()
  let chars = 0
  const weightOf = (task: PastTask): number => task.said.length + task.answered.length + (task.turn?.length ?? 0)

  function forget(key: string): void {
    const task = kept.get(key)
    if (task === undefined) return
    kept.delete(key)
    chars -= weightOf(task)
  }

  function keep(key: string, task: PastTask): void {
    forget(key)
    kept.set(key, task)
    chars += weightOf(task)
    while (kept.size > tasksMax || chars > charsMax) forget(kept.keys().next().value as string)
  }

  return {
    async read(log) {
      const key = logKey(log)
      const known = kept.get(key)
      if (known !== undefined) {
        kept.delete(key) // to the end: it was used last
        kept.set(key, known)
        return known
      }
      const [first, last] = await Promise.all([ports.journal.first(log), ports.journal.last(log)])
      if (first === null || last === null) return null
      const submitted = await opened(log, recordsOf(log, first, emptyHead)[0], ports)
      const end = await ended(log, last, ports)
      const task = pastTask(log, submitted, end, ports)
      if (end !== null) keep(key, task)
      return task
    },
  }
}

function pastTask(log: LogId, submitted: RecordedEvent, end: TaskResult | null, { findWorkflow }: PastTaskPorts): PastTask {
  if (submitted.type !== 'task_submitted') throw new BeaverError('corrupt_journal', `The log of task ${log.task} begins with ${submitted.type}.`)
  const { task_id, session_id, tenant, previous_task_id: previous, request } = submitted.data
  if (task_id !== log.task || session_id !== log.session || tenant !== log.tenant) {
    throw new BeaverError('corrupt_journal', `The log of task ${log.task} holds the events of task ${task_id}.`)
  }
  const workflow = request.workflow === undefined ? null : findWorkflow(request.workflow.name)
  const key = workflow?.turnKey?.(request.workflow?.arguments) ?? null
  const turn = workflow === null || key === null ? null : turnOf(workflow.name, key)
  const answered = end === null ? '' : visibleAnswer(end)
  const chars = request.text.length + answered.length
  const retryOf = request.retry_of ?? null
  return chars > saidCharsMax ? { previous, said: '', answered: '', chars, turn, retryOf } : { previous, said: request.text, answered, chars, turn, retryOf }
}

export const turnOf = (workflow: string, key: string): string => `${workflow}\u0000${key}`

/** What the task ended with; `null` when it has not. */
async function ended(log: LogId, last: Entry, ports: PastTaskPorts): Promise<TaskResult | null> {
  const records = splitBatch(last.payload)
  const before = records[0] as WireRecord
  const event = await opened(log, recordsOf(log, last, { taskseq: before.taskseq - 1, epoch: before.epoch, hash: before.prevhash }).at(-1), ports)
  // Whatever was written after a terminal event, it ended the task.
  return isTerminalTaskEvent(event.type) ? (event.data as TaskResult) : ((await loadTask(log, ports)).state.ended?.data ?? null)
}

function recordsOf(log: LogId, entry: Entry, from: LogHead): WireRecord[] {
  let head = from
  const records = splitBatch(entry.payload)
  for (const record of records) {
    const fault = chainFault(head, record)
    if (fault !== null) throw new BeaverError('corrupt_journal', `The log of task ${log.task} is broken: ${fault}.`)
    head = headAfter(record)
  }
  return records
}

async function opened(log: LogId, record: WireRecord | undefined, { blobs }: PastTaskPorts): Promise<RecordedEvent> {
  if (record === undefined) throw new BeaverError('corrupt_journal', `An entry of the log of task ${log.task} is empty.`)
  const blob = blobOf(record)
  return openRecord(record, blob === null ? undefined : Buffer.from(await blobs.get(blob)).toString())
}
