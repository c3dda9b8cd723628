// The other side of a webhook channel: it signs what it sends, and keeps what it is sent. It signs by itself,
// without code of Beaver.
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OutboundMessage } from '@beaver/contracts'
import { until } from '@beaver/testing'

export const peerSecret = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`

export interface Delivered {
  readonly message: OutboundMessage
  readonly headers: IncomingHttpHeaders
  /** Whether the signature is right. */
  readonly signed: boolean
}

export interface WebhookPeer extends AsyncDisposable {
  readonly url: string
  /** Every request, also the repeated ones. */
  readonly delivered: readonly Delivered[]
  /** From now on each request is answered by this. `null`: never. Default: 204 */
  answerBy(
    script: (message: OutboundMessage) => number | null | { status: number; headers: Record<string, string> },
  ): void
  /** The first answer to a message. */
  answerTo(messageId: string, withinMs?: number): Promise<OutboundMessage>
}

export async function webhookPeer(): Promise<WebhookPeer> {
  const delivered: Delivered[] = []
  let script: Parameters<WebhookPeer['answerBy']>[0] = () => 204
  const server = createServer((incoming, response: ServerResponse) => {
    const chunks: Buffer[] = []
    incoming.on('error', () => {})
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      } = incoming.headers
      const message = JSON.parse(body) as OutboundMessage
      const answer = script(message)
      if (answer === null) return
      delivered.push({
        message,
        headers: incoming.headers,
        signed: signature === signed(String(id), String(timestamp), body),
      })
      const { status, headers } = typeof answer === 'number' ? { status: answer, headers: {} } : answer
      response.writeHead(status, headers).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/answers`,
    delivered,
    answerBy: (given) => void (script = given),
    answerTo: async (messageId, withinMs = 40_000) => {
      const isIt = ({ message }: Delivered): boolean =>
        message.in_reply_to === messageId && message.kind !== 'approval' && message.kind !== 'question'
      return (
        await until(`there is an answer to ${messageId}`, () => delivered.find(isIt), {
          withinMs,
          everyMs: 10,
        })
      ).message
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const signed = (id: string, timestamp: string, body: string): string =>
  `v1,${createHmac('sha256', Buffer.from(peerSecret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64')}`

/** Sends a message to a channel, signed. @param over headers in place of the right ones */
export function sendSigned(
  url: string,
  message: { readonly message_id: string; readonly [field: string]: unknown },
  over: Record<string, string> = {},
): Promise<Response> {
  const body = JSON.stringify({ chat_id: 'c', user: 'Ada', text: 'hello', ...message })
  const timestamp = over['webhook-timestamp'] ?? String(Math.floor(Date.now() / 1_000))
  const headers = {
    'content-type': 'application/json',
    'webhook-id': message.message_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signed(message.message_id, timestamp, body),
    ...over,
  }
  return fetch(url, { method: 'POST', headers, body })
}
