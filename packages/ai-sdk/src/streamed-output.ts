// Joins the parts of a stream into a whole answer. The pieces of a text or a thought have its id, and its
// last metadata count. A stream without the part `finish` was cut, and gives no answer.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { ProviderError } from '@beaver/agent'
import { untilAborted } from '@beaver/providers'

/** A model's output, whole or streamed. */
export type ModelOutput = Pick<
  LanguageModelV4GenerateResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'structuredOutputText' | 'response'
>

interface Following {
  readonly signal: AbortSignal
  readonly onText: (text: string) => void
}

/** @throws {ProviderError} `provider_unavailable` if the stream was cut; the stream's first error */
export async function streamedOutput(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  { signal, onText }: Following,
): Promise<ModelOutput> {
  const reader = stream.getReader()
  const collected = new CollectedParts(onText)
  try {
    for (;;) {
      const { value, done } = await untilAborted(reader.read(), signal)
      if (done) return collected.output()
      collected.take(value)
    }
  } finally {
    // Nobody reads the rest of the stream, so its errors do not matter.
    reader.cancel().catch(() => {})
  }
}

/** An incomplete text or thought. Its start decides its place in the content. */
interface GrowingPart {
  readonly type: 'text' | 'reasoning'
  text: string
  providerMetadata?: SharedV4ProviderMetadata
}

interface Piece {
  readonly id: string
  readonly delta?: string
  readonly providerMetadata?: SharedV4ProviderMetadata
}

class CollectedParts {
  readonly #onText: (text: string) => void
  readonly #content: LanguageModelV4Content[] = []
  readonly #growing = new Map<string, GrowingPart>()
  #warnings: ModelOutput['warnings'] = []
  #response: NonNullable<ModelOutput['response']> = {}
  #finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | null = null

  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
        return this.#grow('text', part)
      case 'reasoning-start':
      case 'reasoning-delta':
        return this.#grow('reasoning', part)
      case 'text-end':
        return this.#end('text', part)
      case 'reasoning-end':
        return this.#end('reasoning', part)
      case 'tool-call':
      case 'custom':
      case 'file':
      case 'reasoning-file':
        return void this.#content.push(part)
      case 'stream-start':
        return void (this.#warnings = part.warnings)
      case 'response-metadata': {
        const { type: _, ...response } = part
        return void (this.#response = { ...this.#response, ...response })
      }
      case 'finish':
        return void (this.#finish = part)
      case 'error':
        throw part.error
      default:
        // Pieces of inputs of calls, sources, pings, and parts of newer models.
        return
    }
  }

  output(): ModelOutput {
    if (this.#finish === null)
      throw new ProviderError(
        'provider_unavailable',
        'The stream of the model ended before its answer was complete.',
      )
    const { finishReason, usage } = this.#finish
    return { content: this.#content, finishReason, usage, warnings: this.#warnings, response: this.#response }
  }

  #grow(type: GrowingPart['type'], { id, delta = '', providerMetadata }: Piece): void {
    const key = `${type} ${id}`
    let growing = this.#growing.get(key)
    if (growing === undefined) {
      growing = { type, text: '' }
      this.#growing.set(key, growing)
      this.#content.push(growing)
    }
    if (providerMetadata !== undefined) growing.providerMetadata = providerMetadata
    growing.text += delta
    if (type === 'text' && delta !== '') this.#onText(delta)
  }

  /** The same id may begin again. */
  #end(type: GrowingPart['type'], piece: Piece): void {
    this.#grow(type, piece)
    this.#growing.delete(`${type} ${piece.id}`)
  }
}
