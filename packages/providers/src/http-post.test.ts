import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { closeServers, json, serve } from '../test/kit.ts'
import { httpPost } from './http-post.ts'

const never = new AbortController().signal
let proxy: Server
let through: string[]

/** A proxy that notes what goes through it. */
beforeEach(async () => {
  through = []
  proxy = createServer()
  proxy.on('connect', (request, socket, head) => {
    through.push(request.url ?? '')
    const [host = '', port = ''] = (request.url ?? '').split(':')
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    socket.on('error', () => onward.destroy())
    onward.on('error', () => socket.destroy())
  })
  proxy.on('request', (request, response) => {
    through.push(request.url ?? '')
    response.end('{"by":"proxy"}')
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await closeServers()
  proxy.closeAllConnections()
  await new Promise((resolve) => proxy.close(resolve))
})

test('a proxy of the environment is used when Node.js is told to use it, and not otherwise', async () => {
  const url = new URL(`${await serve(json({ by: 'server' }))}/chat/completions`)
  vi.stubEnv('http_proxy', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  vi.stubEnv('no_proxy', '')
  await (await httpPost()(url, {}, '{}', never)).text()
  expect(through).toEqual([])
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  await (await httpPost()(url, {}, '{}', never)).text()
  expect(through).toHaveLength(1)
  expect(through[0]).toContain(url.host)
})

test('a redirect comes back as it is: the key goes nowhere else', async () => {
  let asked = 0
  const elsewhere = await serve((request, response, body) => {
    asked++
    json({})(request, response, body)
  })
  const url = new URL(
    `${await serve((_, response) => response.writeHead(307, { location: elsewhere }).end())}/chat/completions`,
  )
  const answer = await httpPost()(url, { authorization: 'Bearer k' }, '{}', never)
  expect([answer.status, answer.header('location')]).toEqual([307, elsewhere])
  answer.discard()
  expect(asked).toBe(0)
})
