// The gateway on a real port, in front of a real daemon.
import { createServer, request } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { type Gateway, startGateway, tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { loadConfig } from '@beaver/platform'
import { held, until } from '@beaver/testing'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { testSystem, type TestSystem } from './support/system.ts'

let server: TestServer
let system: TestSystem
let token = ''
const gate = held<FakeReply>()
const silentMsMax = 50

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  system.provider.answerBy(({ text }) => {
    if (text === 'think') return new Promise((resolve) => setTimeout(() => resolve(say('thought')), 10 * silentMsMax))
    return text === 'wait' ? gate.promise : say(`You said: ${text}`)
  })
  await system.daemon()
  token = await new TokenStore(tokensFile(join(system.workspace, '.beaver'))).create('test', { roles: ['admin'], now: new Date() })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const gateway = (over: object = {}, options: Parameters<typeof startGateway>[2] = {}): Promise<Gateway> => {
  const config = loadConfig({ home: join(system.workspace, '.beaver') }, {}, system.workspace)
  const { namespace } = system.subjects
  return startGateway({ ...config, namespace, gateway: { ...config.gateway, port: 0, ...over } }, { url: server.url, login: {} }, options)
}
const authorized = (): Record<string, string> => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })

/** A request with any Host: `fetch` forbids it. */
async function statusAs(url: string, host: string): Promise<number | undefined> {
  const sent = request(`${url}/api/ping`, { headers: { host } })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [{ statusCode?: number; resume(): void }]
  answer.resume()
  return answer.statusCode
}

/** What the gateway answers to a request of raw bytes that closes its connection. */
async function answerTo(url: string, head: readonly string[], body = ''): Promise<string> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write([...head, `Host: ${host}`, `Authorization: Bearer ${token}`, 'Connection: close', '', body].join('\r\n'))
  let answer = ''
  for await (const piece of socket.setEncoding('utf8')) answer += piece
  return answer
}

describe('a gateway', () => {
  it('reads a body in chunks, and takes a request without a body', async () => {
    const { info, stop } = await gateway({ body_bytes_max: 1_024 })
    const json = 'Content-Type: application/json'
    const chunked = (text: string): Promise<string> =>
      answerTo(info.url, ['POST /api/v1/tasks HTTP/1.1', json, 'Transfer-Encoding: chunked'], `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    const accepted = await chunked('{"task":"hello"}')
    const id = /"task_id":"([^"]+)"/.exec(accepted)?.[1] ?? ''
    await system.ended(id)
    const answers = [
      accepted,
      await chunked(JSON.stringify({ task: 'x'.repeat(1_024) })),
      await answerTo(info.url, [`POST /api/v1/tasks/${id}/cancel HTTP/1.1`]),
      await answerTo(info.url, ['POST /api/v1/tasks HTTP/1.1', json, 'Content-Length: 12'], Buffer.from('{"task":"\u00e9"}').toString('latin1').slice(0, 12)),
    ]
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['202', '413', '409', '400'])
    await stop()
  })

  it('answers to its own names alone, on this machine alone', async () => {
    const { info, stop } = await gateway({ hosts: ['beaver.example'] })
    const { port } = new URL(info.url)
    expect(new URL(info.url).hostname).toBe('127.0.0.1')
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, 'beaver.example', `evil.example:${port}`, 'localhost']
    expect(await Promise.all(hosts.map((host) => statusAs(info.url, host)))).toEqual([200, 200, 200, 403, 403])
    await stop()
  })

  it('answers a request whose task takes longer than a connection may be silent', async () => {
    const { info, stop } = await gateway({}, { silentMsMax })
    const answer = await fetch(`${info.url}/api/chat`, { method: 'POST', headers: authorized(), body: JSON.stringify({ message: 'think' }) })
    expect(await answer.json()).toMatchObject({ output_text: 'thought' })
    await stop()
  })

  it('says that its port is taken, and what to do', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    await expect(gateway({ port })).rejects.toMatchObject({ code: 'start_failed', message: expect.stringContaining(`The port ${port}`) as string })
    taken.close()
  })

  it('ends streams when it stops, and the reader goes on at the next one where it was', async () => {
    const first = await gateway()
    const submitted = await fetch(`${first.info.url}/api/v1/tasks`, { method: 'POST', headers: authorized(), body: JSON.stringify({ task: 'wait' }) })
    const { task_id } = (await submitted.json()) as { task_id: string }
    const stream = await fetch(`${first.info.url}/api/v1/tasks/${task_id}/events`, { headers: { ...authorized(), accept: 'text/event-stream' } })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes('run_started')) seen += (await reader?.read())?.value ?? ''
    const asked = system.provider.requests.length
    const waiting = fetch(`${first.info.url}/api/chat`, { method: 'POST', headers: authorized(), body: JSON.stringify({ message: 'wait' }) })
    await until('the chat is accepted', () => system.provider.requests.length > asked)
    await first.stop()
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) seen += piece.value
    expect(seen).toMatch(/\nevent: error\ndata: .*"code":"wrong_state".*\n\n$/)
    const answer = await waiting
    expect([answer.status, await answer.json()]).toEqual([504, expect.objectContaining({ detail: expect.stringMatching(/continues as task task_/) as string })])
    const last = [...seen.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? ''
    gate.settle(say('done'))
    const second = await gateway()
    const rest = await fetch(`${second.info.url}/api/v1/tasks/${task_id}/events`, {
      headers: { ...authorized(), accept: 'text/event-stream', 'last-event-id': last },
    })
    const text = await rest.text()
    expect([/^id: (\d+)$/m.exec(text)?.[1], text.includes('event: task_completed')]).toEqual([String(Number(last) + 1), true])
    await second.stop()
  })

  it('describes itself by a document that a public validator accepts', async () => {
    const { info, stop } = await gateway()
    const document = (await (await fetch(`${info.url}/api/openapi.json`)).json()) as object
    expect(await new Validator().validate(document as never)).toMatchObject({ valid: true })
    await stop()
  })
})
