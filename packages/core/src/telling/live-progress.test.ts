import { describe, expect, test } from 'vitest'
import { progressText } from './live-progress.ts'

describe('how far a call is', () => {
  test.each([
    [{ progress: 2, total: 5, message: null }, '40%'],
    [{ progress: 1, total: 3, message: 'Reads page 1.' }, '33% · Reads page 1.'],
    [{ progress: 3, total: 3, message: null }, '100%'],
    [{ progress: 7, total: 3, message: null }, '7'],
    [{ progress: 0.1 + 0.2, total: null, message: 'Copies.' }, '0.3 · Copies.'],
    [{ progress: -1, total: 0, message: null }, '-1'],
  ])('%j is %s', (update, text) => expect(progressText(update)).toBe(text))
})
