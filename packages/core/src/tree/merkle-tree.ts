// MerkleTree: an append-only hash tree over many leaves (RFC 6962). The caller stores the hashes
// (`TileStore`). The hash of n leaves never changes, so an older root can always be computed again. A tile
// holds 256 neighbouring hashes of every eighth level (C2SP tlog-tiles); the levels between are computed, so
// a leaf costs 32 bytes and about two hashes. commit-tree.ts is for few leaves in memory.
import { hash as digest } from 'node:crypto'
import { invariant } from '../errors.ts'
import { hashBytes, largestPowerBelow, nodeHash } from './tree-hash.ts'

const tileHeight = 8
const tileWidth = 1 << tileHeight

/**
 * Where tiles are stored. The tile (level, index) holds the hashes of `index × 256` and up, of the nodes at
 * the height `level × 8`.
 */
export interface TileStore {
  /**
   * The hashes of a tile, one after the other; `null` if it has none. A tile that is not full has fewer than
   * 256.
   */
  read(level: number, index: number): Uint8Array | null
  write(level: number, index: number, hashes: Uint8Array): void
}

/** The root of a tree without leaves. */
export const emptyRoot: Uint8Array = digest('sha256', '', 'buffer')

/**
 * Appends the hashes of new leaves, as a list or one after the other, to a tree of `size` leaves. Returns the
 * new size.
 *
 * @example
 * const tiles = new Map<string, Uint8Array>()
 * const store = {
 *   read: (level: number, index: number) => tiles.get(`${level}/${index}`) ?? null,
 *   write: (level: number, index: number, hashes: Uint8Array) => void tiles.set(`${level}/${index}`, hashes),
 * }
 * appendLeaves(store, 0, [new Uint8Array(32), new Uint8Array(32)]) // => 2
 */
export function appendLeaves(
  store: TileStore,
  size: number,
  leaves: readonly Uint8Array[] | Uint8Array,
): number {
  const row = leaves instanceof Uint8Array ? leaves : Buffer.concat(leaves)
  appendAt(store, 0, size, row)
  return size + row.length / hashBytes
}

/** @param row hashes, one after the other */
function appendAt(store: TileStore, level: number, count: number, row: Uint8Array): void {
  const full: Uint8Array[] = []
  for (let from = 0, at = count; from < row.length;) {
    const index = Math.floor(at / tileWidth)
    const held = at % tileWidth
    const taken = row.subarray(from, from + (tileWidth - held) * hashBytes)
    const before = held === 0 ? Buffer.alloc(0) : store.read(level, index)
    invariant(
      before?.length === held * hashBytes,
      `The tile ${level}/${index} of the tree does not hold ${held} hashes`,
    )
    const tile = Buffer.concat([before, taken])
    store.write(level, index, tile)
    if (tile.length === tileWidth * hashBytes) full.push(hashOfRow(tile))
    from += taken.length
    at += taken.length / hashBytes
  }
  if (full.length > 0) appendAt(store, level + 1, Math.floor(count / tileWidth), Buffer.concat(full))
}

/**
 * The hash over neighbouring nodes, whose number is a power of two. In between, a character is a byte: this
 * takes half the time of views.
 */
function hashOfRow(row: Uint8Array): Uint8Array {
  let text = Buffer.from(row).toString('latin1')
  while (text.length > hashBytes) {
    let above = ''
    for (let at = 0; at < text.length; at += 2 * hashBytes)
      above += digest(
        'sha256',
        Buffer.from(`\u0001${text.slice(at, at + 2 * hashBytes)}`, 'latin1'),
        'latin1',
      )
    text = above
  }
  return Buffer.from(text, 'latin1')
}

/**
 * A tree for reading: its roots and proofs at any size up to the present one. It keeps what it computed, so
 * use one for each answer.
 *
 * @example
 * const tree = new MerkleTree({ read: () => new Uint8Array(64), write: () => {} })
 * tree.inclusion(0, 2).length // => 1
 */
export class MerkleTree {
  readonly #store: TileStore
  readonly #known = new Map<string, Uint8Array>()

  constructor(store: TileStore) {
    this.#store = store
  }

  /** The root over the first `size` leaves. */
  root(size: number): Uint8Array {
    return size === 0 ? emptyRoot : this.#range(0, size)
  }

  /** The hash of one leaf. */
  leaf(index: number): Uint8Array {
    return this.#node(0, index)
  }

  /**
   * The hashes that prove that the leaf `index` is in the tree of `size` leaves (RFC 6962, section 2.1.1).
   */
  inclusion(index: number, size: number): Uint8Array[] {
    invariant(index >= 0 && index < size, `The leaf ${index} is not in a tree of ${size} leaves`)
    const path: Uint8Array[] = []
    for (let [low, high] = [0, size]; high - low > 1;) {
      const split = low + largestPowerBelow(high - low)
      path.push(index < split ? this.#range(split, high) : this.#range(low, split))
      if (index < split) high = split
      else low = split
    }
    return path.toReversed()
  }

  /**
   * The hashes that prove that the tree of `older` leaves is the beginning of the tree of `size` leaves (RFC
   * 6962, section 2.1.2).
   */
  consistency(older: number, size: number): Uint8Array[] {
    invariant(older >= 0 && older <= size, `A tree of ${older} leaves is not the beginning of one of ${size}`)
    if (older === 0 || older === size) return []
    const path: Uint8Array[] = []
    let [low, high] = [0, size]
    while (high !== older) {
      const split = low + largestPowerBelow(high - low)
      if (older <= split) {
        path.push(this.#range(split, high))
        high = split
      } else {
        path.push(this.#range(low, split))
        low = split
      }
    }
    if (low > 0) path.push(this.#range(low, high))
    return path.toReversed()
  }

  #range(low: number, high: number): Uint8Array {
    const width = high - low
    const height = Math.log2(width)
    if (Number.isInteger(height)) return this.#node(height, low / width)
    const split = low + largestPowerBelow(width)
    return nodeHash(this.#range(low, split), this.#range(split, high))
  }

  /** The node at a height whose leaves all exist. */
  #node(height: number, index: number): Uint8Array {
    const key = `${height} ${index}`
    let known = this.#known.get(key)
    if (known === undefined)
      this.#known.set(
        key,
        (known =
          height % tileHeight === 0
            ? this.#stored(height / tileHeight, index)
            : this.#computed(height, index)),
      )
    return known
  }

  #computed(height: number, index: number): Uint8Array {
    return nodeHash(this.#node(height - 1, 2 * index), this.#node(height - 1, 2 * index + 1))
  }

  #stored(level: number, index: number): Uint8Array {
    const place = Math.floor(index / tileWidth)
    const key = `tile ${level} ${place}`
    const tile = this.#known.get(key) ?? this.#store.read(level, place)
    const at = (index % tileWidth) * hashBytes
    invariant(
      tile !== null && tile.length >= at + hashBytes,
      `The tile ${level}/${place} of the tree does not hold its hash ${index % tileWidth}`,
    )
    this.#known.set(key, tile)
    return tile.subarray(at, at + hashBytes)
  }
}
