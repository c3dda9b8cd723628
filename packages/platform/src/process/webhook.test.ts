import { until, virtualClock } from '@beaver/testing'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { alertWebhook } from './webhook.ts'

const alert = { kind: 'budget_reached', percent: 80, used: 4, limit: 5 }

/** An endpoint that gives these statuses, one after the other, and keeps what it gets. */
async function endpoint(...statuses: readonly number[]) {
  const got: unknown[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece: Buffer) => (text += piece.toString()))
    request.on('end', () => {
      got.push(JSON.parse(text))
      response.writeHead(statuses[got.length - 1] ?? 204).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/alerts`, got, close: () => server.close() }
}

function sender(url: string) {
  const clock = virtualClock()
  const told: string[] = []
  const tell = (name: string): void => void told.push(name)
  const logger = { debug: tell, info: tell, warn: tell, error: tell }
  return { clock, told, webhook: alertWebhook(url, { clock, logger: logger as never }) }
}

it('sends an alert again until it is taken', async () => {
  const { url, got, close } = await endpoint(500, 204)
  const { webhook, clock, told } = sender(url)
  webhook.send(alert)
  await until('it is sent twice', () => {
    clock.advance(500)
    return got.length === 2
  })
  expect(got[1]).toEqual(alert)
  expect(told).toEqual([])
  webhook.close()
  close()
})

it('gives up after four tries, and says so in the log lines', async () => {
  const { url, got, close } = await endpoint(...Array.from({ length: 9 }, () => 500))
  const { webhook, clock, told } = sender(url)
  webhook.send(alert)
  await until('it gave up', () => {
    clock.advance(5_000)
    return told.length > 0
  })
  expect([got.length, told]).toEqual([4, ['alert_not_sent']])
  webhook.close()
  close()
})
