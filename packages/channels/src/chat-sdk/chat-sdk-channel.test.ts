import { ownMs } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { piecesOf, withoutCalls } from './chat-sdk-channel.ts'

describe('the pieces of a text', () => {
  it.each([
    ['a short text', 'hello', 100],
    ['lines', 'one line\n'.repeat(1_000), 100],
    ['words', 'word '.repeat(1_000), 100],
    ['no place to end', 'x'.repeat(1_000), 100],
    ['characters of two units', '🦫'.repeat(1_000), 101],
    ['what is escaped', '*_~`'.repeat(1_000), 100],
    ['a bound smaller than a character', '🦫*🦫', 1],
    ['lines at the ends', '\n\n'.repeat(100), 10],
  ])('are the text together, and each fits: %s', (_name, text, most) => {
    const pieces = piecesOf(text, most)
    expect(pieces.join('')).toBe(text)
    const weigh = (piece: string): number =>
      [...piece].reduce((sum, char) => sum + (/[*_~`]/.test(char) ? 2 : char.length), 0)
    if (most > 2) expect(pieces.every((piece) => weigh(piece) <= most && piece.isWellFormed())).toBe(true)
    expect(pieces.every((piece) => piece !== '')).toBe(true)
  })

  it('end at the end of a line or of a word', () => {
    expect(piecesOf('first line\nsecond line', 16)).toEqual(['first line\n', 'second line'])
    expect(piecesOf('four and twenty', 10)).toEqual(['four and ', 'twenty'])
  })

  it('need time that grows with the text alone', async () => {
    expect(await ownMs(() => expect(piecesOf('*'.repeat(100_000), 3_500).length).toBe(58))).toBeLessThan(500)
  })
})

it('nobody is called by what an agent writes', () => {
  expect(withoutCalls('<!channel> <@U1> @here @Everyone a@b <b>')).toBe(
    '<\u200B!channel> <\u200B@U1> @\u200Bhere @\u200BEveryone a@b <b>',
  )
})
