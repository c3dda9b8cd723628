import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { connectNats, serverVersionTested } from './connect.ts'

type Answer = (socket: Socket) => void
const late: Answer = (socket) => void socket.end("-ERR 'Authentication Timeout'\r\n")
const silent: Answer = () => {}
const refuses: Answer = (socket) => void socket.end("-ERR 'Authorization Violation'\r\n")
const welcomes: Answer = (socket) => void socket.write('PONG\r\n')

/** A server that answers each connection in its own way, the last one also all others. */
async function serverOf(...answers: readonly Answer[]) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    const answer = answers[Math.min(sockets.push(socket), answers.length) - 1] ?? silent
    socket.on('error', () => {})
    socket.write(
      `INFO ${JSON.stringify({ server_id: 's', version: serverVersionTested, jetstream: true, max_payload: 1e6, proto: 1, headers: true })}\r\n`,
    )
    socket.on('data', (data) => data.includes('PING') && answer(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    url: `nats://127.0.0.1:${port}`,
    tries: () => sockets.length,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const connected = async (url: string, patienceMs: number): Promise<void> =>
  (await connectNats({ url, name: 'test', timeoutMs: 200, patienceMs })).close()

it('tries a connection again whose login or whose server was late', async () => {
  await using server = await serverOf(late, silent, welcomes)
  await connected(server.url, 60_000)
  expect(server.tries()).toBe(3)
})

it('calls nothing a refusal that was not answered in time', async () => {
  for (const answer of [late, silent]) {
    await using server = await serverOf(answer)
    await expect(connected(server.url, 0)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('did not answer in time') as string,
    })
  }
})

it('tries no connection again that is refused', async () => {
  await using server = await serverOf(refuses)
  await expect(connected(server.url, 60_000)).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining(' refuses ') as string,
  })
  expect(server.tries()).toBe(1)
})
