// Opens the journal of a running system or of an export, for `check` and `export`. For a single task, its
// whole session is read, because the order of the session is checked, too.
import { type JournalSource, natsSource, openExport, UnreadableJournal } from '@beaver/check'
import { BeaverError, type LogId, messageOf } from '@beaver/core'
import { findTask } from '@beaver/nats'
import type { Connection } from '../connection.ts'

/**
 * Opens the journal of a system; with `task`, only the session of this task.
 *
 * @throws {BeaverError} `not_found` if there is no journal or no such task
 */
export async function systemJournal(
  { nc, subjects, tenant }: Connection,
  task?: string,
): Promise<JournalSource> {
  const { namespace, stream, blobBucket } = subjects
  const read = { namespace, stream, blobBucket }
  if (task === undefined) return readable(natsSource(nc, read))
  const log = await findTask(nc, subjects, tenant, task)
  if (log === null)
    throw new BeaverError(
      'not_found',
      `There is no task ${JSON.stringify(task)}. "beaver tasks" lists the tasks.`,
    )
  return readable(natsSource(nc, { ...read, subjects: [subjects.session(tenant, log.session)] }))
}

/** Opens the part of the journal that belongs to some sessions. */
export function sessionsJournal(
  { nc, subjects }: Connection,
  sessions: readonly Pick<LogId, 'tenant' | 'session'>[],
): Promise<JournalSource> {
  const { namespace, stream, blobBucket } = subjects
  return readable(
    natsSource(nc, {
      namespace,
      stream,
      blobBucket,
      subjects: sessions.map(({ tenant, session }) => subjects.session(tenant, session)),
    }),
  )
}

/**
 * Opens an export.
 *
 * @throws {BeaverError} `not_found` for a missing file, `invalid_arguments` for a file that is not an export
 */
export async function exportedJournal(file: string): Promise<JournalSource> {
  try {
    return await openExport(file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new BeaverError('not_found', `There is no file ${file}.`, { cause })
    throw new BeaverError('invalid_arguments', `The export cannot be read: ${messageOf(cause)}`, { cause })
  }
}

async function readable(source: Promise<JournalSource>): Promise<JournalSource> {
  try {
    return await source
  } catch (cause) {
    if (cause instanceof UnreadableJournal) throw new BeaverError('not_found', cause.message, { cause })
    throw cause
  }
}
