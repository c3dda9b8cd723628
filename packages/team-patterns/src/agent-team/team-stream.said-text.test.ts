import type { LiveDelta } from '@beaver/core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Piece, saidText } from './team-stream.ts'

const delta = (text: string, offset: number, call = 1): LiveDelta => ({
  run_id: 'r',
  agent_name: 'a',
  node_id: 'a',
  call,
  offset,
  text,
})

it('tells pieces as they come, and of the journaled answer only what is missing', () => {
  const said = saidText()
  expect([
    said.piece(delta('Good ', 0)),
    said.piece(delta('mor', 5)),
    said.answer('r', 'Good morning'),
  ]).toEqual([
    { text: 'Good ', offset: 0 },
    { text: 'mor', offset: 5 },
    { text: 'ning', offset: 8 },
  ])
})

it('tells nothing of an answer that was told whole', () => {
  const said = saidText()
  said.piece(delta('all', 0))
  expect(said.answer('r', 'all')).toBeNull()
})

it('begins anew when the call is made again', () => {
  const said = saidText()
  said.piece(delta('lost', 0))
  expect([said.piece(delta('new', 0, 2)), said.answer('r', 'new')]).toEqual([
    { text: 'new', offset: 0 },
    null,
  ])
})

it('a piece of an earlier call that comes late is not told', () => {
  const said = saidText()
  said.piece(delta('new', 0, 2))
  expect(said.piece(delta('x', 3, 1))).toBeNull()
})

it('whatever pieces are lost, the pieces told give the answer', () => {
  const pieces = fc.array(fc.tuple(fc.string({ minLength: 1 }), fc.boolean()), { maxLength: 20 })
  fc.assert(
    fc.property(pieces, (all) => {
      const said = saidText()
      const told: (Piece | null)[] = []
      let offset = 0
      for (const [text, lost] of all) {
        if (!lost) told.push(said.piece(delta(text, offset)))
        offset += text.length
      }
      const answer = all.map(([text]) => text).join('')
      told.push(said.answer('r', answer))
      let read = ''
      for (const piece of told) if (piece !== null) read = read.slice(0, piece.offset) + piece.text
      expect(read).toBe(answer)
    }),
  )
})
