// An archive is read again in pieces, which may end anywhere.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { readHeads } from './archive-file.ts'

const headOf = (task: string) =>
  ({
    log: { tenant: 'local', session: 's', task },
    hash: createHash('sha256').update(task).digest('hex'),
  }) as never as Parameters<typeof readHeads>[1][number]
const heads = ['a', 'b'].map(headOf)
// A line of an export contains its records as a text, so their quotation marks are escaped.
const content = Buffer.from(
  heads
    .map(({ hash }) => `${JSON.stringify({ payload: JSON.stringify([{ id: 1, hash, data: {} }]) })}\n`)
    .join(''),
)

test('a head is found wherever the pieces of the file end', async () => {
  const sha256 = createHash('sha256').update(content).digest('hex')
  for (let at = 0; at <= content.length; at++) {
    const pieces = [content.subarray(0, at), content.subarray(at, at + 1), content.subarray(at + 1)]
    expect({ at, ...(await readHeads(pieces, heads)) }).toEqual({ at, sha256, lacking: [] })
  }
})

test('a head that is not there is lacking', async () => {
  const other = headOf('other')
  expect((await readHeads([content], [...heads, other])).lacking).toEqual([other])
})
