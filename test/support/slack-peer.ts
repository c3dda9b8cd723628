// Slack: its Web API as the package `emulate` has it, and its events, signed here as Slack documents it,
// without code of Beaver. (The package signs events too, but has no way by which a test could subscribe to
// them. It does not know `markdown_text`, which Slack takes, so it is given as `text`.)
import { createHmac } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '@beaver/testing'
import { createEmulator } from 'emulate'

export const slackToken = 'xoxb-the-token-of-the-bot'
const personToken = 'xoxp-the-token-of-ada'
export const slackSecret = 'the signing secret of the app'

export interface SlackMessage {
  readonly ts: string
  readonly text: string
  readonly thread_ts?: string
  readonly user?: string
}

export interface SlackPeer extends AsyncDisposable {
  readonly apiUrl: string
  readonly channel: string
  /** The bot. */
  readonly bot: string
  /** The person. */
  readonly person: string
  /** A person writes in the channel. @returns the event of it */
  write(text: string, threadTs?: string): Promise<{ readonly ts: string; readonly event: object }>
  /** A person changes a message. @returns the event of it */
  edit(written: { readonly event: object }, text: string): object
  /** Of each message of the bot, whether Slack may show what is behind a link. */
  readonly unfurls: readonly boolean[]
  messages(threadTs?: string): Promise<readonly SlackMessage[]>
  /** A message of the bot in a thread. */
  reads(threadTs: string, text: string): Promise<SlackMessage>
}

export async function slackPeer(): Promise<SlackPeer> {
  const port = await freePort()
  const scopes = ['chat:write', 'channels:history', 'users:read']
  const emulator = await createEmulator({
    service: 'slack',
    port,
    seed: {
      slack: {
        users: [{ name: 'ada' }, { name: 'beaver', is_bot: true }],
        channels: [{ name: 'team' }],
        tokens: [
          { token: slackToken, user: 'beaver', scopes },
          { token: personToken, user: 'ada', scopes },
        ],
      } as never,
    },
  })
  const call = async (
    method: string,
    token: string,
    body: Record<string, unknown> = {},
  ): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${emulator.url}/api/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Record<string, unknown>
  }
  const [bot, person] = await Promise.all(
    [slackToken, personToken].map(async (token) => String((await call('auth.test', token))['user_id'])),
  )
  const { channels } = (await call('conversations.list', slackToken)) as {
    channels: readonly { id: string; name: string }[]
  }
  const channel = channels.find(({ name }) => name === 'team')?.id ?? ''
  for (const token of [slackToken, personToken]) await call('conversations.join', token, { channel })
  let events = 0
  const unfurls: boolean[] = []
  const front = await inFrontOf(emulator.url, unfurls)
  const messages = async (threadTs?: string): Promise<readonly SlackMessage[]> => {
    const { messages: found = [] } = (await (threadTs === undefined
      ? call('conversations.history', slackToken, { channel })
      : call('conversations.replies', slackToken, { channel, ts: threadTs }))) as {
      messages?: readonly SlackMessage[]
    }
    return found
  }
  return {
    apiUrl: `http://127.0.0.1:${portOf(front)}/api/`,
    channel,
    bot: bot ?? '',
    person: person ?? '',
    async write(text, threadTs) {
      const { ts } = (await call('chat.postMessage', personToken, {
        channel,
        text,
        thread_ts: threadTs,
      })) as { ts: string }
      const message = {
        type: 'message',
        channel,
        channel_type: 'channel',
        user: person,
        text,
        ts,
        ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
      }
      return {
        ts,
        event: {
          type: 'event_callback',
          team_id: 'T000000001',
          event_id: `Ev${++events}`,
          event_time: 1,
          event: message,
        },
      }
    },
    edit({ event }, text) {
      const { event: before } = event as { readonly event: Readonly<Record<string, unknown>> }
      const message = { ...before, text, edited: { user: person, ts: '2.0' } }
      const change = {
        type: 'message',
        subtype: 'message_changed',
        hidden: true,
        channel,
        channel_type: 'channel',
        ts: '2.1',
        message,
        previous_message: before,
      }
      return { ...event, event_id: `Ev${++events}`, event: change }
    },
    unfurls,
    messages,
    reads: (threadTs, text) =>
      until(
        `there is ${text}`,
        async () =>
          (await messages(threadTs)).find((each) => each.user !== person && each.text.includes(text)),
        {
          withinMs: 40_000,
          everyMs: 20,
        },
      ),
    async [Symbol.asyncDispose]() {
      front.closeAllConnections()
      await new Promise((resolve) => front.close(resolve))
      await emulator.close()
    },
  }
}

/** Sends an event as Slack does. @param over headers in place of the right ones */
export function sendSlackEvent(
  url: string,
  event: object,
  over: Record<string, string> = {},
): Promise<Response> {
  const body = JSON.stringify(event)
  const timestamp = over['x-slack-request-timestamp'] ?? String(Math.floor(Date.now() / 1_000))
  const signature = `v0=${createHmac('sha256', slackSecret).update(`v0:${timestamp}:${body}`).digest('hex')}`
  const headers = {
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': signature,
    ...over,
  }
  return fetch(url, { method: 'POST', headers, body })
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** Passes requests on, with the text where the emulator looks for it. */
async function inFrontOf(url: string, unfurls: boolean[]): Promise<Server> {
  const server = createServer(async (incoming, response) => {
    let body = ''
    for await (const chunk of incoming) body += String(chunk)
    if (incoming.url?.endsWith('chat.postMessage') === true)
      unfurls.push(!/unfurl_links=false/.test(body) || !/unfurl_media=false/.test(body))
    const { authorization = '', 'content-type': type = '' } = incoming.headers
    const answer = await fetch(`${url}${incoming.url}`, {
      method: 'POST',
      headers: { authorization, 'content-type': type },
      body: body.replace(/(^|&)markdown_text=/, '$1text='),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}
