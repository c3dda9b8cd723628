// Opens the file of an index: an SQLite database in Beaver's home. The index can be deleted at any time,
// because it is made from the documents alone. The file's name contains the id of the knowledge base, a hash
// of the folder's path and the version of the tables, so that two configurations or two versions of Beaver
// never share a file that they would read differently. Only its owner may read the file, because it contains
// the documents. A damaged file is deleted and made again.
import { createHash } from 'node:crypto'
import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from '@beaver/platform/make-folder'
import type { KnowledgeFolder } from './knowledge-folder.ts'

const version = 1

/**
 * `words` has the compared words of each passage, separated by spaces. Core decides what a word is; the
 * tokenizer `ascii` splits only at ASCII characters. The full-text table does not store texts; `passages`
 * does. A vector has one byte for each number. `length` is the Euclidean length of a vector, stored because
 * each search needs it for all vectors.
 */
const tables = `
create table documents (
  id integer primary key,
  file text not null unique,
  state text not null,
  sha256 text,
  left_out text
) strict;
create table passages (
  id integer primary key,
  document integer not null references documents (id),
  first_line integer not null,
  last_line integer not null,
  heading text,
  text text not null,
  sha256 blob not null
) strict;
create index passages_of_document on passages (document);
create index passages_by_sha256 on passages (sha256);
create virtual table passage_words using fts5(words, content='', contentless_delete=1, tokenize='ascii');
create virtual table words_known using fts5vocab('passage_words', 'row');
create table vectors (
  id integer primary key,
  model text not null,
  sha256 blob not null,
  length real not null,
  vector blob not null,
  unique (sha256, model)
) strict;
create table lease (
  work text primary key,
  owner text not null,
  until_ms integer not null
) strict;
pragma user_version = ${version};
`

/** The path of the index of a folder. */
export function indexFile(home: string, { id, folder }: Pick<KnowledgeFolder, 'id' | 'folder'>): string {
  const folderHash = createHash('sha256').update(folder).digest('hex').slice(0, 16)
  return join(home, 'knowledge', `${id.toLowerCase()}-${folderHash}.v${version}.sqlite`)
}

/**
 * Opens the index of a folder. A missing or damaged file is made anew.
 *
 * @throws {Error} of the system or of SQLite if the file cannot be made
 */
export function openIndexFile(home: string, base: Pick<KnowledgeFolder, 'id' | 'folder'>): DatabaseSync {
  const file = indexFile(home, base)
  makeFolder(join(home, 'knowledge'))
  try {
    return opened(file)
  } catch (error) {
    if (!isDamaged(error)) throw error
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
    return opened(file)
  }
}

function opened(file: string): DatabaseSync {
  // SQLite gives the files that it makes beside this one the same permissions.
  closeSync(openSync(file, 'a', 0o600))
  chmodSync(file, 0o600)
  const db = new DatabaseSync(file, { timeout: 10_000 })
  try {
    db.exec('pragma journal_mode = wal; pragma synchronous = normal')
    db.exec('begin immediate')
    if (Number(db.prepare('pragma user_version').get()?.['user_version']) !== version) db.exec(tables)
    db.exec('commit')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Whether the error is SQLITE_CORRUPT, SQLITE_NOTADB or SQLITE_ERROR; the last one comes from tables of
 * another program.
 */
function isDamaged(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: number }
  return errcode === 11 || errcode === 26 || errcode === 1
}
