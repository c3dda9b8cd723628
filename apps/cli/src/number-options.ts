// Reads options that are whole numbers.
import { UsageError } from './failures.ts'

/** The number of a message in the journal. */
export function messageNumber(text: string): number {
  const n = Number(text)
  if (Number.isSafeInteger(n) && n > 0) return n
  throw new UsageError(
    `${JSON.stringify(text)} is not the number of a message. "beaver quarantine" lists the messages with their numbers.`,
  )
}

/**
 * Reads `--limit`: from 1 to `max`.
 *
 * @throws {UsageError}
 */
export function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const n = Number(text)
    if (!Number.isInteger(n) || n < 1 || n > max)
      throw new UsageError(
        `The option --limit needs a whole number from 1 to ${max}, not ${JSON.stringify(text)}.`,
      )
    return n
  }
}

/**
 * Reads `--before`: the place at which the page before ended.
 *
 * @throws {UsageError}
 */
export function place(text: string): number {
  const n = Number(text)
  if (!Number.isSafeInteger(n) || n < 0)
    throw new UsageError(
      `The option --before needs the place that the page before names, not ${JSON.stringify(text)}.`,
    )
  return n
}

/**
 * Reads `--port`: from 0 to 65535.
 *
 * @throws {UsageError}
 */
export function portNumber(text: string): number {
  const n = Number(text)
  if (!Number.isInteger(n) || n < 0 || n > 65_535)
    throw new UsageError(
      `The option --port needs a whole number from 0 to 65535, not ${JSON.stringify(text)}.`,
    )
  return n
}
