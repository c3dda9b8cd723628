// The tree over the messages of a journal, and its proofs, written from RFC 9162 (section 2.1) and
// docs/decisions/0038, not from core. It keeps every hash, 64 bytes for each message, so that the root at
// every earlier size can be compared.
import { hash } from 'node:crypto'
import type { StreamMessage } from './source.ts'

const width = 32

const sha256 = (...parts: readonly Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer')
const childrenHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right)

export function leafOf({
  sequence,
  subject,
  payload,
}: Pick<StreamMessage, 'sequence' | 'subject' | 'payload'>): Buffer {
  return leafOfHash(sequence, subject, hash('sha256', payload))
}

/** The same, if only the SHA-256 of the payload is known, in hexadecimal digits. */
export const leafOfHash = (sequence: number, subject: string, payloadSha256: string): Buffer =>
  sha256(Buffer.of(0), Buffer.from(`${sequence} ${subject} ${payloadSha256}\n`))

export class LeafTree {
  /** The hashes of the full nodes of each height. */
  readonly #rows: { bytes: Buffer; count: number }[] = []

  get size(): number {
    return this.#rows[0]?.count ?? 0
  }

  append(leaf: Uint8Array): void {
    let node = leaf
    for (let height = 0; ; height++) {
      const row = (this.#rows[height] ??= { bytes: Buffer.alloc(width * 256), count: 0 })
      if (row.bytes.length === row.count * width)
        row.bytes = Buffer.concat([row.bytes, Buffer.alloc(row.bytes.length)])
      row.bytes.set(node, row.count++ * width)
      if (row.count % 2 === 1) return
      node = childrenHash(this.#node(height, row.count - 2), this.#node(height, row.count - 1))
    }
  }

  root(size: number): Buffer {
    // From right to left: the full nodes that `size` names in binary, each to the left of the joined part.
    let joined: Buffer | null = null
    for (let height = 0, rest = size; rest > 0; height++, rest = Math.floor(rest / 2)) {
      if (rest % 2 === 0) continue
      const node = this.#node(height, rest - 1)
      joined = joined === null ? node : childrenHash(node, joined)
    }
    return joined ?? sha256()
  }

  #node(height: number, index: number): Buffer {
    const bytes = this.#rows[height]?.bytes.subarray(index * width, (index + 1) * width)
    return Buffer.from(bytes ?? [])
  }
}

/** Whether `path` proves that the leaf `index` is in the tree of this size and root. */
export function provesInclusion(
  leaf: Uint8Array,
  index: number,
  { size, root }: Sized,
  path: readonly Uint8Array[],
): boolean {
  return rootBy(leaf, index, size, path)?.equals(root) ?? false
}

/** The root of a leaf's path in a tree of this size (RFC 9162, 2.1.3.2); `null` if the path does not fit. */
export function rootBy(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Buffer | null {
  if (index < 0 || index >= size) return null
  let [place, last] = [index, size - 1]
  let node: Uint8Array = leaf
  for (const each of path) {
    if (last === 0) return null
    if (place % 2 === 1 || place === last) {
      node = childrenHash(each, node)
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)]
    } else {
      node = childrenHash(node, each)
    }
    ;[place, last] = [half(place), half(last)]
  }
  return last === 0 ? Buffer.from(node) : null
}

export interface Sized {
  readonly size: number
  readonly root: Uint8Array
}

const half = (n: number): number => Math.floor(n / 2)

/** Whether `path` proves that the newer tree begins with the older one (RFC 9162, section 2.1.4.2). */
export function provesConsistency(older: Sized, newer: Sized, path: readonly Uint8Array[]): boolean {
  if (older.size > newer.size) return false
  if (older.size === newer.size) return path.length === 0 && Buffer.from(older.root).equals(newer.root)
  if (older.size === 0) return path.length === 0
  const isPower = 2 ** Math.round(Math.log2(older.size)) === older.size
  const [first, ...rest] = isPower ? [older.root, ...path] : path
  if (first === undefined) return false
  let [place, last] = [older.size - 1, newer.size - 1]
  while (place % 2 === 1) [place, last] = [half(place), half(last)]
  let [before, after] = [first, first]
  for (const each of rest) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      before = childrenHash(each, before)
      after = childrenHash(each, after)
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)]
    } else {
      after = childrenHash(after, each)
    }
    ;[place, last] = [half(place), half(last)]
  }
  return last === 0 && Buffer.from(before).equals(older.root) && Buffer.from(after).equals(newer.root)
}
