// The KeyStore port: the keys of a home. Its adapter is homeKeys (@beaver/platform).
import type { SigningKey } from '../journal/signature.ts'

/** The keys of a home, and the operators that it knows. */
export interface KeyStore {
  /** Where the keys are, for messages. */
  readonly place: string
  /** The key of the operator; `null` if this home is not the operator's. */
  operator(): SigningKey | null
  /** The key of the operator, which is made if it does not exist. */
  makeOperator(): SigningKey
  /** The key of a role, which is made if it does not exist. */
  own(role: 'daemon' | 'projector'): SigningKey
  /**
   * Puts the key with this id aside, so that `own` makes a new one. It does nothing if another process did so
   * before.
   */
  putAside(role: 'daemon' | 'projector', id: string): void
  /** The operator of a namespace that this home saw first; `null` if it saw none. */
  pinned(namespace: string): string | null
  pin(namespace: string, operator: string): void
}
