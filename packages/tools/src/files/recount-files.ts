// recount_files: counts a folder's files again by other means than file_stats, and compares. It shares no
// counting code with file_stats: it uses the system's own `find` and `wc`, or a second algorithm if they are
// missing. No shell runs, and the programs and their arguments are fixed. The programs are killed if the call
// is cancelled or too slow.
import type { ChildProcess } from 'node:child_process'
import { type FileHandle, opendir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  closedFolderIds,
  defineTool,
  holdBelow,
  ignoredFolders,
  openBelow,
  type OpenedFolder,
  openFolderInside,
  spawn,
  ToolFailure,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { figureNames, type Figures, figures, noFigures } from './figures.ts'
import { shownPath } from './new-path.ts'
import { mayFollow } from './read-file.ts'

export interface Difference {
  readonly figure: keyof Figures
  readonly expected: number
  readonly found: number
}

export interface Recount {
  readonly path: string
  readonly method: 'find and wc' | 'second algorithm in process'
  readonly totals: Figures
  /** `null` if there were no figures to compare. */
  readonly agrees: boolean | null
  readonly differences: readonly Difference[]
  /** The error messages of `find` and `wc`, if there were any. */
  readonly problems: readonly string[]
  /** A shell line that prints the same figures. */
  readonly command: string
}

export const recountFiles = defineTool({
  name: 'recount_files',
  description: 'Counts again. "expected": the totals of file_stats.',
  input: z.strictObject({
    path: z.string().default('.'),
    expected: figures.partial().optional(),
  }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  async run({ path, expected }, context): Promise<Recount> {
    await using from = await openFolderInside(workspaceRoot(context.workspace), path)
    mayFollow(path, from, context)
    const bySystem = await systemCounts(context.signal)
    const { totals, problems } = bySystem
      ? await recountBySystem(from, context.signal)
      : await recountInProcess(from, context.signal)
    const differences = differencesOf(expected ?? {}, totals)
    return {
      path: from.shown,
      method: bySystem ? 'find and wc' : 'second algorithm in process',
      totals,
      agrees: expected === undefined || Object.keys(expected).length === 0 ? null : differences.length === 0,
      differences,
      problems,
      command: checkCommand(from.folder.path.toString()),
    }
  },
})

function differencesOf(
  expected: { readonly [K in keyof Figures]?: number | undefined },
  found: Figures,
): Difference[] {
  return figureNames.flatMap((figure) => {
    const wanted = expected[figure]
    return wanted === undefined || wanted === found[figure]
      ? []
      : [{ figure, expected: wanted, found: found[figure] }]
  })
}

/**
 * For a POSIX shell. Every path from `find` begins with `./`, so a line with only `total` is one of wc's
 * sums.
 */
export function checkCommand(folder: string): string {
  const ignored = ignoredFolders.map((name) => `-name ${name}`).join(' -o ')
  return (
    `(cd '${folder.replaceAll("'", String.raw`'\''`)}' && find . -type d \\( ${ignored} \\) -prune -o -type f -print0 | LC_ALL=C.UTF-8 xargs -0 -r wc -lwc | ` +
    `awk '$4 != "total" {f++; l+=$1; w+=$2; b+=$3} END {printf "%.0f files, %.0f lines, %.0f words, %.0f bytes\\n", f, l, w, b}')`
  )
}

// Recounts if the system has no `find` and `wc`: it reads the folder depth first, and splits the decoded text
// with regular expressions. By design it shares neither the walk nor the counting with file_stats.

/**
 * A piece is cut at its last line break. Only a line longer than this is cut elsewhere, and then a word may
 * count twice.
 */
const pieceBytesMax = 8 * 1024 * 1024
const problemsMax = 5
const ignored = /^(?:\.git|node_modules|\.beaver)$/
const word = /[^\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u202f\u205f\u2060\u3000]+/gu
const nothing = /[\p{Cc}\p{Cn}\p{Cs}\u2028\u2029\ufffd]/gu
const blank = /[\t\n\v\f\r]/

export async function recountInProcess(
  from: OpenedFolder,
  signal: AbortSignal,
): Promise<{ totals: Figures; problems: string[] }> {
  const totals = noFigures()
  const problems: string[] = []
  const complain = (error: unknown): void => {
    signal.throwIfAborted()
    if (problems.length < problemsMax) problems.push((error as Error).message)
  }
  /** Relative to the folder. `null`: the folder itself. */
  const folders: (Buffer | null)[] = [null]
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    signal.throwIfAborted()
    try {
      await using held = at === null ? null : await holdBelow(from, at)
      // The names are read as bytes, which the types of opendir do not declare.
      for await (const entry of await opendir((held ?? from.folder).here.toString(), {
        encoding: 'buffer' as BufferEncoding,
      })) {
        const name = entry.name as unknown as Buffer
        const path = at === null ? name : Buffer.concat([at, Buffer.from('/'), name])
        if (entry.isDirectory() && !ignored.test(name.toString())) folders.push(path)
        if (!entry.isFile()) continue
        totals.files++
        await openBelow(from, path)
          .then((handle) => recountFile(handle, totals, signal))
          .catch(complain)
      }
    } catch (error) {
      if (!(error instanceof ToolFailure && error.code === 'protected_path')) complain(error)
    }
  }
  return { totals, problems }
}

/** Closes the file. */
async function recountFile(handle: FileHandle, totals: Figures, signal: AbortSignal): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of handle.createReadStream({
    signal,
    highWaterMark: 1024 * 1024,
  }) as AsyncIterable<Buffer>) {
    totals.bytes += chunk.length
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const cut = all.lastIndexOf(0x0a) + 1 || (all.length > pieceBytesMax ? all.length : 0)
    recountPiece(all.subarray(0, cut), totals)
    rest = all.subarray(cut)
  }
  recountPiece(rest, totals)
}

