// The Peers port on core NATS, and the watch over the other daemons. A dead daemon has no responder, which
// others learn at once without waiting for a lease. It is asked twice, because a daemon that reconnects has
// no responder for a moment.
// The server reports a missing responder only when a request arrives. A daemon that dies with a request in
// its hands would look silent until the timeout, so a silent daemon is asked again every `pingEveryMs`.
import { presenceAnswer, presenceMessage } from '@beaver/contracts'
import { guarded, type Logger, messageOf, pause, type Peers, type PeerState, systemClock } from '@beaver/core'
import { type Msg, type NatsConnection, RequestError, type Subscription } from '@nats-io/nats-core'
import { inboxOf } from './inbox.ts'
import { isInbox, refused, RequestRate } from './request-guard.ts'
import type { Subjects } from './subjects.ts'

export interface NatsPeers extends Peers {
  /**
   * Announces this daemon and watches the others. `onGone` is called once for each daemon that dies.
   * `describe` says what `presentDaemons` tells of this daemon.
   */
  watch(self: string, onGone: (daemonId: string) => void, describe?: () => DaemonFigures): { leave(): void }
}

/** What a daemon says about itself, even if it takes no requests. */
export interface DaemonFigures {
  readonly tasks?: number | undefined
  /** The number of messages that it refused. */
  readonly refused?: number | undefined
  /** How long its journal has not answered, in milliseconds. */
  readonly journal_silent_ms?: number | undefined
  /** What is wrong with its journal, so that it writes nothing. */
  readonly journal_changed?: string | undefined
}

const answerMsMax = 1_000
const pingEveryMs = 200
const confirmMs = 100
const askEveryMs = 250
/** How many announcements a daemon reads in a second. Each daemon makes one every two seconds. */
const announcementsPerSecondMax = 2_000
/** How many questions of one caller a daemon answers in a second. */
const questionsPerSecondMax = 100
const announceEveryMs = 2_000
const askedMax = 6
const knownMax = 1_000

export function natsPeers(nc: NatsConnection, subjects: Subjects, logger: Logger): NatsPeers {
  async function ping(daemonId: string, waitMs: number): Promise<PeerState> {
    try {
      await nc.request(subjects.daemon(daemonId), JSON.stringify({ command: 'ping' }), { timeout: waitMs })
      return 'alive'
    } catch (error) {
      return error instanceof RequestError && error.isNoResponders() ? 'gone' : 'silent'
    }
  }

  /** Resolves with the first answer. A connection that is closed will get none. */
  async function ask(daemonId: string): Promise<PeerState> {
    const answered = new AbortController()
    const pings = Array.from({ length: answerMsMax / pingEveryMs }, async (_, i) => {
      if (i > 0) await pause(systemClock, i * pingEveryMs, answered.signal)
      const state = answered.signal.aborted ? 'silent' : await ping(daemonId, answerMsMax - i * pingEveryMs)
      if (nc.isClosed()) answered.abort()
      return state === 'silent' ? Promise.reject(new Error(state)) : state
    })
    const state = await Promise.any(pings).catch(() => 'silent' as const)
    answered.abort()
    return state
  }

  async function state(daemonId: string): Promise<PeerState> {
    const first = await ask(daemonId)
    if (first !== 'gone') return first
    await pause(systemClock, confirmMs, new AbortController().signal)
    return ask(daemonId)
  }

  return {
    state,
    watch: (self, onGone, describe = () => ({})) =>
      new DaemonWatch({ nc, subjects, self, state, onGone, describe, logger }),
  }
}

interface DaemonWatchParts {
  readonly nc: NatsConnection
  readonly subjects: Pick<Subjects, 'presence' | 'presenceQuestion'>
  readonly self: string
  readonly state: (daemonId: string) => Promise<PeerState>
  readonly onGone: (daemonId: string) => void
  readonly describe: () => DaemonFigures
  readonly logger: Logger
}

/**
 * Learns of other daemons from their announcements. Every `askEveryMs` it asks whether `askedMax` of them,
 * chosen at random, are alive: asking all would flood a large group.
 */
class DaemonWatch {
  readonly #parts: DaemonWatchParts
  readonly #known = new Set<string>()
  readonly #asking = new Set<string>()
  readonly #questions = new RequestRate(questionsPerSecondMax)
  readonly #announcements = new RequestRate(announcementsPerSecondMax)
  readonly #subscriptions: readonly Subscription[]
  readonly #timers: readonly NodeJS.Timeout[]

