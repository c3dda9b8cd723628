import { expect, it } from 'vitest'
import { FailureText, failureTextBytes } from './endpoint-gate.ts'
import { at, wordsOfGate } from './gate-words.ts'

function shared() {
  const words = new BigInt64Array(new SharedArrayBuffer(wordsOfGate * 8))
  const bytes = new Uint8Array(new SharedArrayBuffer(failureTextBytes))
  return { words, one: new FailureText(words, bytes), other: new FailureText(words, bytes) }
}

it('is read by every thread as it was written last', () => {
  const { one, other } = shared()
  expect(other.read()).toBeNull()
  one.write('a long first text')
  one.write('ECONNREFUSED 不')
  expect(other.read()).toBe('ECONNREFUSED 不')
})

it('is cut between characters if it is too long', () => {
  const { one, other } = shared()
  one.write('不'.repeat(failureTextBytes))
  expect(other.read()).toBe('不'.repeat(Math.floor((failureTextBytes - 2) / 3)))
})

it('is not there while it is written', () => {
  const { words, one, other } = shared()
  one.write('whole')
  Atomics.add(words, at.textVersion, 1n) // A thread begins to write, or died while it did.
  one.write('other')
  expect(other.read()).toBeNull()
})
