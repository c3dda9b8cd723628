// Merkle trees as in RFC 6962: the hash of a leaf and the hash of a node have different prefixes, so no node can be taken for a leaf.
// M1. A tree of n leaves has its left subtree of the largest power of two below n.
// M2. The path of a leaf and the number of leaves give the root, and no other leaf at this place gives the same root.
import { hash } from 'node:crypto'

/** A hash of 32 bytes. */
export type TreeHash = Buffer

const leafPrefix = Buffer.from([0])
const nodePrefix = Buffer.from([1])

/** The hash of the content of a leaf. */
export const leafHash = (content: Uint8Array): TreeHash => hash('sha256', Buffer.concat([leafPrefix, content]), 'buffer')

const nodeHash = (left: TreeHash, right: TreeHash): TreeHash => hash('sha256', Buffer.concat([nodePrefix, left, right]), 'buffer')

/** The largest power of two below n; n is at least 2. */
function splitOf(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** The root of a tree, and the path of each leaf, from the leaf to the root. There is at least one leaf. */
export function treeOf(leaves: readonly TreeHash[]): { readonly root: TreeHash; readonly paths: readonly (readonly TreeHash[])[] } {
  const [only] = leaves
  if (only === undefined) throw new RangeError('A tree has at least one leaf.')
  if (leaves.length === 1) return { root: only, paths: [[]] }
  const k = splitOf(leaves.length)
  const [left, right] = [treeOf(leaves.slice(0, k)), treeOf(leaves.slice(k))]
  return {
    root: nodeHash(left.root, right.root),
    paths: [...left.paths.map((path) => [...path, right.root]), ...right.paths.map((path) => [...path, left.root])],
  }
}

/** The root to which the path of a leaf leads; `null` if the path does not fit the place. */
export function rootOf(leaf: TreeHash, place: { readonly index: number; readonly size: number }, path: readonly TreeHash[]): TreeHash | null {
  const { index, size } = place
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return null
  if (size === 1) return path.length === 0 ? leaf : null
  const sibling = path.at(-1)
  if (sibling === undefined) return null
  const k = splitOf(size)
  const isLeft = index < k
  const below = rootOf(leaf, isLeft ? { index, size: k } : { index: index - k, size: size - k }, path.slice(0, -1))
  if (below === null) return null
  return isLeft ? nodeHash(below, sibling) : nodeHash(sibling, below)
}
