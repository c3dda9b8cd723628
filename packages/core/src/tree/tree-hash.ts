// The arithmetic of Merkle trees as in RFC 6962: a leaf hashes 0x00 and its data, a node hashes 0x01 and its
// two children, so no node can be taken for a leaf. A tree of n leaves has its left subtree of the largest
// power of two below n.
import { hash as digest } from 'node:crypto'

/** The length of a hash in bytes. */
export const hashBytes = 32

/** The hash of a leaf. Text counts as UTF-8. */
export function leafHash(data: string | Uint8Array): Uint8Array {
  return digest('sha256', typeof data === 'string' ? `\0${data}` : Buffer.concat([leafMark, data]), 'buffer')
}

const leafMark = Buffer.from([0])
/** The hash of a node. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(1 + 2 * hashBytes)
  bytes[0] = 1
  bytes.set(left, 1)
  bytes.set(right, 1 + hashBytes)
  return digest('sha256', bytes, 'buffer')
}

/** The largest power of two below `n`, which is at least 2. */
export function largestPowerBelow(n: number): number {
  let power = 1
  while (power * 2 < n) power *= 2
  return power
}
