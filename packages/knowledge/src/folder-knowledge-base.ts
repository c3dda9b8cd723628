// The adapter of KnowledgeBase on a folder of documents. Documents are indexed by words and, if there is an
// embedding endpoint, by meaning. Each search first looks at the folder and indexes what has changed. It
// waits at most `waitMs` for this; after that, the answer says that it is not complete. A search does not use
// a look that began before the search; concurrent searches share the next look. Only one process indexes at a
// time (passage-index.ts); the others wait for it. Only one process at a time embeds, and it embeds each text
// once for each model. No search waits for embeddings: a passage without one is found by its words. If the
// endpoint does not answer, searches use words only, and the missing passages are embedded later.
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { embedAll, type EmbeddingProvider } from '@beaver/agent'
import {
  BeaverError,
  type Clock,
  documentPassages,
  type KnowledgeAnswer,
  type KnowledgeBase,
  knowledgeLimitMax,
  type PaidEmbedding,
  type KnowledgeRequest,
  messageOf,
  mixRanks,
  pause,
} from '@beaver/core'
import { indexFile, openIndexFile } from './index-file.ts'
import { type KnowledgeBounds, knowledgeBounds, type KnowledgeFolder } from './knowledge-folder.ts'
import { type DocumentContent, PassageIndex } from './passage-index.ts'
import {
  type FoundDocument,
  type LeftOutReason,
  leftOutReasons,
  type Survey,
  surveyFolder,
} from './survey-folder.ts'

/** What a knowledge base needs besides its folder. */
export interface KnowledgePorts {
  /** The absolute path of Beaver's home, which contains the index. */
  readonly home: string
  /** The embedding endpoint. `null`: searches use words only. */
  readonly embeddings: EmbeddingProvider | null
  readonly clock: Clock
  /** The id of this process, a space, and a text that no other thread that shares the home has. */
  readonly owner: string
  /**
   * Receives one sentence when files are left out or something fails, at most once for each sentence.
   * Default: the sentences are dropped.
   */
  readonly tell?: (message: string) => void
  /** Bounds that replace those of `knowledgeBounds`. Default: none. */
  readonly bounds?: Partial<KnowledgeBounds>
}

/** A folder in which agents search. The caller must close it. */
export interface FolderKnowledgeBase extends KnowledgeBase, AsyncDisposable {
  /**
   * Resolves when all documents are indexed, and embedded as far as the endpoint allows. Rejects with the
   * errors of a search.
   */
  refresh(): Promise<void>
}

/** How many passages each of the two rankings may contribute to an answer. */
const rankedMax = 50
const queryCharsMax = 4_000
const batchDocuments = 64
const batchChars = 2_000_000
const embeddedAtOnce = 64
/** How long the endpoint is not asked after a failure, in milliseconds. */
const embeddingPauseMs = 60_000
const leaseLookMs = 100

/** Opens a knowledge base over a folder. The index file is opened at the first use. */
export function folderKnowledgeBase(folder: KnowledgeFolder, ports: KnowledgePorts): FolderKnowledgeBase {
  return new SearchedFolder(folder, ports)
}

class SearchedFolder implements FolderKnowledgeBase {
  readonly #folder: KnowledgeFolder
  readonly #ports: KnowledgePorts
  readonly #bounds: KnowledgeBounds
  readonly #embeddings: EmbeddingProvider | null
  readonly #closing = new AbortController()
  readonly #reported = new Set<string>()
  #index: PassageIndex | null = null
  /** The current look. Resolves when every document is indexed by words. */
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null
  #embedding: Promise<void> | null = null
  #embedAgainAt = 0
  #looked = false

  constructor(folder: KnowledgeFolder, ports: KnowledgePorts) {
    this.#folder = folder
    this.#ports = ports
    this.#bounds = { ...knowledgeBounds, ...ports.bounds }
    this.#embeddings = folder.embeddings ? ports.embeddings : null
  }

