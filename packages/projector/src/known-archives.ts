// The archives that the projector knows. The rows of its read model fit this knowledge: when it grows, rows
// of archived messages are forgotten (follow.ts).
import type { LogId } from '@beaver/core'
import { ArchivedMessages, type RemovalLog } from '@beaver/core/journal'
import type { Subjects } from '@beaver/nats'
import type { Archives } from '@beaver/projection'

export class KnownArchives implements Archives {
  readonly subjectOf: (log: LogId) => string
  readonly #log: RemovalLog
  #known: ArchivedMessages

  constructor(log: RemovalLog, subjects: Subjects) {
    this.#log = log
    this.subjectOf = (log) => subjects.events(log)
    this.#known = new ArchivedMessages(subjects.tenant, [])
  }

  archived = (): ArchivedMessages => this.#known

  /** @returns whether more is known now */
  async refresh(): Promise<boolean> {
    const { archived: now } = await this.#log.now()
    if (now.size === this.#known.size) return false
    this.#known = now
    return true
  }

  /** Whether nothing more was archived since. */
  async isCurrent(): Promise<boolean> {
    return (await this.#log.now()).archived.size === this.#known.size
  }
}
