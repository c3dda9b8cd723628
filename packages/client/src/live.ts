// The live updates of a task from core NATS. Other messages are left out. At most `waitingMax` updates wait;
// a slow reader loses the oldest ones.
import { isProgress, type LiveDelta, type LiveUpdate, liveUpdate } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'

const waitingMax = 10_000

export async function* followLive(
  nc: NatsConnection,
  subject: string,
  signal: AbortSignal,
): AsyncGenerator<LiveUpdate> {
  const waiting: LiveUpdate[] = []
  let wake = (): void => {}
  let over = signal.aborted
  const end = (): void => {
    over = true
    wake()
  }
  const subscription = nc.subscribe(subject, {
    callback(error, message) {
      if (error !== null) return end()
      const update = liveUpdate.safeParse(jsonOf(message.string()))
      if (!update.success) return
      if (waiting.length >= waitingMax) waiting.shift()
      waiting.push(update.data)
      wake()
    },
  })
  void subscription.closed.then(end)
  signal.addEventListener('abort', end, { once: true })
  try {
    while (!over || waiting.length > 0) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    signal.removeEventListener('abort', end)
    if (!subscription.isClosed()) subscription.unsubscribe()
  }
}

export async function* deltasOf(updates: AsyncGenerator<LiveUpdate>): AsyncGenerator<LiveDelta> {
  for await (const update of updates) if (!isProgress(update)) yield update
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
