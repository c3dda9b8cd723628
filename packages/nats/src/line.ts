// The line to the server: whether it is up, and when it is cut. The client discards what is sent while the
// line is down, and the answer to a question is lost when the line is cut. So a request then rejects at once,
// and a writer waits for the line first.
import type { Msg, NatsConnection, RequestOptions } from '@nats-io/nats-core'

export interface Line {
  /** @throws {Error} if the line is down or is cut, or if no answer comes in time */
  request(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Msg>
  /** What `ask` returns, or rejects with if the line is cut first. @throws {Error} if the line is cut */
  unlessCut<T>(ask: () => Promise<T>): Promise<T>
  /** How long the line has been down, in milliseconds; 0 if it is up. */
  readonly downMs: number
  /** Resolves when the line is up, or after `waitMsMax`. */
  up(waitMsMax: number): Promise<void>
  /** Calls `cut` each time the line is cut, until the returned function is called. */
  onCut(cut: (error: Error) => void): () => void
  /** Calls `closed` when the connection is closed for good, until the returned function is called. */
  onClosed(closed: () => void): () => void
  /** Calls `back` each time the line is up again, until the returned function is called. */
  onUp(back: () => void): () => void
}

const lines = new WeakMap<NatsConnection, Line>()

export function lineOf(nc: NatsConnection): Line {
  let line = lines.get(nc)
  if (line === undefined) lines.set(nc, (line = newLine(nc)))
  return line
}

function newLine(nc: NatsConnection): Line {
  const cutters = new Set<(error: Error) => void>()
  const waiting = new Set<() => void>()
  const closers = new Set<() => void>()
  let down = false
  let downSince = 0

  void (async () => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') {
        if (!down) downSince = performance.now()
        down = true
        for (const cut of [...cutters]) cut(new Error('the connection to the server was lost'))
      } else if (type === 'reconnect') {
        down = false
        for (const wake of [...waiting]) wake()
      }
    }
  })()

  void nc.closed().then(() => {
    for (const close of [...closers]) close()
  })

  const onCut = (cut: (error: Error) => void): (() => void) => {
    cutters.add(cut)
    return () => void cutters.delete(cut)
  }
  const onUp = (back: () => void): (() => void) => {
    waiting.add(back)
    return () => void waiting.delete(back)
  }
  const unlessCut = <T>(ask: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const forget = onCut(reject)
      ask().then(resolve, reject).finally(forget)
    })
  return {
    unlessCut,
    get downMs() {
      return down ? Math.max(1, performance.now() - downSince) : 0
    },
    onCut,
    onUp,
    onClosed(closed) {
      closers.add(closed)
      return () => void closers.delete(closed)
    },
    request: (subject, payload, options) =>
      down
        ? Promise.reject(new Error('the connection to the server is down'))
        : unlessCut(() => nc.request(subject, payload, options)),
    up: (waitMsMax) =>
      new Promise((resolve) => {
        if (!down) return resolve()
        const wake = (): void => {
          clearTimeout(timer)
          forget()
          resolve()
        }
        const timer = setTimeout(wake, waitMsMax)
        const forget = onUp(wake)
      }),
  }
}