  constructor(parts: DaemonWatchParts) {
    const { nc, subjects, logger } = parts
    this.#parts = parts
    const hear = (subject: string, heard: (message: Msg) => void): Subscription =>
      nc.subscribe(subject, {
        callback: guarded(logger, 'presence of daemons', (error: Error | null, message: Msg) => {
          if (error === null) heard(message)
        }),
      })
    this.#subscriptions = [
      hear(subjects.presence, ({ data }) =>
        this.#announcements.take('') === 'handle' ? this.#learn(data) : refused(nc),
      ),
      hear(subjects.presenceQuestion, (question) => this.#answer(question)),
    ]
    this.#timers = [
      setInterval(() => this.#lookAtSome(), askEveryMs),
      setInterval(() => this.#announce(), announceEveryMs),
    ]
    for (const timer of this.#timers) timer.unref()
    this.#announce()
  }

  leave(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#announce(true)
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
  }

  #announce(leaving = false): void {
    const { nc, subjects, self } = this.#parts
    try {
      nc.publish(subjects.presence, JSON.stringify(leaving ? { daemon: self, leaving } : { daemon: self }))
    } catch {
      // The connection is closed, so no daemon can hear it.
    }
  }

  #answer(question: Msg): void {
    const { self, describe } = this.#parts
    if (question.reply === undefined || !isInbox(question.reply)) return refused(this.#parts.nc)
    // The inbox begins with the name of the caller.
    if (this.#questions.take(question.reply.split('.', 1)[0] ?? '') !== 'handle')
      return refused(this.#parts.nc)
    question.respond(JSON.stringify({ daemon: self, ...describe() }))
  }

  #learn(data: Uint8Array): void {
    const presence = presenceMessage.safeParse(parsed(data))
    if (!presence.success) return refused(this.#parts.nc)
    if (presence.data.daemon === this.#parts.self) return
    const { daemon, leaving } = presence.data
    if (leaving === true) this.#known.delete(daemon)
    else if (!this.#known.has(daemon) && this.#known.size < knownMax) {
      this.#known.add(daemon)
      this.#announce() // The new daemon has to learn of this one too.
    }
  }

  #lookAtSome(): void {
    const { logger } = this.#parts
    for (const daemonId of some([...this.#known], askedMax))
      void this.#look(daemonId).catch((error: unknown) => logger.warn('peer_unasked', messageOf(error)))
  }

  async #look(daemonId: string): Promise<void> {
    if (this.#asking.has(daemonId)) return
    this.#asking.add(daemonId)
    const seen = await this.#parts.state(daemonId)
    this.#asking.delete(daemonId)
    if (seen !== 'gone' || !this.#known.delete(daemonId)) return
    this.#parts.logger.warn('daemon_gone', 'Another daemon is gone. This daemon now looks at its tasks.', {
      from: daemonId,
    })
    this.#parts.onGone(daemonId)
  }
}

function some(all: string[], count: number): string[] {
  for (let i = 0; i < Math.min(count, all.length - 1); i++) {
    const other = i + Math.floor(Math.random() * (all.length - i))
    ;[all[i], all[other]] = [all[other] as string, all[i] as string]
  }
  return all.slice(0, count)
}

function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString())
  } catch {
    return null
  }
}

export type PresentDaemon = DaemonFigures & { readonly daemon: string }

/**
 * All daemons that answer within `waitMs`, also those whose journal does not answer.
 *
 * @param wait.emptyMs how long to wait for the first answer, which may be late on a busy machine. Default:
 * `waitMs`
 */
export async function presentDaemons(
  nc: NatsConnection,
  subjects: Subjects,
  { waitMs, emptyMs = waitMs }: { waitMs: number; emptyMs?: number },
): Promise<readonly PresentDaemon[]> {
  const found = new Map<string, PresentDaemon>()
  const inbox = inboxOf(nc)
  const subscription = nc.subscribe(inbox, {
    callback(error, message) {
      const answer = error === null ? presenceAnswer.safeParse(parsed(message.data)) : null
      if (answer?.success === true && found.size < knownMax) found.set(answer.data.daemon, answer.data)
    },
  })
  nc.publish(subjects.presenceQuestion, '{}', { reply: inbox })
  for (let waited = 0; waited < waitMs || (found.size === 0 && waited < emptyMs); waited += waitMs)
    await pause(systemClock, waitMs, new AbortController().signal)
  subscription.unsubscribe()
  return [...found.values()].toSorted((a, b) => (a.daemon < b.daemon ? -1 : 1))
}
