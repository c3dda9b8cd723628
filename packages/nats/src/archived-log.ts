// What was moved from a journal to archives, as the system log `redactions` and the keys say now. The meaning of the events belongs to @beaver/core.
// A1. The log is read again only if it has grown. So the question costs one small request, and readers may ask it at every gap.
import { archivedIn, ArchivedMessages, type KeyRing, type SystemLog, readSystemEntries } from '@beaver/core'

export class ArchivedLog {
  readonly #tenant: string
  readonly #log: Pick<SystemLog, 'read' | 'last'>
  readonly #ring: () => Promise<KeyRing>
  #known: { readonly revision: number; readonly archived: ArchivedMessages } | null = null

  /** @param ring gives the keys that count now */
  constructor(tenant: string, log: Pick<SystemLog, 'read' | 'last'>, ring: () => Promise<KeyRing>) {
    this.#tenant = tenant
    this.#log = log
    this.#ring = ring
  }

  /** @throws {BeaverError} `unreachable`, and what `ring` throws */
  async now(): Promise<ArchivedMessages> {
    const revision = (await this.#log.last('redactions'))?.revision ?? 0
    if (this.#known?.revision === revision) return this.#known.archived
    if (revision === 0) return new ArchivedMessages(this.#tenant, [])
    const { events, revision: read } = readSystemEntries('redactions', await this.#log.read('redactions'))
    const ring = await this.#ring()
    const archived = archivedIn(this.#tenant, events, ring)
    // A ring that was read a moment too early knows a new operator's key next time.
    if (!events.some((event) => ring.lacks(event))) this.#known = { revision: read, archived }
    return archived
  }
}
