// EditorSystem: the port through which an editor's sessions reach a running Beaver. The command line
// implements it.
import type { BeaverClient } from '@beaver/client'
import type { LiveUpdate } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'

/** The way to a running Beaver. */
export interface EditorSystem {
  /**
   * Finds the running system and connects to it. Each call searches again, because the system may have
   * started or restarted since.
   *
   * @throws {BeaverError} `unreachable`, `server_too_old`
   */
  open(): Promise<SystemLink>
}

/** A connection to a system. Disposing of it closes the connection. */
export interface SystemLink extends AsyncDisposable {
  readonly client: Pick<
    BeaverClient,
    'submit' | 'cancel' | 'decide' | 'answer' | 'raise' | 'events' | 'sessions' | 'query' | 'status'
  >
  /**
   * Follows a task from its first event, even if the task does not exist yet. Resolves after the terminal
   * event, or when `signal` aborts.
   *
   * @throws {BeaverError} `no_daemon`, `unreachable` if nothing answers for a while; `not_found`,
   * `corrupt_journal`
   */
  follow(taskId: string, heard: Heard): Promise<void>
}

/** The callbacks of a follower of a task. */
export interface Heard {
  readonly signal: AbortSignal
  onEvent(event: RecordedEvent): void
  onLive(update: LiveUpdate): void
  /** The reason why the task makes no progress now. `null`: it makes progress again. */
  onNotice(notice: string | null): void
}
