// The key with which a projector signs checkpoints and proofs: the key of its home, if the operator trusts it
// as the key of a projector. Nothing is signed before the operator trusts the key, and nothing after it was
// revoked. The keys are read again before each signature. A projector whose key does not count does
// everything else, and says what the operator has to do.
import { sign } from 'node:crypto'
import {
  BeaverError,
  type Clock,
  joinJournal,
  type KeyPorts,
  readKeyRing,
  type SigningKey,
  steadyClock,
  systemSign,
} from '@beaver/core'

/**
 * The key, or why there is none. `fault`: what somebody has to put right; `null` if there is nothing to do
 * but to wait.
 */
export type ProjectorKeyNow =
  | {
      readonly kind: 'trusted'
      /** The place in the journal from which on the key counts. */
      readonly from: number
      /** 32 bytes. */
      readonly publicKey: Uint8Array
      readonly sign: (bytes: Uint8Array) => Uint8Array
      /** Signs an entry of the system log `checkpoints`. */
      readonly signEntry: (record: { readonly name: 'checkpoints'; readonly hash: string }) => string
    }
  | { readonly kind: 'none'; readonly fault: string | null }

/** A key that was read before this time is read again. */
const ageMsMax = 1_000

export class ProjectorKey {
  readonly #ports: KeyPorts
  readonly #clock: Clock
  #read: { readonly at: number; readonly now: Promise<ProjectorKeyNow> } | null = null

  constructor(ports: KeyPorts, clock: Clock = steadyClock) {
    this.#ports = ports
    this.#clock = clock
  }

  /** @throws {BeaverError} `unreachable`, `start_failed` if the file of the key cannot be read */
  async current(): Promise<ProjectorKeyNow> {
    const at = this.#clock.now()
    if (this.#read === null || at - this.#read.at >= ageMsMax) this.#read = { at, now: this.#join() }
    const { now } = this.#read
    try {
      return await now
    } catch (error) {
      if (this.#read?.now === now) this.#read = null
      throw error
    }
  }

  async #join(): Promise<ProjectorKeyNow> {
    const { keys, namespace } = this.#ports
    // Before the first daemon has started, there is nobody to ask.
    if (keys.pinned(namespace) === null && (await readKeyRing(this.#ports)).operator === null)
      return { kind: 'none', fault: null }
    try {
      const { key, ring } = await joinJournal('projector', this.#ports)
      const from = ring.find(key.id)?.trustedFrom ?? 0
      return {
        kind: 'trusted',
        from,
        publicKey: Buffer.from(key.publicKey, 'base64url'),
        sign: signerOf(key),
        signEntry: systemSign(key, ring),
      }
    } catch (error) {
      if (
        error instanceof BeaverError &&
        (error.code === 'key_untrusted' || error.code === 'operator_changed')
      )
        return { kind: 'none', fault: error.message }
      throw error
    }
  }
}

const signerOf =
  ({ privateKey }: SigningKey) =>
  (bytes: Uint8Array): Uint8Array =>
    sign(null, bytes, privateKey)
