// The key with which a projector signs checkpoints and proofs: the key of its home, while the operator trusts
// it as the key of a projector. A projector without a trusted key does everything else, and says what the
// operator must do.
import { sign } from 'node:crypto'
import { BeaverError, type Clock, steadyClock } from '@beaver/core'
import { joinJournal, type KeyPorts, readKeyRing, type SigningKey, systemSign } from '@beaver/core/journal'

/** The key, or why there is none. `fault`: what somebody must correct; `null`: just wait. */
export type ProjectorKeyNow =
  | {
      readonly kind: 'trusted'
      /** The place in the journal from which the key counts. */
      readonly from: number
      /** 32 bytes. */
      readonly publicKey: Uint8Array
      readonly sign: (bytes: Uint8Array) => Uint8Array
      /** Signs an entry of the system log `checkpoints`. */
      readonly signEntry: (record: { readonly name: 'checkpoints'; readonly hash: string }) => string
    }
  | { readonly kind: 'none'; readonly fault: string | null }

/** An older reading of the keys is repeated. */
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
    // Before the first daemon's start, there is nobody to ask.
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
