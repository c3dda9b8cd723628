// The index of a knowledge base: its documents, their passages, and the words and vectors of each passage.
// All that is stored about a document changes in one transaction. Several processes may use the file, but
// only the process that holds the lease indexes. A lease ends if it is not renewed or if its process ends. A
// query is a list of words without operators: each character stands for itself.
import type { DocumentPassage, KnowledgePassage } from '@beaver/core'
import { comparedWords, foldedText } from '@beaver/core'
import { createHash } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { LeftOutReason } from './survey-folder.ts'

/** What the index knows about a document. `leftOut` says why it has no passages. */
export interface IndexedDocument {
  readonly id: number
  readonly state: string
  readonly sha256: string | null
  readonly leftOut: LeftOutReason | null
}

/** A document as it is now in the folder. */
export interface DocumentContent {
  readonly file: string
  readonly state: string
  readonly sha256: string | null
  readonly leftOut: LeftOutReason | null
  readonly passages: readonly DocumentPassage[]
}

/** A passage without a vector. */
export interface UnembeddedPassage {
  readonly sha256: Uint8Array
  readonly text: string
}

/** The kinds of work that only one process does at a time. */
export type LeasedWork = 'words' | 'vectors'

const leaseMs = 30_000
const wordsMax = 64
/**
 * A query ignores a word that occurs in more than this share of the passages, and in more than `commonMin` of
 * them, because it tells little.
 */
const commonShare = 1 / 3
const commonMin = 50
/** Two texts whose vectors are less similar than this have nothing in common, whatever the model. */
const similarityMin = 0.2

