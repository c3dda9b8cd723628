// A read model at one moment, for a comparison, or for queries while no projector runs. It is neither written
// nor updated. Everything is read in one transaction, so the projector may continue meanwhile.
import { BeaverError, messageOf } from '@beaver/core'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { namedDamage } from './damage.ts'
import { dumpLines } from './dump.ts'
import { applicationId, schemaVersion } from './schema.ts'
import { type Sql, sqlOn } from './sql.ts'

export interface ModelSnapshot extends Disposable {
  /** For queries: `answer(snapshot.sql, …)`. */
  readonly sql: Sql
  /** The identity of the stream from which the read model was built. */
  readonly stream: string
  /** The last message that was applied. */
  readonly sequence: number
  /**
   * The blob that is read in place of a redacted text, by the SHA-256 of the text's blob or the hash of its
   * record.
   */
  readonly replacements: ReadonlyMap<string, string>
  /** The events by which the read model knows what is in archives, with their places in the stream. */
  readonly archived: readonly { readonly data: unknown; readonly sequence: number }[]
  /** The rows of all tables as text, in the order of `ReadModel.dump`. */
  dump(): Iterable<string>
  /** The task to which a row with this `task_key` belongs. */
  taskOf(taskKey: number): { readonly task_id: string; readonly session_id: string } | null
}

/**
 * @throws {BeaverError} `not_found` for a missing file, `invalid_configuration` for a file that is no read
 * model of this version, `wrong_state` for a damaged one
 */
export function openSnapshot(file: string): ModelSnapshot {
  if (!existsSync(file)) throw new BeaverError('not_found', `There is no read model ${file}.`)
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    db.exec('begin')
    const sql = sqlOn(db)
    const version = sql.one<{ id: number; version: number }>(
      'select application_id as id, user_version as version from pragma_application_id, pragma_user_version',
    )
    if (version.id !== applicationId || version.version !== schemaVersion)
      throw new Error(`it has version ${version.version}, and this Beaver reads ${schemaVersion}`)
    const { stream, sequence } = sql.one<{ stream: string; sequence: number }>(
      'select stream, sequence from checkpoint',
    )
    const replacements = sql.all<{ key: string; replacement: string }>(
      `select coalesce(json_extract(data, '$.sha256'), json_extract(data, '$.hash')) as key, json_extract(data, '$.replacement') as replacement
       from system_events where type in ('blob_redacted', 'record_redacted') and fault is null and untrusted is null and json_extract(data, '$.replacement') is not null order by sequence`,
    )
    const archived = sql.all<{ data: string; sequence: number }>(
      `select data, sequence from system_events where type = 'messages_archived' and fault is null and untrusted is null and signature is not null order by sequence`,
    )
    const opened = db
    return {
      sql,
      stream,
      sequence,
      replacements: new Map(replacements.map(({ key, replacement }) => [key, replacement])),
      archived: archived.map(({ data, sequence: at }) => ({
        data: JSON.parse(data) as unknown,
        sequence: at,
      })),
      dump: () => dumpLines(sql),
      taskOf: (taskKey) =>
        sql.get('select task_id, session_id from tasks where task_key = ?', [taskKey]) ?? null,
      [Symbol.dispose]: () => opened.close(),
    }
  } catch (cause) {
    db?.close()
    const named = namedDamage(cause, file)
    if (named instanceof BeaverError) throw named
    throw new BeaverError(
      'invalid_configuration',
      `${file} is not a read model that can be read: ${messageOf(cause)}.`,
      { cause },
    )
  }
}
