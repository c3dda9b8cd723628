// Telegram as a bot sees it: the Bot API over HTTP, with long polls and with webhooks. It knows no key of
// idempotency, as the real one.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '@beaver/testing'

export interface TelegramText {
  readonly chat: number
  readonly text: string
  /** Whether the network may show what is behind a link. */
  readonly previews: boolean
}

/** `take`: keeps a message and answers. `keep and hang up`: keeps it, and the sender never knows. */
export type TelegramScript =
  | 'take'
  | 'keep and hang up'
  | 'hang'
  | { readonly status: number; readonly retryAfter?: number; readonly description?: string }

export interface TelegramPeer extends AsyncDisposable {
  readonly url: string
  /** Every message that the network has, also the repeated ones. */
  readonly sent: readonly TelegramText[]
  /** The chats that were told that the bot writes. */
  readonly typing: readonly number[]
  answerBy(script: (message: TelegramText) => TelegramScript): void
  /** A person writes. The bot gets it by its next poll. @returns the update, as a webhook would have it */
  write(message: Written): object
  /** A person changes a message. @returns the update */
  edit(message: Written & { readonly id: number }): object
  /** Waits for a message. */
  reads(chat: number, text: string, withinMs?: number): Promise<TelegramText>
  /** Updates that no poll has confirmed. */
  readonly unconfirmed: number
}

interface Written {
  readonly chat: number
  readonly from: number
  readonly text?: string
  readonly group?: boolean
  readonly bot?: boolean
  readonly caption?: string
  readonly id?: number
}

interface SendBody {
  readonly chat_id: string
  readonly text?: string
  readonly rich_message?: { readonly markdown: string }
  readonly link_preview_options?: { readonly is_disabled?: boolean }
}

export const telegramToken = '123456:the-token-of-the-bot'
export const telegramSecret = 'the-secret-of-the-webhook'

/** @param answerMs how long it takes to say that it has a message */
export async function telegramPeer({
  answerMs = 0,
}: { readonly answerMs?: number } = {}): Promise<TelegramPeer> {
  const sent: TelegramText[] = []
  const typing: number[] = []
  let updates: { readonly update_id: number }[] = []
  let [ids, confirmed] = [0, 0]
  let script: (message: TelegramText) => TelegramScript = () => 'take'
  const polls = new Set<() => void>()
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? []
      if (token !== telegramToken)
        return answer(response, 401, { ok: false, error_code: 401, description: 'Unauthorized' })
      if (method === 'getMe')
        return answer(response, 200, {
          ok: true,
          result: { id: 42, is_bot: true, first_name: 'Beaver', username: 'beaver_bot' },
        })
      if (method === 'getUpdates') return poll(body as { offset?: number }, response)
      if (method === 'sendMessage' || method === 'sendRichMessage') return take(body as never, response)
      if (method === 'sendChatAction') typing.push(Number((body as { chat_id: string }).chat_id))
      answer(response, 200, { ok: true, result: true })
    })
  })
  function poll({ offset = 0 }: { offset?: number }, response: ServerResponse): void {
    confirmed = Math.max(confirmed, offset)
    updates = updates.filter(({ update_id }) => update_id >= confirmed)
    const end = (): void => {
      polls.delete(end)
      clearTimeout(late)
      answer(response, 200, { ok: true, result: updates.slice(0, 100) })
    }
    const late = setTimeout(end, 1_000)
    response.once('close', () => {
      polls.delete(end)
      clearTimeout(late)
    })
    polls.add(end)
    if (updates.length > 0) end()
  }
  function take(
    { chat_id, text = '', rich_message, link_preview_options: links }: SendBody,
    response: ServerResponse,
  ): void {
    const message = {
      chat: Number(chat_id),
      text: rich_message?.markdown ?? text,
      previews: links?.is_disabled !== true,
    }
    const what = script(message)
    if (what === 'hang') return
    if (typeof what === 'object') {
      const { status, retryAfter, description = 'no' } = what
      return answer(response, status, {
        ok: false,
        error_code: status,
        description,
        parameters: { retry_after: retryAfter },
      })
    }
    sent.push(message)
    const result = {
      message_id: ++ids,
      date: 1,
      chat: { id: message.chat, type: 'private' },
      text: message.text,
    }
    if (what === 'take') setTimeout(() => answer(response, 200, { ok: true, result }), answerMs)
    else response.socket?.destroy()
  }
  function written(
    kind: 'message' | 'edited_message',
    { chat, from, text, group = false, bot = false, caption, id = ++ids }: Written,
  ): object {
    const message = {
      message_id: id,
      date: Math.floor(Date.now() / 1_000),
      ...(kind === 'message' ? {} : { edit_date: Math.floor(Date.now() / 1_000) }),
      chat: { id: chat, type: group ? 'group' : 'private', title: 'A chat' },
      from: { id: from, is_bot: bot, first_name: 'Ada', username: 'ada' },
      ...(text === undefined ? {} : { text }),
      ...(caption === undefined ? {} : { caption, document: { file_id: 'f', file_name: 'plan.pdf' } }),
    }
    const update = { update_id: 1_000 + ++ids, [kind]: message }
    updates.push(update)
    for (const end of [...polls]) end()
    return update
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    typing,
    answerBy: (given) => void (script = given),
    write: (message) => written('message', message),
    edit: (message) => written('edited_message', message),
    reads: (chat, text, withinMs = 40_000) =>
      until(
        `${chat} reads ${text}`,
        () => sent.find((each) => each.chat === chat && each.text.includes(text)),
        { withinMs, everyMs: 10 },
      ),
    get unconfirmed() {
      return updates.length
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
