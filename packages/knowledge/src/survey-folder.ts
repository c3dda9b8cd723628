// Finds the documents of a folder, without reading them, and says which files are left out. Symlinks are not
// followed, and a file with a second name (a hard link) is left out: the other name may be outside. Files
// that usually hold keys or passwords are left out, by their names, and so is the home of Beaver. The order
// does not depend on the disk, so the bounds always leave out the same files.
import { lstatSync } from 'node:fs'
import { type FileHandle, realpath, stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import {
  isSecretPath,
  type OpenedFolder,
  openFolderInside,
  ToolFailure,
  walk,
  type WalkedEntry,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { BeaverError } from '@beaver/core'
import { type KnowledgeBounds, knowledgeBounds, type KnowledgeFolder } from './knowledge-folder.ts'

/** Why a file is no part of the knowledge base, in words for people. */
export const leftOutReasons = {
  other_format: 'of another format',
  too_large: 'larger than file_bytes_max',
  link: 'links',
  secret: 'named like files with keys or passwords',
  unreadable: 'not readable',
  binary: 'binary',
  over_bounds: 'beyond the bounds of a knowledge base',
} as const
/** Why a file is no part of the knowledge base. */
export type LeftOutReason = keyof typeof leftOutReasons

/** A document that was found. */
export interface FoundDocument {
  /** Relative to the folder, with `/`. */
  readonly file: string
  readonly format: DocumentFormat
  readonly bytes: number
  /** Differs if the file was changed. Empty: this cannot be told, so the file must be read. */
  readonly state: string
  /** Until the survey is closed. Throws as `WalkedEntry.open` does. */
  open(): Promise<FileHandle>
}

/** What is in a folder. Close it. */
export interface Survey extends AsyncDisposable {
  readonly documents: readonly FoundDocument[]
  readonly bytes: number
  readonly leftOut: Readonly<Partial<Record<LeftOutReason, number>>>
  /** Up to three names for each reason. */
  readonly examples: Readonly<Partial<Record<LeftOutReason, readonly string[]>>>
}

type Surveyed = Pick<KnowledgeFolder, 'id' | 'folder' | 'fileBytesMax'>

/** The options of a survey. */
export interface SurveyOptions {
  readonly bounds: Pick<KnowledgeBounds, 'documentsMax' | 'bytesMax'>
  /** The home of Beaver, absolute. */
  readonly home: string
  readonly nowMs: number
  readonly signal: AbortSignal
}

/** The options of a survey that only tells what there is. */
export const surveyOptions = (home: string, nowMs: number): SurveyOptions => ({
  bounds: knowledgeBounds,
  home,
  nowMs,
  signal: new AbortController().signal,
})

/** @throws {BeaverError} `not_found` if the folder cannot be listed; the reason of `signal` */
export async function surveyFolder(of: Surveyed, options: SurveyOptions): Promise<Survey> {
  const from = await openedFolder(of)
  try {
    const count = new Count(of, options)
    const root = from.folder.path.toString()
    const home = await homeBelow(root, options.home)
    for await (const entry of walk(from, { signal: options.signal })) {
      if (home === null || (entry.shown !== home && !entry.shown.startsWith(`${home}/`)))
        count.add(entry, root)
    }
    return {
      documents: count.documents,
      bytes: count.bytes,
      leftOut: count.leftOut,
      examples: count.examples,
      [Symbol.asyncDispose]: () => close(from),
    }
  } catch (error) {
    await close(from)
    options.signal.throwIfAborted()
    throw error instanceof ToolFailure ? missing(of, error.message) : error
  }
}

async function close(from: OpenedFolder): Promise<void> {
  await from[Symbol.asyncDispose]()
}

async function openedFolder(of: Surveyed): Promise<OpenedFolder> {
  try {
    if (!(await stat(of.folder)).isDirectory()) throw missing(of, 'It is not a folder.')
    return await openFolderInside(workspaceRoot(of.folder), '.')
  } catch (error) {
    if (error instanceof BeaverError) throw error
    const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
    throw missing(of, code === 'ENOENT' ? 'It does not exist.' : `It cannot be opened (${code}).`)
  }
}

const missing = ({ id, folder }: Surveyed, why: string): BeaverError =>
  new BeaverError(
    'not_found',
    `The folder ${folder} of the knowledge base ${JSON.stringify(id)} cannot be searched. ${why} Correct "knowledge_bases.${id}.folder".`,
  )

/** The home as the walk shows it, if it is below the folder. */
async function homeBelow(root: string, home: string): Promise<string | null> {
  const way = relative(root, await realpath(home).catch(() => home))
  return way === '' || way === '..' || way.startsWith(`..${sep}`) ? null : way.split(sep).join('/')
}

/** A file may change again within the time that its state cannot tell apart. */
const unsettledMs = 2_000

class Count {
  readonly documents: FoundDocument[] = []
  readonly leftOut: Partial<Record<LeftOutReason, number>> = {}
  readonly examples: Partial<Record<LeftOutReason, string[]>> = {}
  bytes = 0
  readonly #of: Surveyed
  readonly #options: SurveyOptions

  constructor(of: Surveyed, options: SurveyOptions) {
    this.#of = of
    this.#options = options
  }

  add(entry: WalkedEntry, root: string): void {
    const { kind, shown: file } = entry
    if (kind === 'folder' || kind === 'ignored_folder') return
    if (kind === 'unreadable_folder') return this.#leave('unreadable', file)
    const format = formatOf(file)
    if (isSecretPath(file)) return this.#leave('secret', file)
    if (format === null || kind === 'other') return this.#leave('other_format', file)
    if (kind === 'symlink') return this.#leave('link', file)
    // Only a look at the name: what is read is opened from the held folder.
    const found = lstatSync(`${root}/${file}`, { bigint: true, throwIfNoEntry: false })
    // A name that is not UTF-8 leads nowhere, and nobody could cite it.
    if (found === undefined || !found.isFile()) return this.#leave('unreadable', file)
    if (found.nlink > 1n) return this.#leave('link', file)
    const bytes = Number(found.size)
    if (bytes > this.#of.fileBytesMax) return this.#leave('too_large', file)
    const { documentsMax, bytesMax } = this.#options.bounds
    if (this.documents.length >= documentsMax || this.bytes + bytes > bytesMax)
      return this.#leave('over_bounds', file)
    this.bytes += bytes
    const settled =
      Number(found.mtimeNs / 1_000_000n) < this.#options.nowMs - unsettledMs &&
      Number(found.ctimeNs / 1_000_000n) < this.#options.nowMs - unsettledMs
    const state = settled ? [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : ''
    this.documents.push({ file, format, bytes, state, open: () => entry.open() })
  }

  #leave(reason: LeftOutReason, file: string): void {
    this.leftOut[reason] = (this.leftOut[reason] ?? 0) + 1
    const examples = (this.examples[reason] ??= [])
    if (examples.length < 3) examples.push(file)
  }
}

// Which files are documents, by the end of their name. Only formats that are text.

/** `markdown` has headings; of `html`, the text between the tags is searched. */
type DocumentFormat = 'text' | 'markdown' | 'html'

const formats: ReadonlyMap<string, DocumentFormat> = new Map([
  ...['md', 'markdown', 'mdx'].map((end) => [end, 'markdown'] as const),
  ...['html', 'htm', 'xhtml'].map((end) => [end, 'html'] as const),
  ...[
    'txt',
    'text',
    'rst',
    'adoc',
    'asciidoc',
    'org',
    'tex',
    'csv',
    'tsv',
    'json',
    'jsonl',
    'yaml',
    'yml',
    'log',
  ].map((end) => [end, 'text'] as const),
])

/** The format of a file, or `null` if it is no document. */
function formatOf(file: string): DocumentFormat | null {
  const [, end = ''] = /\.([a-z]{1,10})$/i.exec(file) ?? []
  return formats.get(end.toLowerCase()) ?? null
}
