// EditorSystem: the port through which an editor's sessions reach a running Beaver. The command line
// implements it.
import type { BeaverClient } from '@beaver/client'
import type { LiveUpdate, RecordedEvent } from '@beaver/core'

export interface EditorSystem {
  /**
   * Looks for the system and connects. Each call looks again, because the system may have been started or
   * restarted meanwhile.
   *
   * @throws {BeaverError} `unreachable`, `server_too_old`
   */
  open(): Promise<SystemLink>
}

/** A connection to a system. It is closed when it is disposed of. */
export interface SystemLink extends AsyncDisposable {
  readonly client: Pick<
    BeaverClient,
    'submit' | 'cancel' | 'decide' | 'answer' | 'events' | 'sessions' | 'query' | 'status'
  >
  /**
   * Follows a task from its first event, also one that does not exist yet. Resolves after the terminal event,
   * or when `signal` aborts.
   *
   * @throws {BeaverError} `no_daemon`, `unreachable` if nothing answers for a while; `not_found`,
   * `corrupt_journal`
   */
  follow(taskId: string, heard: Heard): Promise<void>
}

/** What a follower of a task hears. */
export interface Heard {
  readonly signal: AbortSignal
  onEvent(event: RecordedEvent): void
  onLive(update: LiveUpdate): void
  /** Why nothing happens at present. `null`: all is well again. */
  onNotice(notice: string | null): void
}
