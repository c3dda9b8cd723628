import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { appendLeaves, emptyRoot, MerkleTree, type TileStore } from './merkle-tree.ts'
import { leafHash } from './tree-hash.ts'

function memoryTiles(): TileStore & { readonly tiles: Map<string, Uint8Array> } {
  const tiles = new Map<string, Uint8Array>()
  return {
    tiles,
    read: (level, index) => tiles.get(`${level}/${index}`) ?? null,
    write: (level, index, hashes) => void tiles.set(`${level}/${index}`, hashes),
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** RFC 6962, section 2.1, word for word. */
function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return createHash('sha256').digest()
  if (leaves.length === 1) return leaves[0] as Uint8Array
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return createHash('sha256')
    .update(Buffer.from([1]))
    .update(rootOf(leaves.slice(0, k)))
    .update(rootOf(leaves.slice(k)))
    .digest()
}

const leavesOf = (n: number): Uint8Array[] => Array.from({ length: n }, (_, i) => leafHash(`leaf ${i}`))

function treeOf(n: number, batch = n): { store: ReturnType<typeof memoryTiles>; tree: MerkleTree } {
  const store = memoryTiles()
  const leaves = leavesOf(n)
  for (let at = 0; at < n;) at = appendLeaves(store, at, leaves.slice(at, at + batch))
  return { store, tree: new MerkleTree(store) }
}

describe('the tree', () => {
  // The reference vectors of Certificate Transparency.
  const inputs = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ]
  const roots = [
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]

  it('has the roots of the reference vectors of RFC 6962', () => {
    const store = memoryTiles()
    appendLeaves(
      store,
      0,
      inputs.map((input) => leafHash(Buffer.from(input, 'hex'))),
    )
    const tree = new MerkleTree(store)
    expect(roots.map((_, i) => hex(tree.root(i + 1)))).toEqual(roots)
    expect(tree.root(0)).toEqual(emptyRoot)
  })

  it('has the root of the definition at every size, across tiles', () => {
    const { tree } = treeOf(600)
    const leaves = leavesOf(600)
    for (const size of [1, 2, 3, 255, 256, 257, 511, 512, 513, 600])
      expect(hex(tree.root(size))).toBe(hex(rootOf(leaves.slice(0, size))))
  })

  it('has the same tiles whatever the batches were', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 1, max: 300 }), (n, batch) => {
        expect(treeOf(n, batch).store.tiles).toEqual(treeOf(n).store.tiles)
      }),
      { numRuns: 20 },
    )
  })

  it('holds a third level, and the roots of its first leaves stay', () => {
    const { store, tree } = treeOf(65_537)
    expect(store.read(2, 0)).toHaveLength(32)
    expect(hex(tree.root(300))).toBe(hex(rootOf(leavesOf(300))))
    expect(tree.inclusion(65_536, 65_537)).toHaveLength(1)
    expect(tree.inclusion(0, 65_537)).toHaveLength(17)
  })
})

describe('the proofs', () => {
  it('are those of the example of RFC 6962, section 2.1.3', () => {
    const tree = treeOf(7).tree
    const leaves = leavesOf(7)
    const at = (from: number, to: number): string => hex(rootOf(leaves.slice(from, to)))
    const shown = (path: readonly Uint8Array[]): string[] => path.map(hex)
    expect(shown(tree.inclusion(0, 7))).toEqual([at(1, 2), at(2, 4), at(4, 7)])
    expect(shown(tree.inclusion(3, 7))).toEqual([at(2, 3), at(0, 2), at(4, 7)])
    expect(shown(tree.inclusion(6, 7))).toEqual([at(4, 6), at(0, 4)])
    expect(shown(tree.consistency(3, 7))).toEqual([at(2, 3), at(3, 4), at(0, 2), at(4, 7)])
    expect(shown(tree.consistency(4, 7))).toEqual([at(4, 7)])
    expect(shown(tree.consistency(6, 7))).toEqual([at(4, 6), at(6, 7), at(0, 4)])
    expect(tree.consistency(7, 7)).toEqual([])
    expect(tree.consistency(0, 7)).toEqual([])
  })
})
