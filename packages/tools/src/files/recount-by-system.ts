// The recount by the system's own `find` and `wc`.
// Y1. `find` starts in the folder and is told `.`, so that no name can be taken for an option and the folder's own name ignores nothing.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { ignoredFolders, ToolFailure, type WorkspacePath } from '@beaver/agent/tool-kit'
import { type Figures, noFigures } from './figures.ts'

const programMsMax = 120_000
const problemsMax = 5

/** Whether `find` and a `wc` that knows UTF-8 are here. Asked once a process. */
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
  // Without the locale, wc sees bytes and finds no word in the Chinese one.
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
  // NULs, not lines: a name may hold line breaks.
  const found = await run('find', [...prune, '-print0'], { ...options, nulCount: (count) => (totals.files += count) })
  const counted = await run('find', [...prune, '-exec', 'wc', '-lwc', '{}', '+'], {
    ...options,
    line: (line) => {
      // GNU wc quotes a name with a line break in it, so that a line is a file. `total` alone is a sum: names begin with `./`.
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
  /** Takes each line of the output. */
  readonly line?: (line: string) => void
  /** Takes the number of NUL bytes in each part of the output. */
  readonly nulCount?: (count: number) => void
}

/** Runs a program to its end. `ran` is false when there is no such program. @throws {ToolFailure} `recount_failed`; the abort of `signal` */
async function run(program: string, args: readonly string[], options: RunOptions): Promise<{ ran: boolean; complaints: string[] }> {
  const { signal } = options
  signal.throwIfAborted()
  // A process group of its own: killing it takes the wc that find started along.
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

/** Lines end at a line feed and nothing else: a name may hold a carriage return, which `node:readline` would take for one. */
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
    // It has ended by itself.
  }
}

function nulsIn(chunk: Buffer): number {
  let count = 0
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count++
  return count
}
