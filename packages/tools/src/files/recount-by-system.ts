// Recounts with the system's own `find` and `wc`. `find` starts in the folder and gets `.`, so no name can be
// read as an option, and the folder's own name is never ignored. wc gets the files open, not their names, so
// it counts what find found, even if another program puts a link in its place.
import { type ChildProcess, spawn } from 'node:child_process'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { ignoredFolders, openBelow, type OpenedFolder, ToolFailure } from '@beaver/agent/tool-kit'
import { type Figures, noFigures } from './figures.ts'

const programMsMax = 120_000
const problemsMax = 5
const filesAtOnce = 256

/** Whether the system has `find` and a `wc` that knows UTF-8. Checked once per process. */
export async function systemCounts(signal: AbortSignal): Promise<boolean> {
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

export async function recountBySystem(
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
  const found = await run('find', findArguments, {
    cwd: from.folder.here.toString(),
    signal,
    name: (name) => names.push(name),
  })
  for (const problem of found.complaints) problems.add(problem)
  totals.files = names.length
  for (let at = 0; at < names.length; at += filesAtOnce) await count(names.slice(at, at + filesAtOnce))
  return { totals, problems: [...problems].slice(0, problemsMax) }
}

const findArguments = [
  '.',
  '-type',
  'd',
  '(',
  ...ignoredFolders.flatMap((name, i) => (i === 0 ? ['-name', name] : ['-o', '-name', name])),
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
