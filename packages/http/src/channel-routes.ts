// The routes on which channels receive messages and events. They need no token: the channel verifies the
// signature of a request before it reads anything else of it.
import { messageReceipt, webhookMessage } from '@beaver/contracts'
import { z } from 'zod'
import { HttpProblem } from './problem.ts'
import { json, type Route, route } from './route.ts'

/** What the app needs of the channels behind it. */
export interface ChannelIntake {
  /**
   * Takes a message for a webhook channel.
   *
   * @returns `null` if no webhook channel has this name
   * @throws {BeaverError} `invalid_arguments`, `unreachable`, `timeout`, `wrong_state`
   */
  take(
    name: string,
    request: { readonly headers: Pick<Headers, 'get'>; readonly body: string },
  ): Promise<
    | { readonly kind: 'received'; readonly receipt: z.output<typeof messageReceipt> }
    | { readonly kind: 'refused'; readonly reason: string }
    | null
  >
  /**
   * Takes an event for a channel of a chat network.
   *
   * @returns the answer for the network; `null` if no channel of a chat network has this name
   * @throws {BeaverError} `unreachable`, `timeout`, `wrong_state`
   */
  takeEvent(
    name: string,
    request: { readonly headers: Headers; readonly body: string },
  ): Promise<{ readonly status: number; readonly contentType: string; readonly body: string } | null>
}

const signed = z.object({
  'webhook-id': z.string().optional().describe('The id of the message, which the signature covers.'),
  'webhook-timestamp': z.string().optional().describe('The seconds since 1970. It may be five minutes away.'),
  'webhook-signature': z
    .string()
    .optional()
    .describe('"v1," and the HMAC-SHA256 of "<id>.<timestamp>.<body>" in base64 (Standard Webhooks).'),
})

const channelName = z.string().min(1).max(128).describe('The name of the channel.')

/** The routes. Empty if there are no channels. */
export const channelRoutes = (channels: ChannelIntake | undefined): readonly Route[] =>
  channels === undefined ? [] : [sending(channels), telling(channels)]

const sending = (channels: ChannelIntake): Route =>
  route(
    {
      tag: 'channels',
      role: null,
      method: 'post',
      at: '/api/v1/channels/{name}/messages',
      name: 'sendMessage',
      says: 'Sends a message of a chat to a webhook channel. The answer of Beaver goes to the URL of the channel.',
      answer: { status: 202, says: 'The message is durable.', schema: messageReceipt },
      readsBody: true,
    },
    { path: z.strictObject({ name: channelName }), headers: signed, body: webhookMessage },
    async ({ path, request }) => {
      const outcome = await channels.take(path.name, request)
      if (outcome === null)
        throw new HttpProblem(
          'not_found',
          `There is no channel ${JSON.stringify(path.name)} that takes requests.`,
        )
      if (outcome.kind === 'refused') throw new HttpProblem('unauthorized', outcome.reason)
      return json(outcome.receipt, { status: 202 })
    },
  )

const telling = (channels: ChannelIntake): Route =>
  route(
    {
      tag: 'channels',
      role: null,
      method: 'post',
      at: '/api/v1/channels/{name}/events',
      name: 'tellEvent',
      says: 'Takes an event of a chat network, such as Slack or Telegram, signed as the network does it.',
      answer: {
        status: 200,
        says: 'What the event has for Beaver is durable. The body is what the network expects.',
      },
      readsBody: true,
    },
    {
      path: z.strictObject({ name: channelName }),
      body: z.unknown().describe('An event, as the network writes it.'),
    },
    async ({ path, request }) => {
      const networkAnswer = await channels.takeEvent(path.name, request)
      if (networkAnswer === null)
        throw new HttpProblem(
          'not_found',
          `There is no channel ${JSON.stringify(path.name)} of a chat network.`,
        )
      return new Response(networkAnswer.body, {
        status: networkAnswer.status,
        headers: { 'content-type': networkAnswer.contentType, 'cache-control': 'no-store' },
      })
    },
  )
