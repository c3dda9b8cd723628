// Tells a command whether the journal is the one that a home's mark knows. A running process has a watch
// (journal-watch.ts).
import { BeaverError } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { archivedNow, archivesOf, lookWithArchived } from './archived-look.ts'
import { type JournalFinding, journalMark, judgeJournal } from './journal-judge.ts'
import { parsedText } from './kept-text.ts'
import { hashAt } from './message-hash.ts'
import type { Subjects } from './subjects.ts'

/**
 * What is wrong with the journal for the process that has this mark.
 *
 * @param text the content of the mark's file
 * @returns `null` if the text is no mark
 * @throws {BeaverError} `unreachable`
 */
export async function judgeMark(
  nc: NatsConnection,
  subjects: Subjects,
  text: string,
): Promise<readonly JournalFinding[] | null> {
  const { data: mark } = journalMark.safeParse(parsedText(text))
  if (mark === undefined) return null
  const archives = archivesOf(nc, subjects)
  const look = await lookWithArchived(nc, archives)
  if (look === null)
    throw new BeaverError('unreachable', `The journal stream ${subjects.stream} does not answer.`)
  const jsm = await jetstreamManager(nc, { checkAPI: false })
  const isSame = mark.identity === look.identity && mark.sequence <= look.lastSequence
  const hash = isSame ? await hashAt(jsm, subjects.stream, mark.sequence) : undefined
  const isArchived = hash === null && (await archivedNow(archives)).has(mark.sequence)
  return judgeJournal(mark, look, isArchived ? undefined : hash, subjects.captured)
}
