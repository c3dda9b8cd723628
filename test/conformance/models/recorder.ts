// Keeps what Beaver sent to a server and what the server really said, beside the way of the answer to its
// reader. The reader gets each byte as it came. What is kept has a bound; `whole` says whether something is
// missing. No address and no header of a request is kept, and of an answer only those that say how its body
// is to be read.
import type { HttpAnswer, HttpPost } from '@beaver/providers/endpoint'

/** A request and its answer, with the secrets that may be in them: see clean.ts. */
export interface Exchange {
  readonly request: string
  /** `null`: no answer came. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether `body` is all that came, and nothing was missing. */
  readonly whole: boolean
}

export interface Recorder {
  readonly http: HttpPost
  /** Returns what was exchanged since the last call. */
  take(): readonly Exchange[]
}

const bodyBytesMax = 256 * 1024
const headersKept = ['content-type', 'content-encoding', 'retry-after', 'server']

export function recorder(post: HttpPost): Recorder {
  let kept: Recording[] = []
  return {
    async http(url, headers, body, signal) {
      const recording = new Recording(body)
      kept.push(recording)
      return recording.of(await post(url, headers, body, signal))
    },
    take() {
      const taken = kept.map((each) => each.exchange())
      kept = []
      return taken
    },
  }
}

class Recording {
  readonly #request: string
  #answer: HttpAnswer | null = null
  readonly #pieces: Uint8Array[] = []
  #bytes = 0
  #isRead = false

  constructor(request: string) {
    this.#request = request
  }

  of(answer: HttpAnswer): HttpAnswer {
    this.#answer = answer
    return {
      status: answer.status,
      header: (name) => answer.header(name),
      headers: () => answer.headers(),
      discard: () => answer.discard(),
      text: async () => {
        const text = await answer.text()
        this.#keep(Buffer.from(text))
        this.#isRead = true
        return text
      },
      bytes: this.#passOn(answer.bytes),
    }
  }

  async *#passOn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      this.#keep(piece)
      yield piece
    }
    this.#isRead = true
  }

  #keep(piece: Uint8Array): void {
    const room = Math.max(0, bodyBytesMax - this.#bytes)
    this.#bytes += piece.length
    if (room > 0) this.#pieces.push(Uint8Array.from(piece.subarray(0, room)))
  }

  exchange(): Exchange {
    const headers = headersKept.flatMap((name) => {
      const value = this.#answer?.header(name) ?? null
      return value === null ? [] : [[name, value] as const]
    })
    // A secret in a packed body could not be found.
    const isPacked = (this.#answer?.header('content-encoding') ?? 'identity') !== 'identity'
    return {
      request: this.#request,
      status: this.#answer?.status ?? null,
      headers: Object.fromEntries(headers),
      body: isPacked ? '' : Buffer.concat(this.#pieces).toString(),
      whole: this.#isRead && !isPacked && this.#bytes <= bodyBytesMax,
    }
  }
}
