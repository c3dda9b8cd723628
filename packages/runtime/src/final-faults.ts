// Says when trying again can never help a task. A log that does not verify, and an append that can never be
// stored, do not become better. A task into whose log a stranger wrote is given up (docs/ARCHITECTURE.md).
import { BeaverError, type LogId } from '@beaver/core'

/** Whether trying again can never help: what the task would write does not fit, or its log cannot be read. */
export function isFinalFault(error: unknown): error is BeaverError {
  const code = (error as { code?: unknown }).code
  return code === 'too_large' || code === 'corrupt_journal'
}

/** Whether the log of a task does not verify. Nobody may act on it, and trying again does not help. */
export function isUnverified(error: unknown): error is BeaverError {
  const code = (error as { code?: unknown }).code
  return code === 'corrupt_journal' || code === 'untrusted_record'
}

/** Why a task is given up into whose log a stranger wrote. */
export function foreignText(messages: number): string {
  const what = messages === 1 ? 'a message that is no record' : `${messages} messages that are no records`
  return (
    `The log of the task contains ${what}. Somebody who is no daemon can write to the journal, so Beaver gave up on the task. ` +
    '"beaver quarantine" shows the message. "beaver retry" keeps what the task completed.'
  )
}

/** A stranger's message lies in the log of a task, behind what the task's daemon wrote. */
export function foreignMessage(log: LogId, revision: number): BeaverError {
  return new BeaverError(
    'corrupt_journal',
    `Message ${revision} of the journal is no record, and it lies in the log of task ${log.task}. ${foreignText(1)}`,
  )
}
