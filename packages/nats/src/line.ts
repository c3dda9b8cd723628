// The line to the server, as far as a writer must know it: whether it is up, and when it was cut under a request.
// L1. A request whose line is cut rejects at once: its answer is lost, waiting for it longer is of no use.
// L2. What is sent while the line is down is discarded by the client, so a writer waits for the line first.
import type { Msg, NatsConnection, RequestOptions } from '@nats-io/nats-core'

export interface Line {
  /** @throws {Error} when the line is cut, or no answer comes in time */
  request(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Msg>
  /** Resolves when the line is up, or after `waitMsMax`. */
  up(waitMsMax: number): Promise<void>
}

export function lineOf(nc: NatsConnection): Line {
  const underWay = new Set<(error: Error) => void>()
  const waiting = new Set<() => void>()
  let down = false

  void (async () => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') {
        down = true
        for (const cut of underWay) cut(new Error('the connection to the server was lost'))
      } else if (type === 'reconnect') {
        down = false
        for (const wake of waiting) wake()
      }
    }
  })()

  return {
    request: (subject, payload, options) =>
      new Promise((resolve, reject) => {
        underWay.add(reject)
        nc.request(subject, payload, options)
          .then(resolve, reject)
          .finally(() => underWay.delete(reject))
      }),
    up: (waitMsMax) =>
      new Promise((resolve) => {
        if (!down) return resolve()
        const wake = (): void => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, waitMsMax)
        waiting.add(wake)
      }),
  }
}
