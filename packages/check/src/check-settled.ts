// Checks a journal from which an archive may remove messages at the same time. A message that was removed
// before it was read, by an event after the reading began, looks lost. So if there are findings and the log
// `redactions` has grown, the journal is read again, and the new findings count.
import type { Finding } from './rules.ts'
import type { JournalSource } from './source.ts'

const triesMax = 5

/**
 * The findings of a journal.
 *
 * @param open opens the journal in its current state
 * @param check may be called several times
 */
export async function checkSettled<Result extends { readonly findings: readonly Finding[] }>(
  open: () => Promise<JournalSource>,
  check: (source: JournalSource) => Promise<Result>,
): Promise<Result> {
  let source = await open()
  for (let tries = 1; ; tries++) {
    const result = await check(source)
    if (result.findings.length === 0 || tries === triesMax) return result
    const [before, now] = [await eventsOf(source), await open()]
    if ((await eventsOf(now)) === before) return result
    source = now
  }
}

async function eventsOf(source: JournalSource): Promise<number> {
  let count = 0
  for await (const page of source.redactions()) count += page.length
  return count
}
