// Says when another try can never help a task: its log does not verify, an append can never be stored, or a
// stranger wrote into its log (docs/ARCHITECTURE.md).
import { BeaverError, type LogId } from '@beaver/core'

/** Whether another try can never help: what the task would write does not fit, or its log cannot be read. */
export function isFinalFault(error: unknown): error is BeaverError {
  const code = (error as { code?: unknown }).code
  return code === 'too_large' || code === 'corrupt_journal'
}

/** Whether the log of a task does not verify. Then nobody may act on it. */
export function isUnverified(error: unknown): error is BeaverError {
  const code = (error as { code?: unknown }).code
  return code === 'corrupt_journal' || code === 'untrusted_record'
}

/** The reason for giving up a task because a stranger wrote into its log. */
export function foreignText(messages: number): string {
  const what = messages === 1 ? 'a message that is no record' : `${messages} messages that are no records`
  return (
    `The log of the task contains ${what}. Somebody who is no daemon can write to the journal, so Beaver gave up on the task. ` +
    '"beaver quarantine" shows the message. "beaver retry" keeps what the task completed.'
  )
}

/** The fault of a log in which a stranger's message follows what the task's daemon wrote. */
export function foreignMessage(log: LogId, revision: number): BeaverError {
  return new BeaverError(
    'corrupt_journal',
    `Message ${revision} of the journal is no record, and it lies in the log of task ${log.task}. ${foreignText(1)}`,
  )
}