/** The tables of an index file, with the queries and changes that a knowledge base needs. */
export class PassageIndex implements Disposable {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }

  /** All known documents, by their paths. */
  documents(): Map<string, IndexedDocument> {
    const rows = this.#all<{
      id: number
      file: string
      state: string
      sha256: string | null
      left_out: LeftOutReason | null
    }>('select id, file, state, sha256, left_out from documents')
    return new Map(rows.map(({ file, left_out: leftOut, ...row }) => [file, { ...row, leftOut }]))
  }

  /**
   * Takes or renews the lease for one kind of work, and returns whether the owner holds it. A lease whose
   * process has ended on this machine can be taken at once.
   */
  takeLease(work: LeasedWork, owner: string, now: number): boolean {
    try {
      const [held] = this.#all<{ owner: string }>('select owner from lease where work = ?', [work])
      const { changes } = this.#run(
        `insert into lease (work, owner, until_ms) values (?1, ?2, ?3 + ${leaseMs})
         on conflict (work) do update set owner = ?2, until_ms = ?3 + ${leaseMs}
         where owner = ?2 or owner = ?4 or until_ms < ?3 or until_ms > ?3 + 2 * ${leaseMs}`,
        [work, owner, now, held !== undefined && isGone(held.owner) ? held.owner : owner],
      )
      return changes === 1n
    } catch (error) {
      // Another process is storing a large document.
      if (isBusy(error)) return false
      throw error
    }
  }

  endLease(work: LeasedWork, owner: string): void {
    try {
      this.#run('delete from lease where work = ? and owner = ?', [work, owner])
    } catch (error) {
      // The lease expires by itself.
      if (!isBusy(error)) throw error
    }
  }

  /** Stores documents, in place of what was stored under their paths. */
  put(contents: readonly DocumentContent[]): void {
    if (contents.length === 0) return
    this.#transaction(() => {
      for (const content of contents) this.#putOne(content)
    })
  }

  #putOne({ file, state, sha256, leftOut, passages }: DocumentContent): void {
    this.#forget(file)
    const { lastInsertRowid: document } = this.#run(
      'insert into documents (file, state, sha256, left_out) values (?, ?, ?, ?)',
      [file, state, sha256, leftOut],
    )
    for (const { firstLine, lastLine, heading, text } of passages) {
      const { lastInsertRowid: id } = this.#run(
        'insert into passages (document, first_line, last_line, heading, text, sha256) values (?, ?, ?, ?, ?, ?)',
        [
          document,
          firstLine,
          lastLine,
          heading,
          text,
          createHash('sha256')
            .update(embeddedText(file, heading, text))
            .digest(),
        ],
      )
      this.#run('insert into passage_words (rowid, words) values (?, ?)', [
        id,
        [...wordsOf(`${file} ${heading ?? ''} ${text}`)].join(' '),
      ])
    }
  }

  /** Stores the new states of documents that were read and found unchanged. */
  keep(documents: readonly { readonly file: string; readonly state: string }[]): void {
    if (documents.length === 0) return
    this.#transaction(() => {
      for (const { file, state } of documents)
        this.#run('update documents set state = ? where file = ?', [state, file])
    })
  }

  remove(files: readonly string[]): void {
    if (files.length === 0) return
    this.#transaction(() => {
      for (const file of files) this.#forget(file)
    })
  }

  #forget(file: string): void {
    const passages =
      'select passages.id from passages join documents on documents.id = passages.document where documents.file = ?'
    this.#run(`delete from passage_words where rowid in (${passages})`, [file])
    this.#run(`delete from passages where id in (${passages})`, [file])
    this.#run('delete from documents where file = ?', [file])
  }

  /** Deletes the vectors of texts that no document contains any more. */
  dropUnusedVectors(): void {
    this.#run(
      'delete from vectors where not exists (select 1 from passages where passages.sha256 = vectors.sha256)',
      [],
    )
  }

  /** The ids of the passages that match the query's words best, best first. Rare words count more. */
  byWords(query: string, max: number): number[] {
    const words = this.#telling([...new Set(wordsOf(query))].slice(0, wordsMax))
    if (words.length === 0) return []
    // A single Chinese character may be the beginning of a pair, so it matches as a prefix.
    const terms = words.map((word) => (/^\P{ASCII}$/u.test(word) ? `"${word}" *` : `"${word}"`))
    return this.#all<{ id: number }>(
      'select rowid as id from passage_words where passage_words match ? order by rank limit ?',
      [terms.join(' OR '), max],
    ).map(({ id }) => id)
  }

  /** The words that distinguish passages: common words are left out, unless no other word is in the index. */
  #telling(words: readonly string[]): readonly string[] {
    const passages = this.#all<{ count: number }>('select count(*) as count from passages', [])[0]?.count ?? 0
    const many = Math.max(commonMin, passages * commonShare)
    const rare = words.filter(
      (word) =>
        (this.#all<{ doc: number }>('select doc from words_known where term = ?', [word])[0]?.doc ?? 0) <=
        many,
    )
    const known = rare.filter(
      (word) =>
        /^\P{ASCII}$/u.test(word) || this.#all('select 1 from words_known where term = ?', [word]).length > 0,
    )
    return known.length > 0 ? rare : words
  }

  /** The ids of the passages whose vectors are nearest to the query, best first. */
  byVector(model: string, query: readonly number[], max: number): number[] {
    const wanted = packed(query)
    const best: { readonly sha256: Uint8Array; readonly similarity: number }[] = []
    // The `+` makes SQLite read the table in its own order. With the index, it would read all rows in another
    // order, which is slower.
    const rows = this.#statement('select sha256, length, vector from vectors where +model = ?').iterate(
      model,
    ) as Iterable<VectorRow>
    for (const { sha256, length, vector } of rows) {
      if (vector.length !== wanted.vector.length) continue
      const similarity =
        dot(wanted.vector, new Int8Array(vector.buffer, vector.byteOffset, vector.length)) /
        (wanted.length * length || 1)
      if (similarity < similarityMin || (best.length === max && similarity <= (best.at(-1)?.similarity ?? 0)))
        continue
      const place = best.findIndex((each) => each.similarity < similarity)
      best.splice(place < 0 ? best.length : place, 0, { sha256, similarity })
      if (best.length > max) best.pop()
    }
    return best
      .flatMap(({ sha256 }) =>
        this.#all<{ id: number }>('select id from passages where sha256 = ?', [sha256]).map(({ id }) => id),
      )
      .slice(0, max)
  }

  /** The passages with these ids, in this order, without those that no longer exist. */
  passages(ids: readonly number[]): KnowledgePassage[] {
    const sql = `select documents.file, first_line, last_line, heading, text from passages join documents on documents.id = passages.document where passages.id = ?`
    return ids.flatMap((id) => this.#all<KnowledgePassage>(sql, [id]).map((row) => ({ ...row })))
  }

  /**
   * Passages without a vector of this model, each text once, ordered by `sha256`. `after` is the last
   * `sha256` of the page before.
   */
  unembedded(
    model: string,
    { after, max }: { readonly after: Uint8Array; readonly max: number },
  ): UnembeddedPassage[] {
    const rows = this.#all<{ sha256: Uint8Array; file: string; heading: string | null; text: string }>(
      `select passages.sha256, file, heading, text from passages join documents on documents.id = passages.document
       where passages.sha256 > ? and not exists (select 1 from vectors where vectors.sha256 = passages.sha256 and vectors.model = ?)
       group by passages.sha256 order by passages.sha256 limit ?`,
      [after, model, max],
    )
    return rows.map(({ sha256, file, heading, text }) => ({
      sha256,
      text: embeddedText(file, heading, text),
    }))
  }

  putVectors(
    model: string,
    vectors: readonly { readonly sha256: Uint8Array; readonly vector: readonly number[] }[],
  ): void {
    this.#transaction(() => {
      for (const { sha256, vector: numbers } of vectors) {
        const { length, vector } = packed(numbers)
        this.#run('insert or replace into vectors (model, sha256, length, vector) values (?, ?, ?, ?)', [
          model,
          sha256,
          length,
          new Uint8Array(vector.buffer),
        ])
      }
    })
  }

  #transaction(act: () => void): void {
    this.#db.exec('begin immediate')
    try {
      act()
      this.#db.exec('commit')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      throw error
    }
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }

  /**
   * Runs a statement with 64-bit integers: the full-text index inserts rows whose ids are larger than a safe
   * number, and SQLite reports the last id after each statement.
   */
  #run(
    sql: string,
    values: readonly SQLInputValue[],
  ): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint } {
    const statement = this.#statement(sql)
    statement.setReadBigInts(true)
    return statement.run(...values)
  }

  #all<Row>(sql: string, values: readonly SQLInputValue[] = []): Row[] {
    return this.#statement(sql).all(...values) as Row[]
  }
}

