// The Merkle tree over the messages of one commit: few leaves, all in memory. merkle-tree.ts is for many that
// are stored. The path of a leaf and the number of leaves give the root, and no other leaf at this place
// gives the same root.
import { largestPowerBelow, nodeHash } from './tree-hash.ts'

/** The root of a tree, and the path of each leaf, from the leaf to the root. There is at least one leaf. */
export function treeOf(leaves: readonly Uint8Array[]): {
  readonly root: Uint8Array
  readonly paths: readonly (readonly Uint8Array[])[]
} {
  const [only] = leaves
  if (only === undefined) throw new RangeError('A tree has at least one leaf.')
  if (leaves.length === 1) return { root: only, paths: [[]] }
  const split = largestPowerBelow(leaves.length)
  const [left, right] = [treeOf(leaves.slice(0, split)), treeOf(leaves.slice(split))]
  return {
    root: nodeHash(left.root, right.root),
    paths: [
      ...left.paths.map((path) => [...path, right.root]),
      ...right.paths.map((path) => [...path, left.root]),
    ],
  }
}

/** The root to which the path of a leaf leads; `null` if the path does not fit the place. */
export function rootOf(
  leaf: Uint8Array,
  place: { readonly index: number; readonly size: number },
  path: readonly Uint8Array[],
): Uint8Array | null {
  const { index, size } = place
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return null
  if (size === 1) return path.length === 0 ? leaf : null
  const sibling = path.at(-1)
  if (sibling === undefined) return null
  const split = largestPowerBelow(size)
  const isLeft = index < split
  const below = rootOf(
    leaf,
    isLeft ? { index, size: split } : { index: index - split, size: size - split },
    path.slice(0, -1),
  )
  if (below === null) return null
  return isLeft ? nodeHash(below, sibling) : nodeHash(sibling, below)
}
