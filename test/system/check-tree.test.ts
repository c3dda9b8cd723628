// The tree that the projector keeps (@beaver/core) and the verifier of its proofs (@beaver/check) share no
// code. Each proof of the one is verified by the other, and a changed proof is not.
import { generateKeyPairSync, sign } from 'node:crypto'
import {
  judgeNote,
  LeafTree,
  leafOf,
  type VerifierKey,
  provesConsistency,
  provesInclusion,
  readNote,
  readVerifierKey,
} from '@beaver/check'
import {
  appendLeaves,
  checkpointText,
  journalLeaf,
  MerkleTree,
  noteKeyText,
  signNote,
} from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'

const messagesOf = (n: number) =>
  Array.from({ length: n }, (_, i) => ({
    sequence: i + 1,
    subject: `subject.${i % 7}`,
    payload: Buffer.from(`payload ${i}`),
  }))

function bothTrees(n: number): { kept: MerkleTree; read: LeafTree; leaves: readonly Uint8Array[] } {
  const tiles = new Map<string, Uint8Array>()
  const store = {
    read: (level: number, index: number) => tiles.get(`${level}/${index}`) ?? null,
    write: (level: number, index: number, hashes: Uint8Array) => void tiles.set(`${level}/${index}`, hashes),
  }
  const leaves = messagesOf(n).map(journalLeaf)
  appendLeaves(store, 0, leaves)
  const read = new LeafTree()
  for (const message of messagesOf(n)) read.append(leafOf(message))
  return { kept: new MerkleTree(store), read, leaves }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const flipped = (bytes: Uint8Array): Uint8Array => Buffer.from(bytes).fill((bytes[0] ?? 0) ^ 1, 0, 1)

describe('two implementations of one tree', () => {
  const n = 300
  const { kept, read, leaves } = bothTrees(n)
  const at = (size: number) => ({ size, root: kept.root(size) })

  it('have the same root at every size', () => {
    for (let size = 0; size <= n; size++) expect(hex(read.root(size))).toBe(hex(kept.root(size)))
  })

  it('agree on every inclusion, and on no changed one', () => {
    for (const size of [1, 2, 7, 8, 255, 256, 257, n]) {
      for (let index = 0; index < size; index++) {
        const path = kept.inclusion(index, size)
        const leaf = leaves[index] as Uint8Array
        expect(provesInclusion(leaf, index, at(size), path)).toBe(true)
        expect(provesInclusion(flipped(leaf), index, at(size), path)).toBe(false)
        expect(provesInclusion(leaf, index, { size, root: flipped(kept.root(size)) }, path)).toBe(false)
        expect(provesInclusion(leaf, index, at(size), [...path, leaf])).toBe(false)
        if (path.length > 0) expect(provesInclusion(leaf, index, at(size), path.slice(1))).toBe(false)
        if (size > 1) expect(provesInclusion(leaf, (index + 1) % size, at(size), path)).toBe(false)
      }
    }
    expect(provesInclusion(leaves[0] as Uint8Array, -1, at(1), [])).toBe(false)
    expect(provesInclusion(leaves[0] as Uint8Array, 1, at(1), [])).toBe(false)
  })

  it('agree on every consistency, and on no changed one', () => {
    for (let older = 1; older <= n; older++) {
      for (const size of [older, older + 1, 256, 257, n].filter((each) => each >= older && each <= n)) {
        const path = kept.consistency(older, size)
        expect(provesConsistency(at(older), at(size), path)).toBe(true)
        expect(provesConsistency({ size: older, root: flipped(kept.root(older)) }, at(size), path)).toBe(
          false,
        )
        expect(provesConsistency(at(older), { size, root: flipped(kept.root(size)) }, path)).toBe(false)
        if (path.length > 0) expect(provesConsistency(at(older), at(size), path.slice(1))).toBe(false)
        expect(provesConsistency(at(older), at(size), [...path, leaves[0] as Uint8Array])).toBe(false)
      }
    }
    expect(provesConsistency(at(9), at(8), [])).toBe(false)
  })
})

describe('a signed checkpoint', () => {
  const pair = generateKeyPairSync('ed25519')
  const key = {
    name: 'example.com/main',
    publicKey: pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32),
  }
  const head = { origin: 'example.com/main', size: 3, root: bothTrees(3).kept.root(3) }
  const note = signNote(checkpointText(head), key, (bytes) => sign(null, bytes, pair.privateKey))
  const known = readVerifierKey(noteKeyText(key)) as VerifierKey
  const verdict = (text: string, keys: readonly VerifierKey[] = [known]) => {
    const read = readNote(text)
    return typeof read === 'string' ? read : judgeNote(read, keys)
  }

  it('is verified by the key that signed it', () => {
    expect(readNote(note)).toMatchObject({ origin: head.origin, size: 3, lines: [] })
    expect(verdict(note)).toBe('signed')
    expect(verdict(note, [])).toBe('unknown')
  })

  it('is refused after any change', () => {
    expect(verdict(note.replace('\n3\n', '\n4\n'))).toBe('wrong')
    expect(verdict(note.replace('example.com/main\n3', 'example.com/other\n3'))).toBe('wrong')
    expect(verdict(note.replace('\n3\n', '\n03\n'))).toBe('it is not a checkpoint')
    expect(verdict(note.split('\n\n')[0] ?? '')).toBe('it has no signature lines')
    const other = generateKeyPairSync('ed25519')
    expect(verdict(signNote(checkpointText(head), key, (bytes) => sign(null, bytes, other.privateKey)))).toBe(
      'wrong',
    )
  })

  it('takes no key whose id is not its own', () => {
    expect(readVerifierKey(noteKeyText(key).replace(/\+[0-9a-f]{8}\+/, '+00000000+'))).toBeNull()
    expect(readVerifierKey('nothing')).toBeNull()
  })
})
