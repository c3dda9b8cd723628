// Messages with unknown outcome to networks without idempotency keys: a note for each try that began, and a
// count for each channel, both in the stream of channels. A note is stored before its message leaves. Only
// the process that wrote or found a note removes it.
import { randomUUID } from 'node:crypto'
import type { OutboundMessage, UncertainSends } from '@beaver/contracts'
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import { z } from 'zod'
import { isRefusedWith, wrongLastMessage } from './api-refusal.ts'
import type { Subjects } from './subjects.ts'

interface StoreParts {
  readonly jsm: JetStreamManager
  readonly js: JetStreamClient
  readonly subjects: Subjects
}

const latestMax = 20
const triesMax = 10

const counted = z.object({
  tries: z.int().min(0),
  latest: z.array(z.object({ id: z.string(), chat_id: z.string(), at: z.string() })),
})
type Counted = z.infer<typeof counted>

export class UncertainStore {
  readonly #parts: StoreParts
  /** The places of the notes that this process wrote or found, by message id. */
  readonly #notes = new Map<string, number>()

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async begin({ channel, chat_id, id }: OutboundMessage, at: string): Promise<{ readonly again: boolean }> {
    const { js, subjects } = this.#parts
    const subject = subjects.channelBegun(channel, id)
    try {
      // A new name each time, so that the server does not take the note for a repeated one.
      const { seq } = await js.publish(subject, at, {
        msgID: randomUUID(),
        expect: { lastSubjectSequence: 0 },
      })
      this.#notes.set(id, seq)
      return { again: false }
    } catch (error) {
      if (!isRefusedWith(error, wrongLastMessage)) throw error
    }
    const note = await this.#last(subject)
    if (note !== null) this.#notes.set(id, note.seq)
    await this.#count(channel, { id, chat_id, at })
    return { again: true }
  }

  async end(id: string): Promise<void> {
    const seq = this.#notes.get(id)
    if (seq === undefined) return
    this.#notes.delete(id)
    await this.#parts.jsm.streams.deleteMessage(this.#parts.subjects.channelStream, seq, false)
  }

  async all(): Promise<readonly UncertainSends[]> {
    const { jsm, subjects } = this.#parts
    const { state } = await jsm.streams.info(subjects.channelStream, {
      subjects_filter: subjects.channelUncertains,
    })
    const found: UncertainSends[] = []
    for (const subject of Object.keys(state.subjects ?? {}).toSorted()) {
      const [, channel = ''] = subjects.channelNames(subject)
      const last = await this.#last(subject)
      if (last !== null) found.push({ channel, ...readCount(last.data) })
    }
    return found
  }

  async #count(channel: string, entry: Counted['latest'][number]): Promise<void> {
    const { js, jsm, subjects } = this.#parts
    const subject = subjects.channelUncertain(channel)
    for (let tries = 1; ; tries++) {
      const last = await this.#last(subject)
      const { tries: before, latest } = last === null ? { tries: 0, latest: [] } : readCount(last.data)
      const next: Counted = { tries: before + 1, latest: [entry, ...latest].slice(0, latestMax) }
      try {
        await js.publish(subject, JSON.stringify(next), {
          msgID: randomUUID(),
          expect: { lastSubjectSequence: last?.seq ?? 0 },
        })
        if (last !== null)
          await jsm.streams.deleteMessage(subjects.channelStream, last.seq, false).catch(() => {})
        return
      } catch (error) {
        if (!isRefusedWith(error, wrongLastMessage) || tries >= triesMax) throw error
      }
    }
  }

  async #last(subject: string): Promise<{ readonly seq: number; readonly data: Uint8Array } | null> {
    const { jsm, subjects } = this.#parts
    return jsm.direct.getMessage(subjects.channelStream, { last_by_subj: subject })
  }
}

/** A count that cannot be read begins anew. */
function readCount(data: Uint8Array): Counted {
  try {
    return counted.parse(JSON.parse(new TextDecoder().decode(data)))
  } catch {
    return { tries: 0, latest: [] }
  }
}