  async search({ query, limit }: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer> {
    signal.throwIfAborted()
    const text = query.slice(0, queryCharsMax)
    const max = Math.max(1, Math.min(knowledgeLimitMax, Math.trunc(limit)))
    const late = AbortSignal.any([signal, this.#closing.signal])
    const complete = await this.#within(this.#look(), late)
    late.throwIfAborted()
    if (complete) void this.#embed()
    const index = this.#opened()
    const byWords = index.byWords(text, rankedMax)
    let paid: PaidEmbedding | undefined
    const byMeaning = await this.#byMeaning(text, late, (each) => (paid = each))
    const ids = byMeaning === null ? byWords : mixRanks([byWords, byMeaning])
    return {
      passages: index.passages(ids.slice(0, max)),
      ranked_by: byMeaning === null ? 'words' : 'words_and_meaning',
      complete,
      ...(paid === undefined ? {} : { paid }),
    }
  }

  async refresh(): Promise<void> {
    await this.#look()
    await this.#embed()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new BeaverError('wrong_state', 'The knowledge base is closed.'))
    await Promise.allSettled([this.#running, this.#next, this.#embedding])
    this.#index?.[Symbol.dispose]()
    this.#index = null
  }

  #opened(): PassageIndex {
    this.#closing.signal.throwIfAborted()
    return (this.#index ??= new PassageIndex(openIndexFile(this.#ports.home, this.#folder)))
  }

  /**
   * Returns whether the look ended within `waitMs`.
   *
   * @throws the error of the look
   */
  async #within(look: Promise<void>, signal: AbortSignal): Promise<boolean> {
    const ended = new AbortController()
    try {
      const late = pause(this.#ports.clock, this.#bounds.waitMs, AbortSignal.any([signal, ended.signal]))
      return await Promise.race([look.then(() => true), late.then(() => false)])
    } finally {
      ended.abort()
    }
  }

  /** Returns a look that begins now or later: the next one if a look has begun. */
  #look(): Promise<void> {
    if (this.#next !== null) return this.#next
    if (this.#running === null) return this.#begin()
    this.#next = this.#running
      .catch(() => {})
      .then(() => {
        this.#next = null
        return this.#begin()
      })
    this.#next.catch(() => {}) // The searches that wait for it get the error.
    return this.#next
  }

  #begin(): Promise<void> {
    const look = this.#indexWords()
    const ended = (): void => {
      if (this.#running === look) this.#running = null
    }
    look.then(ended, ended)
    this.#running = look
    return look
  }

  async #indexWords(): Promise<void> {
    const { signal } = this.#closing
    const { home, clock, owner } = this.#ports
    try {
      await using survey = await surveyFolder(this.#folder, {
        bounds: this.#bounds,
        home,
        nowMs: clock.now(),
        signal,
      })
      const index = this.#opened()
      const changed = this.#changes(survey, index).some((each) => each.length > 0)
      if (changed) {
        while (!index.takeLease('words', owner, clock.now())) await this.#pause(leaseLookMs)
        try {
          await this.#apply(survey, index)
        } finally {
          index.endLease('words', owner)
        }
      }
      if (changed || !this.#looked) this.#tellLeftOut(survey, index)
      this.#looked = true
    } catch (cause) {
      signal.throwIfAborted()
      const error = cause instanceof BeaverError ? cause : this.#unusable(cause)
      this.#tell(error.message)
      throw error
    }
  }

  /** The error for a full disk, a home that cannot be written, or a file that SQLite cannot use. */
  #unusable(cause: unknown): BeaverError {
    const file = indexFile(this.#ports.home, this.#folder)
    return new BeaverError(
      'start_failed',
      `The index ${file} cannot be used: ${messageOf(cause)}. It may be deleted; it is built again.`,
      { cause },
    )
  }

  #changes(
    { documents }: Survey,
    index: PassageIndex,
  ): readonly [changed: readonly FoundDocument[], gone: readonly string[]] {
    const known = index.documents()
    const changed = documents.filter(({ file, state }) => state === '' || known.get(file)?.state !== state)
    for (const { file } of documents) known.delete(file)
    return [changed, [...known.keys()]]
  }

  /**
   * Indexes what has changed. Another process may have indexed in the meantime, so the changes are computed
   * again.
   */
  async #apply(survey: Survey, index: PassageIndex): Promise<void> {
    const [changed, gone] = this.#changes(survey, index)
    const known = index.documents()
    index.remove(gone)
    let dropped = gone.length > 0
    let batch: DocumentContent[] = []
    let kept: FoundDocument[] = []
    let chars = 0
    const store = (): void => {
      index.put(batch)
      index.keep(kept)
      batch = []
      kept = []
      chars = 0
      index.takeLease('words', this.#ports.owner, this.#ports.clock.now())
    }
    for (const found of changed) {
      const before = known.get(found.file)
      const content = await this.#contentOf(found)
      if (before !== undefined && before.sha256 === content.sha256 && before.leftOut === content.leftOut) {
        if (before.state !== found.state) kept.push(found)
      } else {
        dropped ||= before !== undefined
        batch.push(content)
        chars += content.passages.reduce((sum, { text }) => sum + text.length, 0)
      }
      if (batch.length + kept.length >= batchDocuments || chars >= batchChars) {
        store()
        await this.#pause(0)
      }
    }
    store()
    if (dropped) index.dropUnusedVectors()
  }

  async #contentOf(found: FoundDocument): Promise<DocumentContent> {
    this.#closing.signal.throwIfAborted()
    const { file, state, format } = found
    const read = await readDocument(found, this.#folder.fileBytesMax)
    if (read.kind === 'left_out') return { file, state, sha256: null, leftOut: read.reason, passages: [] }
    return {
      file,
      state,
      sha256: read.sha256,
      leftOut: null,
      passages: [...documentPassages(read.text, { headings: format === 'markdown' })],
    }
  }

  /** Embeds the passages that have no vector yet. Never rejects, because words are enough to search. */
  #embed(): Promise<void> {
    const provider = this.#embeddings
    if (provider === null) return Promise.resolve()
    this.#embedding ??= this.#embedAll(provider)
      .catch((error: unknown) => this.#embeddingFailed(error))
      .finally(() => (this.#embedding = null))
    return this.#embedding
  }

  async #embedAll(provider: EmbeddingProvider): Promise<void> {
    const { clock, owner } = this.#ports
    const { model } = provider
    const index = this.#opened()
    try {
      let after: Uint8Array = new Uint8Array()
      while (clock.now() >= this.#embedAgainAt) {
        const missing = index.unembedded(model, { after, max: embeddedAtOnce })
        if (missing.length === 0 || !index.takeLease('vectors', owner, clock.now())) return
        const texts = missing.map(({ text }) => text)
        const vectors = await embedAll(provider, texts, this.#closing.signal)
        this.#closing.signal.throwIfAborted()
        const pairs = missing.map(({ sha256 }, at) => ({ sha256, vector: vectors[at] ?? [] }))
        index.putVectors(model, pairs)
        after = missing.at(-1)?.sha256 ?? after
      }
    } finally {
      index.endLease('vectors', owner)
    }
  }

  async #byMeaning(
    query: string,
    signal: AbortSignal,
    pay: (paid: PaidEmbedding) => void,
  ): Promise<number[] | null> {
    const provider = this.#embeddings
    if (provider === null || query.trim() === '' || this.#ports.clock.now() < this.#embedAgainAt) return null
    try {
      const [vector] = await embedAll(provider, [query.toWellFormed()], signal, {
        onPaid: (usage) => pay({ provider_name: provider.name, model: provider.model, usage }),
      })
      return vector === undefined ? null : this.#opened().byVector(provider.model, vector, rankedMax)
    } catch (error) {
      signal.throwIfAborted()
      this.#embeddingFailed(error)
      return null
    }
  }

  #embeddingFailed(error: unknown): void {
    if (this.#closing.signal.aborted) return
    this.#embedAgainAt = this.#ports.clock.now() + embeddingPauseMs
    this.#tell(`The embedding endpoint failed, so searches go by words for now: ${messageOf(error)}`)
  }

  async #pause(ms: number): Promise<void> {
    await pause(this.#ports.clock, ms, this.#closing.signal)
    this.#closing.signal.throwIfAborted()
  }

  #tellLeftOut(survey: Survey, index: PassageIndex): void {
    const counts: Partial<Record<LeftOutReason, number>> = { ...survey.leftOut }
    delete counts.other_format
    for (const { leftOut } of index.documents().values())
      if (leftOut !== null) counts[leftOut] = (counts[leftOut] ?? 0) + 1
    const reasons = Object.entries(counts) as [LeftOutReason, number][]
    if (reasons.length > 0)
      this.#tell(
        `Some files are left out. ${reasons.map(([reason, count]) => `${leftOutReasons[reason]}: ${count}`).join('; ')}`,
      )
  }

  #tell(message: string): void {
    const says = `kb:${this.#folder.id}: ${message}`
    if (this.#reported.has(says) || this.#reported.size >= 1_000) return
    this.#reported.add(says)
    this.#ports.tell?.(says)
  }
}

// Reads a document: its text, or the reason why it is left out. The file may have changed since it was found,
// so its size and its number of hard links are checked again. Bytes that are not UTF-8 become U+FFFD. A file
// with a byte order mark of UTF-16 is read as UTF-16.

/** The result of reading a document. */
type ReadDocument =
  | { readonly kind: 'text'; readonly sha256: string; readonly text: string }
  | { readonly kind: 'left_out'; readonly reason: LeftOutReason }

/** A NUL byte among the first bytes, up to this number, makes a file binary. Git uses the same rule. */
const sniffedBytes = 8_000

/** Reads a document. Faults of the file never throw; they are reasons. */
async function readDocument(found: FoundDocument, fileBytesMax: number): Promise<ReadDocument> {
  let bytes: Buffer | LeftOutReason
  try {
    await using handle = await found.open()
    bytes = await bytesOf(handle, fileBytesMax)
  } catch {
    return { kind: 'left_out', reason: 'unreadable' }
  }
  if (typeof bytes === 'string') return { kind: 'left_out', reason: bytes }
  const encoding = encodingOf(bytes)
  if (encoding === null) return { kind: 'left_out', reason: 'binary' }
  const text = new TextDecoder(encoding).decode(bytes)
  return {
    kind: 'text',
    sha256: createHash('sha256').update(bytes).digest('hex'),
    text: found.format === 'html' ? htmlLines(text) : text,
  }
}

async function bytesOf(handle: FileHandle, fileBytesMax: number): Promise<Buffer | LeftOutReason> {
  const { size, nlink } = await handle.stat()
  if (nlink > 1) return 'link'
  if (size > fileBytesMax) return 'too_large'
  // If the file grows, it is read up to the size that it had here.
  const buffer = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(buffer, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

function encodingOf(bytes: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes.subarray(0, sniffedBytes).includes(0) ? null : 'utf-8'
}

// Extracts the text of HTML and keeps its lines: line 12 of the text is line 12 of the file, so that a
// citation can be checked. It takes linear time, whatever the file contains. Markup that does not end counts
// as text.

const withoutText = /^<(script|style|template|svg)(?=[\s/>])/i
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** The text of an HTML file, with the same number of lines as the file. Each tag becomes a space. */
export function htmlLines(html: string): string {
  const parts: string[] = []
  const ends = nextOf(html, '>')
  let at = 0
  let open = html.indexOf('<')
  while (open >= 0) {
    const end = endOfMarkup(html, open, ends)
    if (end === null) open = html.indexOf('<', open + 1)
    else {
      parts.push(decoded(html.slice(at, open)), onlyLines(html.slice(open, end)))
      at = end
      open = html.indexOf('<', end)
    }
  }
  parts.push(decoded(html.slice(at)))
  return parts.join('')
}

/**
 * The end of the markup that begins at `open`; `null` if the character at `open` is not the start of markup.
 */
function endOfMarkup(html: string, open: number, ends: (from: number) => number | null): number | null {
  // Most `<` characters in a text are not markup, so this cheap test comes first.
  if (!/[/!?a-z]/i.test(html[open + 1] ?? '')) return null
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 4) ?? html.length
  const start = html.slice(open, open + 12)
  const [, element] = withoutText.exec(start) ?? []
  if (element !== undefined) return closing(html, element, open)
  const end = ends(open)
  return end === null ? null : end + 1
}

/**
 * Returns a function that finds the next place of a mark at or after `from`. Callers pass rising values, so
 * that the text is read only once.
 */
function nextOf(text: string, mark: string): (from: number) => number | null {
  let next = text.indexOf(mark)
  return (from) => {
    if (next >= 0 && next < from) next = text.indexOf(mark, from)
    return next < 0 ? null : next
  }
}

function closing(html: string, element: string, from: number): number {
  const end = new RegExp(`</${element}\\s{0,100}>`, 'gi')
  end.lastIndex = from
  return end.exec(html) === null ? html.length : end.lastIndex
}

function after(html: string, mark: string, from: number): number | null {
  const found = html.indexOf(mark, from)
  return found < 0 ? null : found + mark.length
}

const onlyLines = (markup: string): string => ` ${'\n'.repeat(markup.split('\n').length - 1)}`

const decoded = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities[name.toLowerCase()] ?? whole
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code > 0x1f && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
        ? String.fromCodePoint(code)
        : ' '
    },
  )
