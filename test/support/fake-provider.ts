// An OpenAI-compatible endpoint on real HTTP that does what a test says: answers, waits to be released,
// refuses, talks garbage, cuts the line. It keeps what it was asked.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

export interface SeenMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

export interface SeenRequest {
  /** From 1, in the order they came. */
  readonly number: number
  readonly messages: readonly SeenMessage[]
  readonly tools: readonly string[]
  readonly headers: IncomingHttpHeaders
  /** As it came. */
  readonly body: string
  /** It asked for a streamed answer. */
  readonly stream: boolean
  /** The last message a user wrote: what the run is about. */
  readonly text: string
  /** Results of tools in the conversation. */
  readonly results: readonly string[]
  /** The client closed the line before it had the answer. */
  readonly abandoned: boolean
}

/**
 * What to send: status, headers and body, and then each piece of `rest`; `cut` closes the line after it. `null`
 * sends nothing, for ever.
 */
export type FakeReply = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  readonly rest?: AsyncIterable<string>
  readonly cut?: boolean
} | null

export interface FakeProvider extends AsyncDisposable {
  /** The base URL, for OPENAI_BASE_URL. */
  readonly url: string
  readonly requests: readonly SeenRequest[]
  /** From now on every request is answered by this. */
  answerBy(script: (request: SeenRequest) => FakeReply | Promise<FakeReply>): void
  /** Keeps nothing of the requests so far: for tests that share it. */
  forget(): void
  /** How many connections are open. They stay open until the client closes them. */
  connections(): Promise<number>
  /** Requests whose run is about this text. */
  about(text: string): readonly SeenRequest[]
}

export async function fakeProvider(): Promise<FakeProvider> {
  const requests: SeenRequest[] = []
  let script: (request: SeenRequest) => FakeReply | Promise<FakeReply> = () => say('ok')

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('error', () => {})
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      // Somebody looks whether it answers.
      if (incoming.method === 'GET')
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"object":"list","data":[]}')
      const body = JSON.parse(text) as SentBody
      const messages = body.messages?.map(inOneText) ?? (body.input ?? []).flatMap(messageOf)
      const seen = {
        number: requests.length + 1,
        messages,
        tools: (body.tools ?? []).map((tool) => tool.function?.name ?? tool.name ?? ''),
        headers: incoming.headers,
        body: text,
        stream: body.stream === true,
        text: textOf(messages.findLast((message) => message.role === 'user')?.content ?? ''),
        results: messages.flatMap((message) => (message.role === 'tool' ? [message.content ?? ''] : [])),
        abandoned: false,
      }
      requests.push(seen)
      response.once('close', () => (seen.abandoned = !response.writableFinished))
      void Promise.resolve(script(seen)).then((reply) => reply !== null && send(response, reply))
    })
  })
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    answerBy: (given) => void (script = given),
    forget: () => void (requests.length = 0),
    connections: () => new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    about: (text) => requests.filter((request) => request.text.includes(text)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A request of chat completions, or of the Responses API. */
interface SentBody {
  readonly messages?: SeenMessage[]
  readonly input?: readonly SentItem[]
  readonly stream?: boolean
  readonly tools?: readonly { readonly name?: string; readonly function?: { readonly name: string } }[]
}
type SentItem = Readonly<
  Partial<Record<'type' | 'role' | 'call_id' | 'name' | 'arguments' | 'output', string>>
> & {
  readonly content?: readonly { readonly text: string }[]
}

/** The texts of a message that also shows images. */
const textOf = (content: unknown): string =>
  Array.isArray(content)
    ? (content as { text?: string }[]).flatMap(({ text }) => text ?? []).join('\n')
    : String(content)

/** A text in parts, which may have marks for a cache, as one text. Other parts stay. */
function inOneText(message: SeenMessage): SeenMessage {
  const parts: unknown = message.content
  const texts = Array.isArray(parts) ? (parts as { type: string; text: string }[]) : []
  return texts.length > 0 && texts.every(({ type }) => type === 'text')
    ? { ...message, content: texts.map(({ text }) => text).join('') }
    : message
}

/** An item of the Responses API as the message of chat completions that says the same. */
function messageOf({
  type,
  role = '',
  content = [],
  call_id: id = '',
  name = '',
  arguments: args = '',
  output = '',
}: SentItem): SeenMessage[] {
  if (type === 'function_call')
    return [{ role: 'assistant', content: null, tool_calls: [{ id, function: { name, arguments: args } }] }]
  if (type === 'function_call_output') return [{ role: 'tool', content: output, tool_call_id: id }]
  return type === 'message' ? [{ role, content: content.map(({ text }) => text).join('') }] : []
}

function send(
  response: ServerResponse,
  { status = 200, headers = {}, body, rest, cut = false }: NonNullable<FakeReply>,
): void {
  if (response.destroyed) return
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(cut ? { 'content-length': String(Buffer.byteLength(body) + 1_000) } : {}),
    ...headers,
  })
  if (cut) response.write(body, () => response.destroy())
  else if (rest !== undefined) {
    response.write(body)
    Readable.from(rest).pipe(response)
  } else response.end(body)
}

const completion = (message: object, finish_reason: string): FakeReply => ({
  body: JSON.stringify({
    id: 'r',
    object: 'chat.completion',
    model: 'fake-model',
    choices: [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...message } }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
})

/** A final answer. */
export const say = (content: string): FakeReply => completion({ content }, 'stop')

/** An answer that reached the limit of its length. */
export const cutOff = (content: string): FakeReply => completion({ content }, 'length')

/** An answer that calls tools: `use(['echo', { text: 'a' }])`. */
export const use = (...calls: readonly (readonly [tool: string, args: unknown])[]): FakeReply =>
  completion(
    {
      tool_calls: calls.map(([name, args], i) => ({
        id: `call_${i}`,
        type: 'function',
        function: { name, arguments: JSON.stringify(args) },
      })),
    },
    'tool_calls',
  )

/** An error as OpenAI words it. */
export const refuse = (status: number, message = 'no', headers: Record<string, string> = {}): FakeReply => ({
  status,
  headers,
  body: JSON.stringify({ error: { message, type: 'error', code: null } }),
})
