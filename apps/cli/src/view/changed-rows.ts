// Warns if the rows that a screen has just shown are known to be changed: another program changed them, or
// the journal below them is not as it was. The question comes after the rows were shown, so that a change in
// between is reported, too. Rows without a known change are not called verified, because only `show` compares
// what it shows (commands/show.ts).
import type { QueryOutput } from '@beaver/contracts'
import type { Screen } from '../screen.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { oneLine } from '../text/plain-text.ts'

type Finding = QueryOutput<'audit'>['journal'][number]

/**
 * The findings about rows of the read model. Other findings are about the journal, and count only if they are
 * harmful.
 */
const aboutRows: ReadonlySet<Finding['kind']> = new Set<Finding['kind']>([
  'read_model_changed',
  'rows_differ',
])

/** The lines of the warning; empty if no change is known. */
export function changedRows(journal: readonly Finding[]): string[] {
  const against = journal.filter(({ kind, harmful }) => harmful || aboutRows.has(kind))
  return against.length === 0
    ? []
    : [
        'NOT VERIFIED: what is shown may not be what the journal has.',
        ...against.map(({ message }) => `  ${oneLine(message)}`),
      ]
}

/** Prints the warning after the output, also after JSON. */
export async function warnOfChangedRows(
  { client }: Answers,
  screen: Pick<Screen, 'warn' | 'errorStyle'>,
): Promise<void> {
  // The rows were shown already. Without an answer, nothing is known about them, and nothing is printed.
  const answer = await client.query('audit', { limit: 1 }).catch(() => null)
  const lines = changedRows(answer?.journal ?? [])
  if (lines.length > 0) screen.warn(...lines.map((line) => screen.errorStyle.red(line)))
}
