// What was removed from a journal on purpose, as the system log `redactions` and the keys say now: texts
// (redactions.ts) and messages (archived.ts). The log is read again only if it has grown, so a reader may ask
// before each log. Callers share an answer only if its question was asked after theirs.
import { archivedIn, ArchivedMessages } from './archived.ts'
import type { KeyRing } from './key-ring.ts'
import { redactionsIn, type RemovedTexts } from './redactions.ts'
import type { SystemLog } from './system-log.ts'
import { readSystemEntries } from './system-record.ts'

/** What was removed from a journal on purpose. */
export interface Removals extends RemovedTexts {
  /** The messages that are in an archive. */
  readonly archived: ArchivedMessages
}

/**
 * Reads what was removed.
 *
 * @example
 * const removals = new RemovalLog('local', systemLog, () => readKeyRing(keyPorts))
 * const { redactions, archived } = await removals.now()
 * redactions.size + archived.size // => 0
 */
export class RemovalLog {
  readonly #tenant: string
  readonly #log: Pick<SystemLog, 'read' | 'last'>
  readonly #ring: () => Promise<KeyRing>
  #known: {
    readonly removals: Removals
    readonly revision: number
    readonly uncertain: KeyRing | null
  } | null = null
  #asking: Promise<unknown> = Promise.resolve()
  #next: Promise<Removals> | null = null

  /** @param ring gives the keys that count now */
  constructor(tenant: string, log: Pick<SystemLog, 'read' | 'last'>, ring: () => Promise<KeyRing>) {
    this.#tenant = tenant
    this.#log = log
    this.#ring = ring
  }

  /** @throws {BeaverError} `unreachable`, and what `ring` throws */
  now(): Promise<Removals> {
    return (this.#next ??= this.#askAfter(this.#asking))
  }

  async #askAfter(earlier: Promise<unknown>): Promise<Removals> {
    await earlier.catch(() => {}) // The caller who asked it gets the error.
    const asking = (this.#asking = this.#ask())
    this.#next = null
    return asking
  }

  async #ask(): Promise<Removals> {
    const revision = (await this.#log.last('redactions'))?.revision ?? 0
    if (revision === 0)
      return { version: 0, archived: new ArchivedMessages(this.#tenant, []), redactions: new Map() }
    const known = this.#known
    if (
      known?.revision === revision &&
      (known.uncertain === null || known.uncertain === (await this.#ring()))
    )
      return known.removals
    const { events, revision: read } = readSystemEntries('redactions', await this.#log.read('redactions'))
    const ring = await this.#ring()
    const version = (known?.removals.version ?? 0) + 1
    const removals = {
      version,
      archived: archivedIn(this.#tenant, events, ring),
      redactions: redactionsIn(events, ring),
    }
    // A ring that was read a moment too early may lack a new operator's key. It is judged again with the next
    // ring.
    this.#known = {
      removals,
      revision: read,
      uncertain: events.some((event) => ring.lacks(event)) ? ring : null,
    }
    return removals
  }
}
