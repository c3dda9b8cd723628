// A TCP proxy between a client and its server, for the faults a network has: the line is cut, falls silent in
// one direction or in both, is slow. It knows nothing of what is sent, but for what it is told to look for. A
// silent direction keeps its bytes, as a network does that retransmits: they arrive when the line heals.
// `muteServer` is the exception: what the server sends is lost, so its connections must be cut before they
// are used again.
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'

/** Which way is silent: from the client to the server, back, or both; `none`: all goes through. */
export type Silence = 'none' | 'up' | 'down' | 'both'

export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** From now on nothing from the server reaches the client, while what the client sends still arrives. */
  muteServer(): void
  /** Ends every connection, and lets new ones through unmuted. */
  cut(): void
  /** Ends every connection as a router does that forgot them: with a reset. */
  reset(): void
  /**
   * @param newToo connections made from now on are silent as well, as in a partition; else they get through
   */
  silence(silence: Silence, options: { newToo: boolean }): void
  /**
   * Calls `found` once, before the piece of what a client sends that holds these bytes goes on. The piece is
   * looked at alone.
   */
  onceSent(text: string, found: () => void): void
  /** From now on every piece arrives so much later. */
  delay(ms: number): void
  /** Bytes the server sent that the client never saw. */
  readonly swallowedBytes: number
}

interface Line {
  readonly client: Socket
  readonly upstream: Socket
}

export async function tcpProxy(targetPort: number): Promise<TcpProxy> {
  const lines = new Set<Line>()
  let muted = false
  let swallowedBytes = 0
  let delayMs = 0
  let ofNew: Silence = 'none'
  let wanted: { readonly text: string; readonly found: () => void } | null = null

  const forward = (bytes: Buffer, to: Socket): void => {
    const write = (): void => void (to.destroyed || to.write(bytes))
    if (delayMs === 0) write()
    else setTimeout(write, delayMs)
  }
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    const line: Line = { client, upstream }
    lines.add(line)
    for (const socket of [client, upstream]) {
      socket.on('error', () => {})
      socket.once('close', () => {
        lines.delete(line)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes: Buffer) => {
      if (wanted !== null && bytes.includes(wanted.text)) {
        wanted.found()
        wanted = null
      }
      forward(bytes, upstream)
    })
    upstream.on('data', (bytes: Buffer) => {
      if (muted) swallowedBytes += bytes.length
      else forward(bytes, client)
    })
    hold(line, ofNew)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    muted = false
    for (const { client, upstream } of lines) {
      client.destroy()
      upstream.destroy()
    }
  }
  return {
    port: (server.address() as AddressInfo).port,
    muteServer: () => void (muted = true),
    cut,
    reset() {
      for (const { client, upstream } of lines) {
        client.resetAndDestroy()
        upstream.resetAndDestroy()
      }
    },
    silence(silence, { newToo }) {
      ofNew = newToo ? silence : 'none'
      for (const line of lines) hold(line, silence)
    },
    onceSent: (text, found) => void (wanted = { text, found }),
    delay: (ms) => void (delayMs = ms),
    get swallowedBytes() {
      return swallowedBytes
    },
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A socket that is paused keeps what arrives, first here and then in the system's buffers. */
function hold(line: Line, silence: Silence): void {
  if (silence === 'up' || silence === 'both') line.client.pause()
  else line.client.resume()
  if (silence === 'down' || silence === 'both') line.upstream.pause()
  else line.upstream.resume()
}
