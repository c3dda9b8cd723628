// A call in a child process of its own, which is killed with whatever it started.
// C1 to C3 as for a thread. C4. Its environment is `childEnvironment`: no keys.
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../process/child-environment.ts'
import { startGroup } from '../process/process-group.ts'
import { type CellAnswer, type CellCall, cellGraceMs, cellHeapMbMax } from './cell-call.ts'
import { abortOf, boundedOutput, outOfMemory } from './cell-end.ts'

const entry = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './process-entry.ts' : './process-entry.js', import.meta.url))
const heapIsFull = 'JavaScript heap out of memory'

/** @throws the reason of `signal`, when it ended the cell */
export async function runInProcess(call: CellCall, signal: AbortSignal): Promise<CellAnswer> {
  signal.throwIfAborted()
  const group = startGroup(process.execPath, [`--max-old-space-size=${cellHeapMbMax}`, entry], { cwd: call.at.workspace, env: childEnvironment(), ipc: true })
  const { child } = group
  const print = boundedOutput()
  let full = false
  child.stdout?.on('data', print)
  child.stderr?.on('data', (chunk: Buffer) => {
    full ||= chunk.includes(heapIsFull)
    print(chunk)
  })
  let answer: CellAnswer | null = null
  let grace: NodeJS.Timeout | undefined
  child.once('message', (sent) => {
    answer = sent as CellAnswer
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
  signal.removeEventListener('abort', onAbort)
  signal.throwIfAborted()
  if (answer !== null) return answer
  if (full) return outOfMemory(call)
  return { kind: 'crash', message: error?.message ?? `its process ended with ${endedBy ?? `code ${exitCode}`} and no answer.` }
}
