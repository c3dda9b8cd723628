// Decides where the calls of a tool run: in a cell if the tool asks for one or is suspect, so that an endless
// loop, a full heap or a crash harms no other call. A suspect tool runs in a process, because a thread that
// hangs in a system call cannot be ended; it keeps the environment that it had. A cell loads a module only
// while it has the accepted content.
import type { Serializable } from 'node:child_process'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Port } from '@beaver/core/port-calls'
import { type AcceptedFiles, changedFile, type Tool, type ToolContext } from '../tool.ts'
import {
  childEnvironment,
  confined,
  noSandbox,
  type SandboxOptions,
  wholeEnvironment,
} from '../sandbox/sandbox.ts'
import { groupsSupported, startGroup } from '../process/process-group.ts'
import { withTrace } from '../trace-variables.ts'
import { packageRoot } from '../sandbox/confinement.ts'
import { thrownText, ToolFailure, ToolInputError } from '../tool-failure.ts'
import { type CellAnswer, type CellCall, cellGraceMs, cellHeapMbMax } from './cell-call.ts'
import { callCell, cellPrints } from './cell-end.ts'
import { fullHeapListener, isFullHeap, outOfMemory } from './full-heap.ts'

// Limits how many cells run at the same time, and keeps the queue for them. At most `cellsMax` slots are
// taken. At most `waitingMax` callers wait, first come first served. A caller that stops waiting leaves the
// queue.

interface CellSlots {
  /**
   * Resolves to the function that frees the slot.
   *
   * @throws {ToolFailure} `cells_busy`; the reason of `signal`
   */
  take(signal: AbortSignal): Promise<() => void>
}

export function cellSlots(cellsMax: number, waitingMax: number): CellSlots {
  let taken = 0
  const waiting = new Set<() => void>()
  const free = (): void => {
    const [next] = waiting
    if (next === undefined) taken--
    else next()
  }
  return {
    async take(signal) {
      signal.throwIfAborted()
      if (taken < cellsMax) {
        taken++
        return free
      }
      if (waiting.size >= waitingMax)
        throw new ToolFailure(
          'cells_busy',
          `${cellsMax} tools already run in cells, and ${waitingMax} wait. Call it again later.`,
        )
      return await new Promise((resolve, reject) => {
        const begin = (): void => {
          waiting.delete(begin)
          signal.removeEventListener('abort', leave)
          resolve(free)
        }
        const leave = (): void => {
          waiting.delete(begin)
          reject(signal.reason as Error)
        }
        waiting.add(begin)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}

/** The slots of each worker thread. */
const slots = cellSlots(8, 256)

/** Where a tool's calls run. */
export interface CellOptions {
  /**
   * Of a tool that asks for a process. Default: none. A suspect tool gets none, because it had the rights of
   * the daemon before.
   */
  readonly sandbox?: SandboxOptions | undefined
  /** The files to whose content the user agreed. Default: none needs it. */
  readonly accepted?: AcceptedFiles | undefined
}

/**
 * @param module the URL of the module that exports the tool under its name; a tool without isolation stays
 * inline until it is suspect
 */
export function inCell(
  tool: Tool,
  module: string,
  { sandbox = noSandbox, accepted = {} }: CellOptions = {},
): Tool {
  const isolation = tool.isolation ?? 'inline'
  // A tool may be an instance of a class, so its methods must stay reachable.
  if (isolation === 'inline') return Object.assign(Object.create(tool) as Tool, { module, accepted })
  return {
    ...tool,
    module,
    accepted,
    invoke(args, context) {
      refuseChanged(accepted)
      if (isolation === 'process' && !groupsSupported)
        throw new ToolFailure(
          'not_supported',
          `${tool.name} needs a process group of its own, which this system does not have.`,
        )
      const call = callOf(tool.name, module, args, context)
      return inSlot(context.signal, () =>
        isolation === 'thread'
          ? runInThread(call, context.signal, context.progress)
          : runInProcess(
              call,
              { env: childEnvironment(), sandbox, onProgress: context.progress },
              context.signal,
            ),
      )
    },
  }
}

/**
 * Makes one call of an inline tool in a process of its own, or in a thread if the system has no process
 * groups.
 *
 * @param target.onStart called when the cell is about to make the call, if the cell can tell
 */
export function invokeInCell(
  target: { tool: string; module: string; accepted: AcceptedFiles | undefined; onStart: () => void },
  args: unknown,
  context: ToolContext,
): Promise<string> {
  refuseChanged(target.accepted ?? {})
  const call = callOf(target.tool, target.module, args, context)
  return inSlot(context.signal, () =>
    groupsSupported
      ? runInProcess(
          call,
          { env: wholeEnvironment(), onStart: target.onStart, onProgress: context.progress },
          context.signal,
        )
      : runInThread(call, context.signal, context.progress),
  )
}

function refuseChanged(accepted: AcceptedFiles): void {
  const changed = changedFile(accepted)
  if (changed !== null) throw new ToolFailure('tool_changed', changed)
}

function callOf(tool: string, module: string, args: unknown, context: ToolContext): CellCall {
  const { workspace, taskId, sessionId, runId, callId, teamContext, trace } = context
  const team = {
    ...(teamContext === undefined ? {} : { teamContext }),
    ...(trace === undefined ? {} : { trace }),
  }
  return {
    module,
    tool,
    args,
    at: { workspace: resolve(workspace), taskId, sessionId, runId, callId, ...team },
  }
}

async function inSlot(signal: AbortSignal, run: () => ReturnType<typeof runInThread>): Promise<string> {
  const free = await slots.take(signal)
  try {
    const answer = await run()
    if (answer.kind === 'done') return answer.content
    if (answer.kind === 'crash') throw new Error(answer.message)
    throw answer.kind === 'input'
      ? new ToolInputError(answer.message)
      : new ToolFailure(answer.code, answer.message)
  } finally {
    free()
  }
}

// Makes a call in a worker thread of its own. The promise settles only after the thread is gone. After the
// abort the thread may clean up for `cellGraceMs`. Then it is terminated, whatever it does. A full heap ends
// only the cell.

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './thread-entry.ts' : './thread-entry.js',
  import.meta.url,
)

/** @throws the reason of `signal` if it ended the cell */
function runInThread(
  call: CellCall,
  signal: AbortSignal,
  onProgress: ToolContext['progress'],
): Promise<CellAnswer> {
  const worker = new Worker(entry, {
    name: `tool ${call.tool}`,
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: cellHeapMbMax, maxYoungGenerationSizeMb: 32 },
  })
  const prints = cellPrints()
  worker.stdout.on('data', prints.hear).once('end', prints.end)
  worker.stderr.on('data', prints.hear).once('end', prints.end)
  let answer: CellAnswer | null = null
  let grace: NodeJS.Timeout | undefined
  const end = (how: CellAnswer): void => {
    answer ??= how
    void worker.terminate()
  }
  const stop = new AbortController()
  const onAbort = (): void => {
    stop.abort(thrownText(signal.reason))
    grace = setTimeout(() => void worker.terminate(), cellGraceMs)
  }
  void callCell(worker, { call, signal: stop.signal, started: () => {}, progress: onProgress }).then(end)
  worker.once('messageerror', (error: Error) => end({ kind: 'crash', message: thrownText(error) }))
  worker.once('error', (error: Error) =>
    end(isFullHeap(error) ? outOfMemory(call) : { kind: 'crash', message: thrownText(error) }),
  )
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => {
      clearTimeout(grace)
      signal.removeEventListener('abort', onAbort)
      if (signal.aborted) reject(signal.reason as Error)
      else resolve(answer ?? { kind: 'crash', message: `its thread ended with code ${code} and no answer.` })
    })
  })
}

