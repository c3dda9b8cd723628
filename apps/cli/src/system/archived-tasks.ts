// The tasks that are in a file of an archive, as signed events say.
import { type LogId, readKeyRing, readTrustedEvents } from '@beaver/core'
import type { ArchiveWork } from './archive-copies.ts'

export interface ArchivedTask {
  readonly log: LogId
  /** The head of its log. */
  readonly hash: string
  readonly file: string
  readonly sha256: string
}

/** Each task with its newest file. */
export async function archivedTasks({
  ports,
  connection,
}: Pick<ArchiveWork, 'ports' | 'connection'>): Promise<readonly ArchivedTask[]> {
  const tasks = new Map<string, ArchivedTask>()
  for (const event of await readTrustedEvents('redactions', ports.log, await readKeyRing(ports))) {
    if (event.type !== 'task_archived' || event.data.tenant !== connection.tenant) continue
    const { tenant, session_id: session, task_id: task, hash, file, file_sha256: sha256 } = event.data
    tasks.set(hash, { log: { tenant, session, task } as LogId, hash, file, sha256 })
  }
  return [...tasks.values()]
}
