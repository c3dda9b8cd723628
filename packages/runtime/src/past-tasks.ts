// A cache of the sessions' earlier tasks: the request, answer and turn of each. An ended task never changes,
// so it is read once; after an operator removes a text, all are read again. The cache keeps the most recently
// used tasks: at most `tasksMax` tasks and `charsMax` characters.
import { type BlobStore, type LogId, logKey } from '@beaver/core'
import {
  exchangeOf,
  historyBound,
  type Journal,
  type PastExchange,
  type PastTask,
  readPastTask,
  type Replacements,
} from '@beaver/core/journal'
import type { Workflow } from '@beaver/workflows'
import { isUnverified } from './final-faults.ts'

export interface KeptTask extends PastExchange {
  /** The turn that it took, with its workflow's name; `null`: none (D-48). */
  readonly turn: string | null
}

export interface PastTasks {
  /** Empties the cache if an operator removed a text since. @throws {BeaverError} `unreachable` */
  refresh(): Promise<void>
  /** `null`: there is no such log, or it does not verify. @throws {BeaverError} `blob_missing` */
  read(log: LogId): Promise<KeptTask | null>
}

export interface PastTaskPorts {
  readonly journal: Journal
  readonly blobs: BlobStore & Partial<Replacements>
  readonly findWorkflow: (name: string) => Workflow | null
}

export function pastTasks(
  ports: PastTaskPorts,
  { tasksMax = 10_000, charsMax = 20_000_000 }: { tasksMax?: number; charsMax?: number } = {},
): PastTasks {
  const kept = new Map<string, KeptTask>()
  let chars = 0
  let removals = 0
  const weightOf = (task: KeptTask): number =>
    Math.max(task.said.length + task.answered.length, (task.given ?? []).length === 0 ? 0 : task.chars) +
    (task.turn?.length ?? 0)

  function forget(key: string): void {
    const task = kept.get(key)
    if (task === undefined) return
    kept.delete(key)
    chars -= weightOf(task)
  }

  function keep(key: string, task: KeptTask): void {
    forget(key)
    kept.set(key, task)
    chars += weightOf(task)
    while (kept.size > tasksMax || chars > charsMax) forget(kept.keys().next().value as string)
  }

  return {
    async refresh() {
      const now = (await ports.blobs.refresh?.()) ?? 0
      if (now === removals) return
      removals = now
      kept.clear()
      chars = 0
    },
    async read(log) {
      const key = logKey(log)
      const known = kept.get(key)
      if (known !== undefined) {
        kept.delete(key) // to the end: it was used last
        kept.set(key, known)
        return known
      }
      const asOf = removals
      const past = await verified(log, ports)
      if (past === null) return null
      const task = keptOf(past, ports)
      if (past.end !== null && asOf === removals) keep(key, task)
      return task
    },
  }
}

/** `null` if the log does not verify: a model must not see what nobody may act on. */
async function verified(log: LogId, { journal, blobs }: PastTaskPorts): Promise<PastTask | null> {
  try {
    return await readPastTask(log, journal, blobs)
  } catch (error) {
    if (isUnverified(error)) return null
    throw error
  }
}

function keptOf(past: PastTask, { findWorkflow }: PastTaskPorts): KeptTask {
  const exchange = exchangeOf(past)
  const { workflow: asked } = past.submitted.request
  const workflow = asked === undefined ? null : findWorkflow(asked.name)
  const key = workflow?.turnKey?.(asked?.arguments) ?? null
  const turn = workflow === null || key === null ? null : turnOf(workflow.name, key)
  // No history shows more of a text. `chars` keeps its full length.
  const { charsMax } = historyBound
  return {
    ...exchange,
    said: exchange.said.slice(0, charsMax),
    answered: exchange.answered.slice(0, charsMax),
    turn,
  }
}

export const turnOf = (workflow: string, key: string): string => `${workflow}\u0000${key}`
