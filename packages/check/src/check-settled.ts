// Checks a journal from which an archive may remove messages meanwhile. A message that is gone before it was
// read, and whose event came after the reading had begun, looks like a lost one. So if something is found and
// the log `redactions` has grown, the journal is read again from its beginning. What is found then counts.
import type { Finding } from './rules.ts'
import type { JournalSource } from './source.ts'

const triesMax = 5

/**
 * What a check finds in a journal.
 *
 * @param open opens the journal in its present state
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

/** How many messages the log `redactions` has, as far as a source contains it. */
async function eventsOf(source: JournalSource): Promise<number> {
  let count = 0
  for await (const page of source.redactions()) count += page.length
  return count
}
