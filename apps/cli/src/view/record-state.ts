// What a screen may say about the record of a task. The claim is checked when it is made: the projector reads
// the task's log again from the journal, builds the rows anew and compares them with the ones that it shows.
// "verified" stands only beside a record that was compared just now, in a journal from which nothing
// acknowledged is missing.
import type { QueryOutput, TaskAnswer } from '@beaver/contracts'
import { messageOf } from '@beaver/core'
import type { Answers } from '../system/answers-from-file.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import type { Style } from '../text/style.ts'

/**
 * - `verified`: the record is as it was written. - `broken`: a record does not follow the one before it.
 * - `changed`: what is shown is not what the journal has now, or the journal is not as it was. - `unknown`:
 * nobody could compare.
 */
export interface RecordState {
  readonly state: 'verified' | 'broken' | 'changed' | 'unknown'
  /** Why it is not verified, in whole sentences. */
  readonly messages: readonly string[]
}

/** Findings about other tasks and about how the journal is stored say nothing about this one. */
const beside = new Set(['rows_differ'])

export async function recordState(
  { client }: Answers,
  { task, chain_ok: chainOk, findings }: TaskAnswer,
): Promise<RecordState> {
  let audit: QueryOutput<'audit'>
  try {
    const { task_id, session_id } = task
    audit = await client.query('audit', { task_id, session_id, verify: true, limit: 1 })
  } catch (error) {
    return { state: 'unknown', messages: [`It could not be compared with the journal. ${messageOf(error)}`] }
  }
  const { verified, journal } = audit
  const differs = verified?.differs.flatMap(({ messages }) => messages) ?? []
  const whole = journal.filter(({ kind }) => !beside.has(kind))
  const messages = [...differs, ...whole.map(({ message }) => message)]
  if (!chainOk)
    return {
      state: 'broken',
      messages: [
        ...findings.map(({ taskseq, message }) => `event ${taskseq ?? '?'}: ${message}`),
        ...messages,
      ],
    }
  if (differs.length > 0 || journal.some(({ harmful }) => harmful)) return { state: 'changed', messages }
  if (verified?.head === task.head_hash) return { state: 'verified', messages }
  return { state: 'unknown', messages: ['Somebody writes to the task just now. Show it again.', ...messages] }
}

/** The line of a task that says whether its record is intact, and the reasons below it. */
export function recordLines(
  { task, findings, unsigned, archive }: TaskAnswer,
  { state, messages }: RecordState,
  style: Style,
): readonly [string, ...string[]] {
  const reasons = messages.map((message) =>
    (state === 'verified' || state === 'unknown' ? style.yellow : style.red)(`  ${oneLine(message)}`),
  )
  const elsewhere =
    archive === undefined ? '' : `, of which ${archive.events} are in an archive and were not compared`
  const chain = `${counted(task.last_taskseq, 'event')}${elsewhere}, unbroken hash chain, head ${task.head_hash.slice(0, 16)}`
  switch (state) {
    case 'verified':
      return [
        unsigned === 0 ? `verified: ${chain}, signed` : style.yellow(`not signed: ${unsigned} of ${chain}`),
        ...reasons,
      ]
    case 'broken':
      return [style.red(`BROKEN: ${counted(findings.length, 'finding')}`), ...reasons]
    case 'changed':
      return [style.red('NOT VERIFIED: it is not as it was'), ...reasons]
    case 'unknown':
      return [style.yellow('not verified'), ...reasons]
    default:
      return state satisfies never
  }
}
