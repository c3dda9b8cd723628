// What a server counted of an answer that is of no use: it refused, broke off, or sent what nobody can read.
// An answer is paid as soon as the server counts it, or begins to say something. What it does not count is
// unknown, and no zero.
import type { PaidAnswer, ProviderError } from '@beaver/agent'
import { field } from './server-error.ts'
import { wireUsage, type WireUsage } from './wire-shapes.ts'
import { usageOf } from './wire-usage.ts'

/** Hears what comes of one answer. */
export class HeardAnswer {
  readonly #asked: string
  #usage: WireUsage = null
  #model: string | null = null
  #spoke = false

  /** @param asked the model that is asked */
  constructor(asked: string) {
    this.#asked = asked
  }

  /** Takes the value of an event, or a whole answer. */
  take(value: unknown): void {
    const response = field(value, 'response') ?? value
    const choices = field(response, 'choices')
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    for (const place of [response, choice, field(response, 'x_groq')]) {
      const given = field(place, 'usage')
      if (typeof given === 'object' && given !== null) this.#usage = wireUsage.parse(given)
    }
    if (
      says(choice) ||
      (typeof field(value, 'type') === 'string' && String(field(value, 'type')).endsWith('.delta'))
    )
      this.#spoke = true
    const model = field(response, 'model')
    if (typeof model === 'string' && model !== '') this.#model = model
  }

  /** Shows the pieces of its text. */
  showing(onText: (text: string) => void = () => undefined): (text: string | null) => void {
    return (text) => {
      if (!text) return
      this.#spoke = true
      onText(text)
    }
  }

  takeText(body: string): void {
    try {
      this.take(JSON.parse(body))
    } catch {
      // It has no count that can be read.
    }
  }

  /** Says what is paid with the failure of this answer. */
  bill(error: ProviderError): ProviderError {
    error.paid ??= this.#paid(error)
    return error
  }

  #paid({ class: failureClass }: ProviderError): PaidAnswer | null {
    if (this.#usage === null && !this.#spoke && failureClass !== 'refusal') return null
    const usage = usageOf(this.#usage)
    // A gateway that fails at once counts nothing.
    const isNothing = usage.input_tokens + usage.output_tokens === 0 && usage.unknown_calls === undefined
    return isNothing ? null : { usage, model: this.#model ?? this.#asked }
  }
}

/** Whether a choice of a stream has a piece of anything: of a text, of thoughts, of a call, of a refusal. */
function says(choice: unknown): boolean {
  const delta = field(choice, 'delta')
  if (typeof delta !== 'object' || delta === null) return false
  return Object.entries(delta).some(
    ([name, piece]) =>
      name !== 'role' && piece !== null && piece !== '' && !(Array.isArray(piece) && piece.length === 0),
  )
}
