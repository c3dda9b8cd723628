// A TCP proxy between a client and its server, for the faults a network has: what comes back is lost, the line is cut.
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'

export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** From now on nothing from the server reaches the client, while what the client sends still arrives. */
  muteServer(): void
  /** Ends every connection, and lets new ones through unmuted. */
  cut(): void
  /** Bytes the server sent that the client never saw. */
  readonly swallowedBytes: number
}

export async function tcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let muted = false
  let swallowedBytes = 0
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => {
      if (muted) swallowedBytes += bytes.length
      else client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    muted = false
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    muteServer: () => void (muted = true),
    cut,
    get swallowedBytes() {
      return swallowedBytes
    },
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
