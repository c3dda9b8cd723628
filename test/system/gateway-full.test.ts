// A gateway that is full: what one token or one address can hold, and who still gets in.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
beforeAll(async () => {
  scene = await keptScene()
})

interface From {
  readonly localAddress?: string
  readonly socketPath?: string
}

/** What a request for the state of the gateway is told, on a connection of its own. */
async function ping(url: string, from: From = {}) {
  const { host } = new URL(url)
  const sent = request(`${url}/api/ping`, { agent: false, headers: { host }, ...from }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer.setEncoding('utf8')) text += piece as string
  const { code } = JSON.parse(text) as { code?: string }
  return { status: answer.statusCode, code, retryAfter: answer.headers['retry-after'] }
}

const fine = { status: 200, code: undefined, retryAfter: undefined }

/** Opens connections whose headers never end. */
const halfSent = (url: string, count: number, localAddress = '127.0.0.1'): Promise<Socket[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const { hostname, port } = new URL(url)
      const socket = connect({ host: hostname, port: Number(port), localAddress })
      await once(socket, 'connect')
      socket.on('error', () => {})
      socket.write('GET /api/ping HTTP/1.1\r\nHost: ')
      return socket
    }),
  )

it('refuses the streams of one token above its bound, and answers another token', async () => {
  const { info, stop } = await scene.start({ open_requests_max: 3 })
  const as = (token: keyof ProtocolScene['tokens'], accept: string) => ({
    headers: { authorization: `Bearer ${scene.tokens[token]}`, accept },
  })
  const { task_id } = await scene.system.client.submit({ task: 'wait full_stream', user_id: 'ann' })
  const at = `${info.url}/api/v1/tasks/${task_id}/events`
  const streams: Response[] = []
  for (let i = 0; i < 3; i++) streams.push(await fetch(at, as('admin', 'text/event-stream')))
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200])
  const more = await fetch(at, as('admin', 'text/event-stream'))
  expect([more.status, more.headers.get('retry-after'), await more.json()]).toEqual([
    429,
    '2',
    expect.objectContaining({ code: 'too_many_requests' }),
  ])
  expect((await fetch(`${info.url}/api/v1/tasks`, as('ann', 'application/json'))).status).toBe(200)
  await streams[0]?.body?.cancel()
  await until('the place of the closed stream is free', async () => {
    const again = await fetch(at, as('admin', 'text/event-stream'))
    await again.body?.cancel()
    return again.status === 200
  })
  for (const stream of streams.slice(1)) await stream.body?.cancel()
  scene.answer('full_stream', say('done'))
  await stop()
})

it('refuses an address above its bound, answers another address, and closes half-sent headers', async () => {
  const { info, stop } = await scene.start({ connections_of_address_max: 4, headers_ms_max: 2_000 })
  const sockets = await halfSent(info.url, 4)
  const ended = sockets.map((socket) => once(socket.resume(), 'close'))
  expect(await ping(info.url)).toEqual({ status: 429, code: 'too_many_requests', retryAfter: '2' })
  expect(await ping(info.url, { localAddress: '127.0.0.2' })).toEqual(fine)
  await Promise.all(ended)
  await until('the address is free', async () => (await ping(info.url)).status === 200)
  await stop()
})

it('lets the operator in when everything else is full', async () => {
  const { info, stop } = await scene.start({ connections_max: 4 })
  const sockets = [...(await halfSent(info.url, 2)), ...(await halfSent(info.url, 2, '127.0.0.2'))]
  expect(await ping(info.url, { localAddress: '127.0.0.3' })).toEqual({
    status: 503,
    code: 'too_many_connections',
    retryAfter: '2',
  })
  const { port } = new URL(info.url)
  const home = join(scene.system.workspace, '.beaver')
  expect(await ping(info.url, { socketPath: join(home, 'gateway', `operator-${port}.sock`) })).toEqual(fine)
  for (const socket of sockets) socket.destroy()
  await stop()
})
