// Makes a call in a worker thread of its own. The promise settles only after the thread is gone. After the
// abort the thread may clean up for `cellGraceMs`. Then it is terminated, whatever it does. A full heap ends
// only the cell.
import { Worker } from 'node:worker_threads'
import { thrownText } from '../tool-failure.ts'
import type { ToolContext } from '../tool.ts'
import { type CellAnswer, type CellCall, cellGraceMs, cellHeapMbMax } from './cell-call.ts'
import { abortOf, cellPrints, sentByCell } from './cell-end.ts'
import { isFullHeap, outOfMemory } from './full-heap.ts'

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './thread-entry.ts' : './thread-entry.js',
  import.meta.url,
)

/** @throws the reason of `signal` if it ended the cell */
export function runInThread(
  call: CellCall,
  signal: AbortSignal,
  onProgress: ToolContext['progress'],
): Promise<CellAnswer> {
  const worker = new Worker(entry, {
    workerData: call,
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
  const onAbort = (): void => {
    worker.postMessage(abortOf(signal), [])
    grace = setTimeout(() => void worker.terminate(), cellGraceMs)
  }
  worker.on('message', (message: unknown) => {
    const sent = sentByCell(message)
    if (sent.kind === 'progress') onProgress(sent.update)
    else if (sent.kind !== 'started') end(sent)
  })
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
