// The Peers port: which daemons are alive.

/**
 * - `alive`: it answered.
 * - `gone`: no connection has its name.
 * - `silent`: it is connected and does not answer, because it hangs or is stopped.
 */
export type PeerState = 'alive' | 'gone' | 'silent'

/** The daemons of the system. */
export interface Peers {
  /** Asks the daemon now. It never rejects: a daemon that cannot be asked is `silent`. */
  state(daemonId: string): Promise<PeerState>
}
