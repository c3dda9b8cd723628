// The Peers port: which daemons live.

/**
 * - `alive`: it answered.
 * - `gone`: nobody is connected under its name.
 * - `silent`: it is connected, and does not answer: it hangs, or is stopped.
 */
export type PeerState = 'alive' | 'gone' | 'silent'

export interface Peers {
  /** Asks now. Never rejects: a daemon that cannot be asked is `silent`. */
  state(daemonId: string): Promise<PeerState>
}
