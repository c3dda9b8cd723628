// Masks a text that comes in pieces, however a secret is split. What may become a secret is held back until
// it is decided, or until the text ends.
import { decidedLength, maskSecrets } from './process-secrets.ts'

/** A text that is masked while it comes. */
export interface MaskedStream {
  /** Returns the next part of the masked text; empty if nothing is decided yet. */
  push(text: string): string
  /** Returns the rest. */
  end(): string
}

/** What a rule may look at before a secret. */
const contextCharacters = 64

/**
 * Masks a text that comes in pieces.
 *
 * @example
 * const stream = maskedStream()
 * stream.push('The id is AKIAIOSF') // => 'The id is '
 * stream.push('ODNN7EXAMPLE now') + stream.end() // => '[secret:aws_access_key] now'
 */
export function maskedStream(): MaskedStream {
  let context = ''
  let held = ''

  function take(length: number): string {
    const whole = context + held.slice(0, length)
    const masked = maskSecrets(whole, context.length)
    context = whole.slice(-contextCharacters)
    held = held.slice(length)
    return masked
  }
  return {
    push(text) {
      held += text
      return take(Math.max(0, decidedLength(context + held) - context.length))
    },
    end: () => take(held.length),
  }
}
