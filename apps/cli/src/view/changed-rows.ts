// What the projector knows of the rows that a screen has just shown: whether another program changed them,
// and whether the journal below them is as it was. The question comes after the rows. A change in between is
// told. Rows that nobody is known to have changed are not called verified: only `show` compares what it shows
// (commands/show.ts).
import type { QueryOutput } from '@beaver/contracts'
import type { Screen } from '../screen.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { oneLine } from '../text/plain-text.ts'

type Finding = QueryOutput<'audit'>['journal'][number]

/**
 * Findings about the rows of the read model. Others tell how the journal is stored, and count only if they
 * are harmful.
 */
const aboutRows: ReadonlySet<Finding['kind']> = new Set<Finding['kind']>([
  'read_model_changed',
  'rows_differ',
])

/** The lines about rows that were not compared; empty if nothing is known against them. */
export function changedRows(journal: readonly Finding[]): string[] {
  const against = journal.filter(({ kind, harmful }) => harmful || aboutRows.has(kind))
  return against.length === 0
    ? []
    : [
        'NOT VERIFIED: what is shown may not be what the journal has.',
        ...against.map(({ message }) => `  ${oneLine(message)}`),
      ]
}

/** Warns below what was shown, also if that is JSON. */
export async function warnOfChangedRows(
  { client }: Answers,
  screen: Pick<Screen, 'warn' | 'errorStyle'>,
): Promise<void> {
  const answer = await client.query('audit', { limit: 1 }).catch(() => null) // The rows were shown. Who cannot say more says nothing.
  const lines = changedRows(answer?.journal ?? [])
  if (lines.length > 0) screen.warn(...lines.map((line) => screen.errorStyle.red(line)))
}
