// Compares the logs of a journal with each other: the order of a session, unique ids of a tenant, claims on
// ids, and open tasks. Messages come in stream order, so a message that was not read yet was not durable at
// that moment.
import type { LogPlace } from './layout.ts'
import type { CheckedEvent } from './event.ts'
import type { Report } from './rules.ts'
import { newTrail, type Trail } from './trail.ts'

const keyOf = (...parts: readonly string[]): string => parts.join('\u0000')

export class LogSet {
  readonly #logs = new Map<string, Trail>()
  /** The newest task of each session. */
  readonly #tails = new Map<string, string>()
  /** The first session in which an id occurred. */
  readonly #sessionOfId = new Map<string, string>()
  /** The session that each claim on an id names. */
  readonly #claims = new Map<string, string>()

  get size(): number {
    return this.#logs.size
  }

  /** The first message of a log makes its trail. */
  trailOf(log: LogPlace, part: 'accepted' | 'events', report: Report): Trail {
    const key = keyOf(log.tenant, log.session, log.task)
    const known = this.#logs.get(key)
    if (part === 'accepted' && known !== undefined)
      report('subject', `a second entry lies under the acceptance of ${log.task}`)
    if (part === 'events' && known === undefined)
      report('subject', `the first entry of ${log.task} does not lie under its acceptance`)
    if (known !== undefined) return known
    const trail = newTrail(log)
    this.#logs.set(key, trail)
    this.#takeId(log, report)
    return trail
  }

  /** `null` if no message of the log was read. */
  known({ tenant, session, task }: LogPlace): Trail | null {
    return this.#logs.get(keyOf(tenant, session, task)) ?? null
  }

  claimId(tenant: string, task: string, session: string, report: Report): void {
    const key = keyOf(tenant, task)
    const known = this.#claims.get(key)
    if (known !== undefined)
      report('id_claim', `the id ${task} is claimed a second time, for the session ${session} after ${known}`)
    this.#claims.set(key, session)
  }

  /** Checks the order of a session, as far as an event of one of its tasks shows it. */
  judgeOrder(trail: Trail, event: CheckedEvent, report: Report): void {
    const { tenant, session, task } = trail.log
    if (event.type === 'task_submitted' && !trail.submitted) {
      trail.submitted = true
      const key = keyOf(tenant, session)
      const tail = this.#tails.get(key) ?? null
      if (trail.previousTask !== tail)
        report(
          'session_chain',
          `the task follows ${trail.previousTask ?? 'none'} in its session, and ${tail ?? 'none'} was accepted before it`,
        )
      this.#tails.set(key, task)
    }
    if (trail.begun || (event.type !== 'run_started' && event.type !== 'task_team_run_started')) return
    trail.begun = true
    const before =
      trail.previousTask === null ? undefined : this.#logs.get(keyOf(tenant, session, trail.previousTask))
    if (before !== undefined && before.ended === null)
      report(
        'session_order',
        `the task began, and ${before.log.task}, the task before it in its session, has not ended`,
      )
  }

  trails(): Iterable<Trail> {
    return this.#logs.values()
  }

  /** Checks the claims on ids at the end: a claim may be stored shortly before or after its acceptance. */
  judgeClaims(reportFor: (log: LogPlace) => Report): void {
    for (const { log } of this.#logs.values()) {
      const key = keyOf(log.tenant, log.task)
      const claimed = this.#claims.get(key)
      // If a task and its session have the same name, the acceptance claims the id.
      const needed = log.session !== log.task || claimed !== undefined
      if (!needed || claimed === log.session || this.#sessionOfId.get(key) !== log.session) continue
      const message =
        claimed === undefined ? 'nobody claimed its id' : `its id is claimed for the session ${claimed}`
      reportFor(log)('id_claim', `the task lies in the session ${log.session}, and ${message}`)
    }
  }

  #takeId({ tenant, session, task }: LogPlace, report: Report): void {
    const key = keyOf(tenant, task)
    const other = this.#sessionOfId.get(key)
    if (other === undefined) this.#sessionOfId.set(key, session)
    else report('task_id_unique', `the id ${task} is that of a task in the session ${other}, too`)
  }
}
