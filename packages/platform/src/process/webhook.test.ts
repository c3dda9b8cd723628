import { until, virtualClock } from '@beaver/testing'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { secretBytes, signatureFault } from '@beaver/core'
import { alertWebhook } from './webhook.ts'

const alert = { id: 'alert_1', kind: 'budget_reached', percent: 80, used: 4, limit: 5 }

/** An endpoint that gives these statuses, one after the other, and keeps what it gets. */
async function endpoint(...statuses: readonly number[]) {
  const got: unknown[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece: Buffer) => (text += piece.toString()))
    request.on('end', () => {
      got.push(JSON.parse(text))
      headers.push(request.headers)
      response.writeHead(statuses[got.length - 1] ?? 204, { location: '/elsewhere' }).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/alerts`, got, headers, close: () => server.close() }
}

function sender(url: string, secret: Buffer | null = null) {
  const clock = virtualClock()
  const told: string[] = []
  const tell = (name: string): void => void told.push(name)
  const logger = { debug: tell, info: tell, warn: tell, error: tell }
  return { clock, told, webhook: alertWebhook(url, { clock, logger: logger as never, secret }) }
}

it('sends an alert again until it is taken', async () => {
  const { url, got, close } = await endpoint(500, 204)
  const { webhook, clock, told } = sender(url)
  const sending = webhook.send(alert)
  await until('it is sent twice', () => {
    clock.advance(500)
    return got.length === 2
  })
  expect([got[1], await sending]).toEqual([alert, true])
  expect(told).toEqual([])
  webhook.close()
  close()
})

it('gives up after four tries, and says so in the log lines', async () => {
  const { url, got, close } = await endpoint(...Array.from({ length: 9 }, () => 500))
  const { webhook, clock, told } = sender(url)
  const sending = webhook.send(alert)
  await until('it gave up', () => {
    clock.advance(5_000)
    return told.length > 0
  })
  expect([got.length, told, await sending]).toEqual([4, ['alert_not_sent'], false])
  webhook.close()
  close()
})

it.each([410, 401, 302])(
  'does not send an alert again that was answered with %i, and follows nobody',
  async (status) => {
    const { url, got, close } = await endpoint(status)
    const { webhook, told } = sender(url)
    expect([await webhook.send(alert), got.length, told]).toEqual([true, 1, ['alert_not_sent']])
    webhook.close()
    close()
  },
)

it('signs an alert as all webhooks of Beaver, with its id', async () => {
  const { url, got, headers, close } = await endpoint(204, 204)
  const secret = secretBytes('x'.repeat(24), '$S')
  const { webhook, clock } = sender(url, secret)
  expect(await webhook.send(alert)).toBe(true)
  const given = new Headers(headers[0] as Record<string, string>)
  const body = JSON.stringify(got[0])
  const fault = (text: string): string | null =>
    signatureFault(secret, { headers: given, body: text, nowMs: clock.now() })
  expect([given.get('webhook-id'), given.get('idempotency-key')]).toEqual(['alert_1', 'alert_1'])
  expect([fault(body), fault(`${body} `)]).toEqual([null, expect.stringContaining('wrong')])
  webhook.close()
  close()
})

it('says that an alert may come again if nobody is there, or if it is closed meanwhile', async () => {
  const { url, close } = await endpoint()
  close()
  const { webhook, clock } = sender(url)
  const sending = webhook.send(alert)
  let isOver = false
  void sending.then(() => (isOver = true))
  await until('it gave up', () => {
    clock.advance(5_000)
    return isOver
  })
  expect(await sending).toBe(false)
  const again = webhook.send(alert)
  webhook.close()
  expect(await again).toBe(false)
})
