// Finds the documents of a folder without reading them, and says which files are left out. Symlinks are not
// followed, and a file with a second name (a hard link) is left out, because the other name may be outside
// the folder. Files whose names usually mean keys or passwords are left out, and so is Beaver's home. The
// order does not depend on the disk, so the bounds always leave out the same files.
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

/** The reasons why files are not part of the knowledge base, each in words for people. */
export const leftOutReasons = {
  other_format: 'of another format',
  too_large: 'larger than file_bytes_max',
  link: 'links',
  secret: 'named like files with keys or passwords',
  unreadable: 'not readable',
  binary: 'binary',
  over_bounds: 'beyond the bounds of a knowledge base',
} as const
/** The reason why a file is not part of the knowledge base. */
export type LeftOutReason = keyof typeof leftOutReasons

/** A document that was found. */
export interface FoundDocument {
  /** The path relative to the folder, with `/` between its parts. */
  readonly file: string
  readonly format: DocumentFormat
  readonly bytes: number
  /**
   * A text that changes when the file changes. Empty if a change could go unnoticed; then the file must be
   * read.
   */
  readonly state: string
  /** Opens the file, until the survey is closed. Throws as `WalkedEntry.open` does. */
  open(): Promise<FileHandle>
}

/** The documents and the left-out files of a folder. The caller must close the survey. */
export interface Survey extends AsyncDisposable {
  readonly documents: readonly FoundDocument[]
  /** The sum of the sizes of the documents, in bytes. */
  readonly bytes: number
  /** The number of files that were left out, for each reason. */
  readonly leftOut: Readonly<Partial<Record<LeftOutReason, number>>>
  /** Up to three paths for each reason. */
  readonly examples: Readonly<Partial<Record<LeftOutReason, readonly string[]>>>
}

type Surveyed = Pick<KnowledgeFolder, 'id' | 'folder' | 'fileBytesMax'>

/** The options of a survey. */
export interface SurveyOptions {
  readonly bounds: Pick<KnowledgeBounds, 'documentsMax' | 'bytesMax'>
  /** The absolute path of Beaver's home, which is left out. */
  readonly home: string
  readonly nowMs: number
  readonly signal: AbortSignal
}

/** The options of a survey that is only shown to a person. */
export const surveyOptions = (home: string, nowMs: number): SurveyOptions => ({
  bounds: knowledgeBounds,
  home,
  nowMs,
  signal: new AbortController().signal,
})

/**
 * Looks at the folder. The folder stays open until the survey is closed.
 *
 * @throws {BeaverError} `not_found` if the folder cannot be listed
 * @throws the reason of `signal` if it aborts
 */
export async function surveyFolder(surveyed: Surveyed, options: SurveyOptions): Promise<Survey> {
  const from = await openedFolder(surveyed)
  try {
    const count = new Count(surveyed, options)
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
    throw error instanceof ToolFailure ? missing(surveyed, error.message) : error
  }
}

async function close(from: OpenedFolder): Promise<void> {
  await from[Symbol.asyncDispose]()
}

async function openedFolder(surveyed: Surveyed): Promise<OpenedFolder> {
  try {
    if (!(await stat(surveyed.folder)).isDirectory()) throw missing(surveyed, 'It is not a folder.')
    return await openFolderInside(workspaceRoot(surveyed.folder), '.')
  } catch (error) {
    if (error instanceof BeaverError) throw error
    const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
    throw missing(surveyed, code === 'ENOENT' ? 'It does not exist.' : `It cannot be opened (${code}).`)
  }
}

const missing = ({ id, folder }: Surveyed, why: string): BeaverError =>
  new BeaverError(
    'not_found',
    `The folder ${folder} of the knowledge base ${JSON.stringify(id)} cannot be searched. ${why} Correct "knowledge_bases.${id}.folder".`,
  )

/**
 * The home's path relative to the folder, as the walk shows it; `null` if the home is not below the folder.
 */
async function homeBelow(root: string, home: string): Promise<string | null> {
  const way = relative(root, await realpath(home).catch(() => home))
  return way === '' || way === '..' || way.startsWith(`..${sep}`) ? null : way.split(sep).join('/')
}

/**
 * Two changes of a file within this time, in milliseconds, may leave the same timestamps. A file that changed
 * so recently has no state.
 */
const unsettledMs = 2_000

class Count {
  readonly documents: FoundDocument[] = []
  readonly leftOut: Partial<Record<LeftOutReason, number>> = {}
  readonly examples: Partial<Record<LeftOutReason, string[]>> = {}
  bytes = 0
  readonly #surveyed: Surveyed
  readonly #options: SurveyOptions

  constructor(surveyed: Surveyed, options: SurveyOptions) {
    this.#surveyed = surveyed
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
    // This looks at the name only. The content is read later through the folder that is held open.
    const found = lstatSync(`${root}/${file}`, { bigint: true, throwIfNoEntry: false })
    // A name that is not UTF-8 finds no file, and nobody could cite it.
    if (found === undefined || !found.isFile()) return this.#leave('unreadable', file)
    if (found.nlink > 1n) return this.#leave('link', file)
    const bytes = Number(found.size)
    if (bytes > this.#surveyed.fileBytesMax) return this.#leave('too_large', file)
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

// Which files are documents, by the ends of their names. All formats are text.

/** In `markdown`, headings are recognized. In `html`, the text between the tags is searched. */
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

/** The format of a file; `null` if the file is not a document. */
function formatOf(file: string): DocumentFormat | null {
  const [, end = ''] = /\.([a-z]{1,10})$/i.exec(file) ?? []
  return formats.get(end.toLowerCase()) ?? null
}
