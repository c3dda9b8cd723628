// A channel of lines: a person types lines, and Beaver prints its answers. Each line is a message, except an
// empty one. When the input ends, the channel ends as soon as each message has its answer.
import type { OutboundMessage } from '@beaver/contracts'
import { messageOf, visible } from '@beaver/core'
import type { Channel, Receive, Sent } from './channel.ts'

export interface ConsoleChannelOptions {
  readonly name: string
  readonly chat_id: string
  readonly user: string
  readonly lines: AsyncIterable<string>
  /** Shows lines to the person. */
  print(lines: readonly string[]): void
  newId(): string
}

const lineAfterMs = 10_000

/** A channel of lines. */
export class ConsoleChannel implements Channel {
  readonly shownWork = { lineAfterMs }
  readonly #options: ConsoleChannelOptions
  readonly #waiting = new Set<string>()
  readonly #over = Promise.withResolvers<void>()
  #stopped = false
  #ended = false

  constructor(options: ConsoleChannelOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.name
  }

  /** Resolves when the input has ended and each message has its answer. */
  get over(): Promise<void> {
    return this.#over.promise
  }

  async start(receive: Receive): Promise<void> {
    // An input that fails counts as ended.
    const ended = (): void => {
      this.#ended = true
      this.#endIfIdle()
    }
    void this.#read(receive).then(ended, ended)
  }

  async send({ in_reply_to, kind, text }: OutboundMessage): Promise<Sent> {
    const mark = kind === 'error' ? '✗ ' : kind === 'approval' || kind === 'question' ? '? ' : ''
    this.#options.print(visible(`${mark}${text}`, '\n\t').split('\n'))
    if (kind !== 'approval' && kind !== 'question' && in_reply_to !== null) this.#waiting.delete(in_reply_to)
    this.#endIfIdle()
    return { kind: 'sent' }
  }

  async stop(): Promise<void> {
    this.#stopped = true
  }

  async #read(receive: Receive): Promise<void> {
    const { chat_id, user, lines, newId } = this.#options
    for await (const line of lines) {
      if (this.#stopped) return
      if (line.trim() === '') continue
      const message_id = newId()
      this.#waiting.add(message_id)
      try {
        await receive({ chat_id, message_id, user, text: line })
      } catch (error) {
        this.#waiting.delete(message_id)
        this.#options.print([`✗ ${visible(messageOf(error))}`])
      }
    }
  }

  #endIfIdle(): void {
    if (this.#ended && this.#waiting.size === 0) this.#over.resolve()
  }
}
