// Makes a call in a child process of its own, which is killed with everything that it started. C1 to C3 are
// those of thread-cell.ts. The caller gives the environment: `childEnvironment`, without keys, for a tool
// that asked for the cell; the daemon's environment for a tool that is put there, because it had this
// environment in the thread. It runs in the sandbox that this machine has, with its workspace and the
// packages of its module.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGroup } from '../process/process-group.ts'
import { packageRoot } from '../sandbox/confinement.ts'
import { confined, noSandbox, type SandboxOptions } from '../sandbox/sandbox.ts'
import type { ToolContext } from '../tool.ts'
import { type CellAnswer, type CellCall, cellGraceMs, cellHeapMbMax } from './cell-call.ts'
import { abortOf, cellPrints, sentByCell } from './cell-end.ts'
import { fullHeapListener, outOfMemory } from './full-heap.ts'

const entry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './process-entry.ts' : './process-entry.js', import.meta.url),
)

export interface ProcessCellOptions {
  readonly env: Record<string, string>
  /** Default: none. */
  readonly sandbox?: SandboxOptions
  /** Called when the cell is about to make the call. */
  readonly onStart?: () => void
  readonly onProgress: ToolContext['progress']
}

/** @throws the reason of `signal` if it ended the cell */
export async function runInProcess(
  call: CellCall,
  { env, onStart, onProgress, sandbox = noSandbox }: ProcessCellOptions,
  signal: AbortSignal,
): Promise<CellAnswer> {
  signal.throwIfAborted()
  const { workspace } = call.at
  const readable = [
    packageRoot(fileURLToPath(call.module)),
    packageRoot(entry),
    dirname(dirname(process.execPath)),
  ]
  // The author of the tool decides whether it uses the network.
  const of = { cwd: workspace, writable: [workspace], readable, network: true, path: env['PATH'] }
  const what = await confined(sandbox, of, [process.execPath, `--max-old-space-size=${cellHeapMbMax}`, entry])
  signal.throwIfAborted()
  const own = what.backend === 'none' ? {} : { HOME: '/tmp', TMPDIR: '/tmp' }
  const group = startGroup(what.program, what.args, { cwd: workspace, env: { ...env, ...own }, ipc: true })
  const { child } = group
  const prints = cellPrints()
  const hearsFullHeap = fullHeapListener()
  let full = false
  child.stdout?.on('data', prints.hear)
  child.stderr?.on('data', (chunk: Buffer) => {
    full = hearsFullHeap(chunk)
    prints.hear(chunk)
  })
  let answer: CellAnswer | null = null
  let grace: NodeJS.Timeout | undefined
  child.on('message', (message: unknown) => {
    const sent = sentByCell(message)
    if (sent.kind === 'started') return onStart?.()
    if (sent.kind === 'progress') return onProgress(sent.update)
    answer ??= sent
    group.kill('SIGKILL')
  })
  const send = (message: object): void => void child.send(message, () => undefined)
  const onAbort = (): void => {
    send(abortOf(signal))
    grace = setTimeout(() => group.kill('SIGKILL'), cellGraceMs)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  send(call)
  const { exitCode, signal: endedBy, error } = await group.ended
  clearTimeout(grace)
  prints.end()
  signal.removeEventListener('abort', onAbort)
  signal.throwIfAborted()
  if (answer !== null) return answer
  if (full) return outOfMemory(call)
  return {
    kind: 'crash',
    message: error?.message ?? `its process ended with ${endedBy ?? `code ${exitCode}`} and no answer.`,
  }
}