// Makes a call in a child process of its own, which is killed with everything that it started. A tool that
// asked for the cell gets `childEnvironment`, without keys; a suspect tool keeps the daemon's environment,
// which it had before. It runs in the sandbox of this machine, with its workspace and the packages of its
// module.

const processCellEntry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './process-entry.ts' : './process-entry.js', import.meta.url),
)

interface ProcessCellOptions {
  readonly env: Record<string, string>
  /** Default: none. */
  readonly sandbox?: SandboxOptions
  /** Called when the cell is about to make the call. */
  readonly onStart?: () => void
  readonly onProgress: ToolContext['progress']
}

/** @throws the reason of `signal` if it ended the cell */
async function runInProcess(
  call: CellCall,
  { env, onStart, onProgress, sandbox = noSandbox }: ProcessCellOptions,
  signal: AbortSignal,
): Promise<CellAnswer> {
  signal.throwIfAborted()
  const { workspace } = call.at
  const readable = [
    packageRoot(fileURLToPath(call.module)),
    packageRoot(processCellEntry),
    dirname(dirname(process.execPath)),
  ]
  // The author of the tool decides whether it uses the network.
  const confinement = { cwd: workspace, writable: [workspace], readable, network: true, path: env['PATH'] }
  const confinedCommand = await confined(sandbox, confinement, [
    process.execPath,
    `--max-old-space-size=${cellHeapMbMax}`,
    processCellEntry,
  ])
  signal.throwIfAborted()
  const own = confinedCommand.backend === 'none' ? {} : { HOME: '/tmp', TMPDIR: '/tmp' }
  const group = startGroup(confinedCommand.program, confinedCommand.args, {
    cwd: workspace,
    env: withTrace({ ...env, ...own }, call.at.trace),
    ipc: true,
  })
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
  const port: Port = {
    postMessage: (message) => void child.send(message as Serializable, () => undefined),
    on: (event, listener) => child.on(event, listener),
  }
  const stop = new AbortController()
  const onAbort = (): void => {
    stop.abort(thrownText(signal.reason))
    grace = setTimeout(() => group.kill('SIGKILL'), cellGraceMs)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  void callCell(port, {
    call,
    signal: stop.signal,
    started: () => onStart?.(),
    progress: onProgress,
  }).then((sent) => {
    answer ??= sent
    group.kill('SIGKILL')
  })
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
