// What all processes of a simulated world share: the journal, its queue, the blobs, and the read model that
// follows them.
import type { BlobStore, LogId, OpenTask } from '@beaver/core'
import type { Acceptance, AcceptOutcome, Append, AppendOutcome, Entry } from '@beaver/core/journal'
import { memoryBlobStore, type MemoryJournal, memoryJournal } from '@beaver/testing'
import { SimQueue } from './queue.ts'
import { randomOf } from './random.ts'
import { openTaskOf } from './record.ts'
import type { Scheduler } from './scheduler.ts'
import type { Watch } from './watch.ts'

export interface SimServer {
  readonly journal: MemoryJournal
  readonly queue: SimQueue
  readonly scheduler: Scheduler
  readonly blobs: BlobStore
  /** @param again an earlier try may have landed: a refusal is then compared with what is there */
  append(append: Append, again: boolean): Promise<AppendOutcome>
  accept(acceptance: Acceptance, again: boolean): Promise<AcceptOutcome>
  /** As the read model knows them. @throws when it is away */
  openTasks(wanted: { owner?: string; idleMsMin: number; limit: number }): OpenTask[]
  readonly readModel: { lagMs: number; away: boolean }
}

export function newServer(of: {
  seed: number
  scheduler: Scheduler
  leaseMs: number
  watch: Watch
}): SimServer {
  const { scheduler, watch } = of
  const journal = memoryJournal({ clock: { now: () => scheduler.now(), after: () => ({ cancel() {} }) } })
  const queue = new SimQueue({
    scheduler,
    random: randomOf(of.seed, 'queue'),
    leaseMs: of.leaseMs,
    trace: (what) => watch.tell(what),
  })
  const readModel = { lagMs: 0, away: false }

  const landed = async (log: LogId, entries: number): Promise<void> =>
    watch.landed(log, (await journal.read(log)).slice(-entries))

  return {
    journal,
    queue,
    scheduler,
    blobs: memoryBlobStore(),
    readModel,
    async append(append, again) {
      const outcome = await journal.append(append)
      if (outcome.kind === 'appended') await landed(append.log, append.payloads.length)
      else if (again) {
        const last = await journal.last(append.log)
        if (last !== null && last.payload === append.payloads.at(-1))
          return { kind: 'appended', revision: last.revision }
      }
      return outcome
    },
    async accept(acceptance, again) {
      const { log, payloads, followers = [] } = acceptance
      const outcome = await journal.accept(acceptance)
      const first = await journal.first(log)
      if (outcome.kind === 'accepted' && first !== null) {
        await landed(log, payloads.length)
        queue.accept(log, first)
        for (const each of followers) {
          await landed(each.log, 1)
          queue.accept(each.log, (await journal.first(each.log)) as Entry)
        }
      } else if (again && first !== null && first.payload === payloads[0]) {
        const entries = await journal.read(log)
        const mine = entries[payloads.length - 1]
        // Somebody wrote behind it: whoever asks is told that the id is taken, as in the journal of NATS.
        if (mine !== undefined && entries.length === payloads.length)
          return {
            kind: 'accepted',
            acceptedRevision: first.revision,
            revision: payloads.length === 1 ? 0 : mine.revision,
            lastRevision: mine.revision,
          }
      }
      return outcome
    },
    openTasks({ owner, idleMsMin, limit }) {
      if (readModel.away) throw new Error('The read model is away.')
      const atMs = scheduler.now() - readModel.lagMs
      const endedThen = (taskId: string): boolean => {
        const task = watch.tasks.get(taskId)
        return task !== undefined && task.ended !== null && (task.events.at(-1)?.atMs ?? Infinity) <= atMs
      }
      return [...watch.tasks.values()]
        .flatMap((task) => openTaskOf(task, { atMs, nowMs: scheduler.now(), idleMsMin, endedThen }) ?? [])
        .filter((task) => owner === undefined || task.owner === owner)
        .slice(0, limit)
    },
  }
}