/**
 * Whether the owner's process has ended. An owner begins with the id of its process. A process on another
 * machine that shares the home may have an id that is free here; then both machines index, which does no
 * harm.
 */
function isGone(owner: string): boolean {
  const pid = Number(owner.split(' ', 1)[0])
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** Whether the error is SQLITE_BUSY. */
const isBusy = (error: unknown): boolean => (error as { readonly errcode?: number }).errcode === 5

const wordsOf = (text: string): Generator<string> => comparedWords(foldedText(text.toWellFormed()))

/**
 * The text that is embedded for a passage. It includes the file and the heading, because a passage alone
 * often does not say what it is about.
 */
const embeddedText = (file: string, heading: string | null, text: string): string =>
  `${file}${heading === null ? '' : ` > ${heading}`}\n${text}`.toWellFormed()

interface VectorRow {
  readonly sha256: Uint8Array
  readonly length: number
  readonly vector: Uint8Array
}

/**
 * The vector with whole numbers from -127 to 127, and its Euclidean length. Only the direction is compared,
 * and it changes by less than one in a hundred.
 */
function packed(numbers: readonly number[]): { readonly length: number; readonly vector: Int8Array } {
  const largest = numbers.reduce((most, each) => Math.max(most, Math.abs(each)), 0) || 1
  const vector = Int8Array.from(numbers, (each) => Math.round((each / largest) * 127))
  return { length: Math.sqrt(dot(vector, vector)), vector }
}

function dot(a: Int8Array, b: Int8Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum
}
