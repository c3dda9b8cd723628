import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { journalLeaf, journalLeaves } from './journal-leaf.ts'
import { leafHash } from './tree-hash.ts'
import { checkpointText, noteKeyText, readCheckpoint, signNote } from './signed-note.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const key = {
  name: 'example.com/main',
  publicKey: publicKey.export({ type: 'spki', format: 'der' }).subarray(-32),
}
const head = {
  origin: 'example.com/main',
  size: 20_852_163,
  root: Buffer.from('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', 'base64'),
}
const signed = (text: string, name = key.name): string =>
  signNote(text, { ...key, name }, (bytes) => sign(null, bytes, privateKey))

describe('a checkpoint', () => {
  it('is a note of C2SP: three lines, an empty line, and the signature over the three', () => {
    const [origin, size, root, empty, line = '', end] = signed(checkpointText(head)).split('\n')
    expect([origin, size, root, empty, end]).toEqual([
      'example.com/main',
      '20852163',
      'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
      '',
      '',
    ])
    const [dash, name, base64 = ''] = line.split(' ')
    expect([dash, name]).toEqual(['—', key.name])
    const bytes = Buffer.from(base64, 'base64')
    const id = createHash('sha256')
      .update(`${key.name}\n\u0001`)
      .update(key.publicKey)
      .digest()
      .subarray(0, 4)
    expect(bytes.subarray(0, 4)).toEqual(id)
    expect(verify(null, Buffer.from(checkpointText(head)), publicKey, bytes.subarray(4))).toBe(true)
    expect(noteKeyText(key)).toBe(
      `${key.name}+${id.toString('hex')}+${Buffer.concat([Buffer.from([1]), key.publicKey]).toString('base64')}`,
    )
  })

  it('is read back, and a note that is none is not', () => {
    expect(readCheckpoint(signed(checkpointText(head)))).toEqual(head)
    for (const text of [
      'a\n01\nCsUY\n\n',
      'a\n1\nCsUY\n\n',
      `\n1\n${'A'.repeat(43)}=\n\n`,
      'nothing',
      checkpointText(head).trimEnd(),
    ])
      expect(readCheckpoint(text)).toBeNull()
  })

  it('refuses a text and a name with two meanings', () => {
    for (const text of ['no line end', 'a\n\nb\n', 'a\u0000\n', ''])
      expect(() => signed(text)).toThrow('The text of a note')
    for (const name of ['', 'a b', 'a+b']) expect(() => signed('a\n', name)).toThrow('The name')
  })
})

it('the leaf of a message is its sequence, its subject and the hash of its payload', () => {
  const sha256 = createHash('sha256').update('payload').digest('hex')
  const message = { sequence: 7, subject: 'a.subject', payload: Buffer.from('payload') }
  expect(journalLeaves([message, message])).toEqual(
    Buffer.concat([journalLeaf(message), journalLeaf(message)]),
  )
  expect(journalLeaf(message)).toEqual(leafHash(`7 a.subject ${sha256}\n`))
})