function recountPiece(piece: Buffer, totals: Figures): void {
  // A U+FFFD in the file is printable, so it is replaced first. After this, a U+FFFD in the decoded text
  // means invalid bytes.
  const text = piece.toString('latin1').includes('\xef\xbf\xbd')
    ? Buffer.from(piece.toString('latin1').replaceAll('\xef\xbf\xbd', 'x'), 'latin1').toString()
    : piece.toString()
  totals.lines += text.split('\n').length - 1
  const plain = text.replace(nothing, (character) => (blank.test(character) ? character : ''))
  totals.words += plain.match(word)?.length ?? 0
}

// Recounts with the system's own `find` and `wc`. `find` starts in the folder and gets `.`, so no name can be
// read as an option, and the folder's own name is never ignored. wc gets the files open, not their names, so
// it counts what find found, even if another program puts a link in its place.

const programMsMax = 120_000
const filesAtOnce = 256

/** Whether the system has `find` and a `wc` that knows UTF-8. Checked once per process. */
async function systemCounts(signal: AbortSignal): Promise<boolean> {
  known ??= ask(signal).catch((error: unknown) => {
    known = undefined
    throw error
  })
  return await known
}

let known: Promise<boolean> | undefined

async function ask(signal: AbortSignal): Promise<boolean> {
  if (process.platform === 'win32') return false
  let words = ''
  // Without the locale, wc reads bytes and finds no word in the Chinese text.
  const wc = await run('wc', ['-w'], { cwd: '/', signal, stdin: '中 é', line: (line) => (words += line) })
  const find = await run('find', ['.', '-prune', '-type', 'd', '-print0'], {
    cwd: '/',
    signal,
    line: () => undefined,
  })
  return wc.ran && find.ran && words.trim() === '2'
}

