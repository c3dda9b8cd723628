// Opens the database file and brings it to the schema of this version. A file of a newer version or of
// another program is refused and not changed. A file of an older version is emptied and built again, because
// the journal has everything. The schema and its version are written in one transaction.
import { BeaverError, messageOf } from '@beaver/core'
import { DatabaseSync } from 'node:sqlite'
import { namedDamage } from './damage.ts'
import { applicationId, schema, schemaVersion } from './schema.ts'

/**
 * When the write-ahead log is copied into the file: at 32 MB. At the 4 MB that SQLite has by default, pages
 * that many batches change are copied again and again.
 */
const walPagesMax = 8_192

/**
 * @throws {BeaverError} `invalid_configuration` if the file is not a read model that this version can use;
 * `wrong_state` if it is damaged; `start_failed` if it cannot be opened
 */
export function openDatabase(file: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: 5000 })
    db.exec(
      `pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = ${walPagesMax}`,
    )
    migrate(db, file)
    return db
  } catch (cause) {
    db?.close()
    const named = namedDamage(cause, file)
    if (named instanceof BeaverError) throw named
    throw new BeaverError('start_failed', `The read model ${file} cannot be opened: ${messageOf(cause)}`, {
      cause,
    })
  }
}

function migrate(db: DatabaseSync, file: string): void {
  db.exec('begin immediate')
  try {
    const version = pragma(db, 'user_version')
    const found = objects(db)
    if (found.length > 0 && pragma(db, 'application_id') !== applicationId) {
      throw new BeaverError(
        'invalid_configuration',
        `${file} is a database of another program, not a Beaver read model. Choose another file.`,
      )
    }
    if (version > schemaVersion) {
      throw new BeaverError(
        'invalid_configuration',
        `The read model ${file} has schema version ${version}. This Beaver knows versions up to ${schemaVersion}. Use the newer Beaver, or delete the file to rebuild it from the journal.`,
      )
    }
    if (version < schemaVersion) {
      for (const name of found) db.exec(`drop table if exists "${name.replaceAll('"', '""')}"`)
      db.exec(schema)
      db.exec(`pragma user_version = ${schemaVersion}; pragma application_id = ${applicationId}`)
    }
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

const pragma = (db: DatabaseSync, name: 'user_version' | 'application_id'): number =>
  Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0])

/** The tables of the file, virtual tables first: dropping one drops the tables of its index. */
function objects(db: DatabaseSync): string[] {
  const rows = db
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by sql like 'create virtual%' desc, name",
    )
    .all()
  return rows.map((row) => String(row['name']))
}
