// Compares tasks of the read model with the journal as it is now, when somebody asks: one task, or the newest
// ones for a bounded time. What differs is in the answer, and is kept as a finding of the journal's watch
// until somebody accepts it. If the read model is emptied meanwhile, or more is archived, nothing was
// compared: the rows and the journal are not of the same moment. Comparisons follow one another, so that they
// hold the entries of one batch of tasks at a time.
import type { QueryOutput } from '@beaver/contracts'
import type { LogId, Replacements } from '@beaver/core'
import type { JournalReader, JournalWatch } from '@beaver/nats'
import {
  countFaults,
  keyOfTask,
  type JournalMessage,
  type ReadModel,
  type TaskVerdict,
  verifyTasks,
} from '@beaver/projection'
import { setImmediate } from 'node:timers/promises'
import type { KnownArchives } from './known-archives.ts'

export type Verified = NonNullable<QueryOutput<'audit'>['verified']>

export interface ComparisonOf {
  readonly model: ReadModel
  readonly reader: JournalReader
  readonly replacements: Replacements
  readonly watch: JournalWatch
  readonly archives: KnownArchives
  /** The name to which signatures are bound: the journal's stream. */
  readonly namespace: string
}

/** Which task, if not the newest ones. */
interface NamedTask {
  readonly task_id?: string | undefined
  readonly session_id?: string | undefined
  readonly tenant?: string | undefined
}

/** The time of a comparison of many tasks, and how many it takes at a time. */
const budgetMs = 500
const batchMax = 20
/** A task that is written meanwhile is compared again. */
const triesMax = 4

export class Comparison {
  readonly #of: ComparisonOf
  #running: Promise<unknown> = Promise.resolve()

  constructor(of: ComparisonOf) {
    this.#of = of
  }

  /**
   * @param input of the query `audit` @throws {BeaverError} `not_found`, `invalid_arguments` for the name of
   * a task
   */
  run(input: NamedTask): Promise<Verified> {
    const { task_id: taskId } = input
    const work = this.#running.then(() =>
      taskId === undefined ? this.#newest() : this.#one({ ...input, task_id: taskId }),
    )
    this.#running = work.catch(() => {})
    return work
  }

  async #one(name: NamedTask & { readonly task_id: string }): Promise<Verified> {
    const key = keyOfTask(this.#of.model.sql, name)
    let verdicts: readonly TaskVerdict[] = []
    for (let tries = 0; tries < triesMax; tries++) {
      verdicts = await this.#compare([key])
      if (verdicts.length > 0 && verdicts[0]?.kind !== 'moved') break
    }
    return this.#told(verdicts, 0)
  }

  async #newest(): Promise<Verified> {
    const { sql } = this.#of.model
    for (const message of countFaults(sql))
      this.#of.watch.report({ kind: 'rows_differ', message, harmful: false })
    const keys = sql
      .all<{ task_key: number }>('select task_key from tasks order by task_key desc')
      .map(({ task_key: key }) => key)
    const verdicts: TaskVerdict[] = []
    const end = performance.now() + budgetMs
    let done = 0
    while (done < keys.length && performance.now() < end) {
      verdicts.push(...(await this.#compare(keys.slice(done, done + batchMax))))
      done += batchMax
      await setImmediate()
    }
    return this.#told(verdicts, keys.length - verdicts.length)
  }

  /** The verdicts. The list is empty if the rows changed as a whole meanwhile. */
  async #compare(keys: readonly number[]): Promise<readonly TaskVerdict[]> {
    const { model, archives } = this.#of
    const [emptied, archived] = [model.emptied, archives.archived()]
    const isSameMoment = async (): Promise<boolean> =>
      model.emptied === emptied && archives.archived() === archived && (await archives.isCurrent())
    try {
      const verdicts = await this.#verdicts(keys)
      return verdicts.some(({ kind }) => kind === 'differs') && !(await isSameMoment()) ? [] : verdicts
    } catch (error) {
      if (await isSameMoment()) throw error
      return []
    }
  }

  #verdicts(keys: readonly number[]): Promise<TaskVerdict[]> {
    const { model, reader, replacements, archives, namespace } = this.#of
    const readLog = async (log: LogId): Promise<readonly JournalMessage[]> => {
      const messages: JournalMessage[] = []
      for await (const { revision, payload, signature } of reader.entries(log))
        messages.push({ sequence: revision, log, payload, signature })
      return messages
    }
    return verifyTasks(model.sql, keys, {
      archives,
      readBlob: (sha256) => replacements.get(sha256),
      replacedData: (hash) => replacements.of(hash),
      readLog,
      signatures: { namespace, ring: model.keyRing() },
    })
  }

  #told(verdicts: readonly TaskVerdict[], left: number): Verified {
    const same = verdicts.filter((verdict) => verdict.kind === 'same')
    const differs = verdicts.filter((verdict) => verdict.kind === 'differs')
    for (const { log, messages } of differs)
      this.#of.watch.report({
        kind: 'rows_differ',
        message: `The task ${log.task} is not as it was: ${messages[0] ?? ''}`,
        harmful: false,
      })
    return {
      tasks: same.length + differs.length,
      tasks_left: left + verdicts.length - same.length - differs.length,
      events: same.reduce((sum, { events }) => sum + events, 0),
      head: verdicts.length === 1 ? (same[0]?.head ?? null) : null,
      differs: differs.map(({ log, messages }) => ({
        task_id: log.task,
        session_id: log.session,
        tenant: log.tenant,
        messages: [...messages],
      })),
    }
  }
}
