// Recounts with the system's own `find` and `wc`.
// Y1. `find` starts in the folder and gets `.`, so no name can be read as an option, and the folder's own name is never ignored.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { ignoredFolders, ToolFailure, type WorkspacePath } from '@beaver/agent/tool-kit'
import { type Figures, noFigures } from './figures.ts'

const programMsMax = 120_000
const problemsMax = 5

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
  const find = await run('find', ['.', '-prune', '-type', 'd', '-print0'], { cwd: '/', signal, line: () => undefined })
  return wc.ran && find.ran && words.trim() === '2'
}

export async function recountBySystem(folder: WorkspacePath, signal: AbortSignal): Promise<{ totals: Figures; problems: string[] }> {
  const totals = noFigures()
  const problems = new Set<string>()
  const prune = [
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
  ]
  const options = { cwd: folder.absolute, signal }
  // NULs are counted, because a name may contain line breaks.
  const found = await run('find', [...prune, '-print0'], { ...options, nulCount: (count) => (totals.files += count) })
  const counted = await run('find', [...prune, '-exec', 'wc', '-lwc', '{}', '+'], {
    ...options,
    line: (line) => {
      // GNU wc quotes a name with a line break, so a line is a file. Names begin with `./`, so a bare `total` is a sum.
      const [, lines, words, bytes, name] = /^\s*(\d+)\s+(\d+)\s+(\d+) (.*)$/s.exec(line) ?? []
      if (lines === undefined || name === 'total') return
      totals.lines += Number(lines)
      totals.words += Number(words)
      totals.bytes += Number(bytes)
    },
  })
  for (const problem of [...found.complaints, ...counted.complaints]) problems.add(problem)
  return { totals, problems: [...problems].slice(0, problemsMax) }
}

interface RunOptions {
  readonly cwd: string
  readonly signal: AbortSignal
  readonly stdin?: string
  /** Receives each line of the output. */
  readonly line?: (line: string) => void
  /** Receives the number of NUL bytes in each part of the output. */
  readonly nulCount?: (count: number) => void
}

/**
 * Runs a program to its end. `ran` is false if the program does not exist.
 *
 * @throws {ToolFailure} `recount_failed`; the abort of `signal`
 */
async function run(program: string, args: readonly string[], options: RunOptions): Promise<{ ran: boolean; complaints: string[] }> {
  const { signal } = options
  signal.throwIfAborted()
  // A process group of its own, so that a kill also ends the wc that find started.
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'pipe'],
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
    child.stdin.on('error', () => undefined)
    child.stdin.end(options.stdin ?? '')
    const complaints: string[] = []
    eachLine(child.stderr, (line) => {
      if (complaints.length < problemsMax) complaints.push(line.slice(0, 300))
    })
    const { nulCount, line } = options
    if (nulCount !== undefined) child.stdout.on('data', (chunk: Buffer) => nulCount(nulsIn(chunk)))
    else if (line !== undefined) eachLine(child.stdout, line)
    const { code, error } = await ended
    signal.throwIfAborted()
    if (error?.code === 'ENOENT') return { ran: false, complaints }
    if (error !== undefined) throw new ToolFailure('recount_failed', `${program} could not be started: ${error.message}`)
    if (code === null) throw new ToolFailure('recount_failed', `${program} was stopped after ${programMsMax} ms or killed.`)
    return { ran: true, complaints }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Only a line feed ends a line: a name may contain a carriage return, at which `node:readline` would split. */
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
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The group has ended by itself.
  }
}

function nulsIn(chunk: Buffer): number {
  let count = 0
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count++
  return count
}