async function recountBySystem(
  from: OpenedFolder,
  signal: AbortSignal,
): Promise<{ totals: Figures; problems: string[] }> {
  const totals = noFigures()
  const problems = new Set<string>()
  const add = (line: string): void => {
    const [, lines, words, bytes, name] = /^\s*(\d+)\s+(\d+)\s+(\d+) (.*)$/s.exec(line) ?? []
    if (lines === undefined || name === 'total') return
    totals.lines += Number(lines)
    totals.words += Number(words)
    totals.bytes += Number(bytes)
  }
  const count = async (names: readonly Buffer[]): Promise<void> => {
    const opened = await Promise.allSettled(names.map((name) => openBelow(from, name)))
    const files = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    for (const [i, each] of opened.entries())
      if (each.status === 'rejected')
        problems.add(
          `${names[i]?.toString() ?? ''}: cannot be opened (${(each.reason as NodeJS.ErrnoException).code ?? 'unknown'})`,
        )
    try {
      if (files.length === 0) return
      const counted = await run('wc', ['-lwc', ...files.map((_, i) => `/dev/fd/${i + 3}`)], {
        cwd: '/',
        signal,
        line: add,
        files,
      })
      for (const problem of counted.complaints) problems.add(problem)
    } finally {
      for (const file of files) await file.close()
    }
  }
  // The folder is held, so find starts in this folder, whatever is at its path by now.
  const names: Buffer[] = []
  const found = await run('find', findArguments(), {
    cwd: from.folder.here.toString(),
    signal,
    name: (name) => names.push(name),
  })
  for (const problem of found.complaints) problems.add(problem)
  totals.files = names.length
  for (let at = 0; at < names.length; at += filesAtOnce) await count(names.slice(at, at + filesAtOnce))
  return { totals, problems: [...problems].slice(0, problemsMax) }
}

/** `find` knows a closed folder by its inode. */
const findArguments = (): string[] => [
  '.',
  '-type',
  'd',
  '(',
  ...ignoredFolders.flatMap((name, i) => (i === 0 ? ['-name', name] : ['-o', '-name', name])),
  ...closedFolderIds().flatMap(({ ino }) => ['-o', '-inum', String(ino)]),
  ')',
  '-prune',
  '-o',
  '-type',
  'f',
  '-print0',
]

interface RunOptions {
  readonly cwd: string
  readonly signal: AbortSignal
  readonly stdin?: string
  /** Receives each line of the output. */
  readonly line?: (line: string) => void
  /** Receives each name of an output in which names end with NUL, without the `./` that begins them. */
  readonly name?: (name: Buffer) => void
  /** Open files that the program gets, from descriptor 3 on. */
  readonly files?: readonly FileHandle[]
}

/**
 * Runs a program to its end. `ran` is false if the program does not exist.
 *
 * @throws {ToolFailure} `recount_failed`; the abort of `signal`
 */
async function run(
  program: string,
  args: readonly string[],
  options: RunOptions,
): Promise<{ ran: boolean; complaints: string[] }> {
  const { signal } = options
  signal.throwIfAborted()
  // A process group of its own, so that a kill also ends the wc that find started.
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'pipe', ...(options.files ?? []).map(({ fd }) => fd)],
    detached: true,
  })
  const stop = (): void => killGroup(child)
  const timer = setTimeout(stop, programMsMax)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const ended = new Promise<{ code: number | null; error?: NodeJS.ErrnoException }>((resolve) => {
      child.once('error', (error) => resolve({ code: null, error }))
      child.once('close', (code) => resolve({ code }))
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.stdin ?? '')
    const complaints: string[] = []
    eachLine(child.stderr as Readable, (line) => {
      if (complaints.length < problemsMax) complaints.push(line.slice(0, 300))
    })
    const { name, line } = options
    if (name !== undefined) eachName(child.stdout as Readable, name)
    else if (line !== undefined) eachLine(child.stdout as Readable, line)
    const { code, error } = await ended
    signal.throwIfAborted()
    if (error?.code === 'ENOENT') return { ran: false, complaints }
    if (error !== undefined)
      throw new ToolFailure('recount_failed', `${program} could not be started: ${error.message}`)
    if (code === null)
      throw new ToolFailure('recount_failed', `${program} was stopped after ${programMsMax} ms or killed.`)
    return { ran: true, complaints }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Only a line feed ends a line: a name may contain a carriage return, at which `node:readline` would split.
 */
function eachLine(output: Readable, take: (line: string) => void): void {
  let rest = ''
  output.setEncoding('utf8')
  output.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
  output.on('end', () => {
    if (rest !== '') take(rest)
  })
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The group has ended by itself.
  }
}

/** Names are bytes, and may contain line breaks. */
function eachName(output: Readable, take: (name: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  output.on('data', (chunk: Buffer) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let from = 0
    for (let at = all.indexOf(0); at !== -1; at = all.indexOf(0, from)) {
      take(all.subarray(from + 2, at))
      from = at + 1
    }
    rest = Buffer.from(all.subarray(from))
  })
}
