// Decides what is wrong with the record: with the journal as a whole, as the projector and the daemons see
// it, and with the tasks that were compared with the journal just now. Each thing is told once, also if
// several processes say it.
import type { QueryOutput } from '@beaver/contracts'
import type { SystemReport } from '../system/examine-system.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { fail, type Finding, warn } from './check.ts'

type JournalFinding = QueryOutput<'audit'>['journal'][number]

const shownMax = 10
const harmfulTodo =
  'No daemon writes until the journal is as before. Restore it from a backup that has everything, or accept it as it is: beaver audit accept --reason "…".'

const otherTodo =
  'Look at it with "beaver audit". If it is on purpose, accept it: beaver audit accept --reason "…".'

/** What is wrong with the journal and the read model. */
export function journalOf({ projector, audit, daemons }: SystemReport): JournalFinding[] {
  const told = [
    ...(projector.kind === 'answered' ? projector.value.journal : []),
    ...(audit.kind === 'answered' ? audit.value.journal : []),
  ]
  const byDaemons = daemons.flatMap(({ journal_changed: message }) =>
    message === undefined ? [] : [{ kind: 'daemon', message, harmful: true }],
  )
  return [...new Map([...byDaemons, ...told].map((finding) => [finding.message, finding])).values()]
}

export function checkRecord(report: SystemReport): Finding[] {
  const found = journalOf(report)
  const { audit } = report
  // The projector keeps a task that differs as a finding, unless somebody accepted it.
  const differs =
    audit.kind === 'answered' && !found.some(({ kind }) => kind === 'rows_differ')
      ? (audit.value.verified?.differs ?? [])
      : []
  const more = found.length - shownMax
  return [
    ...found.slice(0, shownMax).map(findingOf),
    ...(more > 0 ? [warn('journal', counted(more, 'more finding'), 'Show them: beaver audit')] : []),
    ...differs
      .slice(0, shownMax)
      .map(({ task_id: id, messages }) =>
        fail('record', oneLine(`${id}: ${messages[0] ?? ''}`), `Look at it: beaver show ${id}`),
      ),
  ]
}

/** A setting may be on purpose. Rows and messages that are not as they were are not. */
function findingOf({ kind, message, harmful }: JournalFinding): Finding {
  if (harmful) return fail('journal', oneLine(message), harmfulTodo)
  return kind === 'configuration'
    ? warn('journal', oneLine(message), otherTodo)
    : fail('record', oneLine(message), otherTodo)
}
