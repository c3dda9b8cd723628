// The in-memory twin of the message bus, with the same lanes.
import type {
  BusMessages,
  BusQueue,
  DeadLetter,
  Handled,
  MessageBus,
  UncertainSends,
} from '@beaver/contracts'
import { BeaverError } from '@beaver/core'

interface Kept {
  readonly queue: BusQueue
  readonly channel: string
  readonly chat_id: string
  readonly lane: string
  readonly message: BusMessages[BusQueue]
}

/** The part that several processes share. */
export interface MessageStorage {
  readonly waiting: Kept[]
  readonly dead: { letter: DeadLetter; kept: Kept }[]
  readonly known: Set<string>
  readonly taken: Set<string>
  /** The ids of messages with a try that began. */
  readonly begun: Set<string>
  readonly uncertain: Map<string, UncertainSends>
  readonly wakes: Set<() => void>
}

export const messageStorage = (): MessageStorage => ({
  waiting: [],
  dead: [],
  known: new Set(),
  taken: new Set(),
  begun: new Set(),
  uncertain: new Map(),
  wakes: new Set(),
})

export function memoryMessageBus(storage: MessageStorage = messageStorage()): MessageBus {
  const { waiting, dead, known, taken, begun, uncertain, wakes } = storage
  const ring = (): void => {
    for (const wake of [...wakes]) wake()
  }
  const remove = (kept: Kept): void => void waiting.splice(waiting.indexOf(kept), 1)

  async function settle(
    kept: Kept,
    handle: (message: BusMessages[BusQueue]) => Promise<Handled>,
  ): Promise<void> {
    taken.add(kept.lane)
    const handled = await handle(kept.message).catch((): Handled => ({ kind: 'back' }))
    if (handled.kind !== 'back') remove(kept)
    if (handled.kind !== 'back' && 'id' in kept.message) begun.delete(kept.message.id)
    if (handled.kind === 'dead') {
      const { queue, channel } = kept
      const id = `${queue}_${dead.length + 1}`
      dead.push({
        kept,
        letter: {
          id,
          queue,
          channel,
          reason: handled.reason,
          died_at: new Date(0).toISOString(),
          content: JSON.stringify(kept.message),
        },
      })
    }
    taken.delete(kept.lane)
    ring()
  }

  return {
    async publish(queue, message) {
      const { channel, chat_id } = message
      const [kind, ...id] =
        'message_id' in message
          ? [message.kind, message.user.name, message.message_id]
          : ['message', message.id]
      const name = JSON.stringify([queue, channel, chat_id, ...id])
      if (known.has(name)) return { duplicate: true }
      known.add(name)
      waiting.push({
        queue,
        channel,
        chat_id,
        lane: JSON.stringify([queue, channel, chat_id, kind]),
        message,
      })
      ring()
      return { duplicate: false }
    },
    async take(queue, { channels, signal, handle }) {
      const under = new Set<Promise<void>>()
      while (!signal.aborted) {
        const next = waiting.find(
          (kept) => kept.queue === queue && channels.includes(kept.channel) && !taken.has(kept.lane),
        )
        if (next === undefined) await rung(wakes, signal)
        else {
          const settling = settle(
            next,
            handle as (message: BusMessages[BusQueue]) => Promise<Handled>,
          ).finally(() => under.delete(settling))
          under.add(settling)
        }
      }
      await Promise.all(under)
    },
    async begin({ id, channel, chat_id }, at) {
      const again = begun.has(id)
      begun.add(id)
      if (again) {
        const { tries, latest } = uncertain.get(channel) ?? { tries: 0, latest: [] }
        uncertain.set(channel, {
          channel,
          tries: tries + 1,
          latest: [{ id, chat_id, at }, ...latest].slice(0, 20),
        })
      }
      return { again }
    },
    withdraw: async ({ id }) => void begun.delete(id),
    uncertain: async () => [...uncertain.values()],
    async loads() {
      const counts = new Map<string, { kept: Kept; messages: number }>()
      for (const kept of waiting) {
        const key = JSON.stringify([kept.queue, kept.channel, kept.chat_id])
        counts.set(key, { kept, messages: (counts.get(key)?.messages ?? 0) + 1 })
      }
      return [...counts.values()].map(({ kept: { queue, channel, chat_id }, messages }) => ({
        queue,
        channel,
        chat_id,
        messages,
      }))
    },
    deadLetters: async (limit) => dead.slice(0, limit).map(({ letter }) => letter),
    async sendAgain(id) {
      const at = dead.findIndex(({ letter }) => letter.id === id)
      const found = dead[at]
      if (found === undefined)
        throw new BeaverError('not_found', `There is no dead letter ${JSON.stringify(id)}.`)
      dead.splice(at, 1)
      waiting.push(found.kept)
      ring()
      return found.letter
    },
  }
}

function rung(wakes: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      wakes.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    wakes.add(done)
    signal.addEventListener('abort', done, { once: true })
  })
}
