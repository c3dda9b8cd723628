// A provider for the bench: it keeps every request, and answers by a script or by another provider.
import { createServer } from 'node:http'
import { simulatedModelName } from '@beaver/simulated-model'

export interface WireCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}
export interface WireMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly WireCall[]
  readonly tool_call_id?: string
}
export interface WireRequest {
  readonly messages: readonly WireMessage[]
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly description: string; readonly parameters: unknown }
  }[]
}
/** What the model says in one turn. */
export interface Turn {
  readonly content: string | null
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
}
export interface Exchange {
  readonly request: WireRequest
  readonly turn: Turn
}

export interface Recorder {
  readonly url: string
  readonly exchanges: Exchange[]
  close(): void
}

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }

/** @param answer gives the turn, or the URL of the provider that gives it */
export async function recorder(answer: (request: WireRequest) => Turn | string): Promise<Recorder> {
  const exchanges: Exchange[] = []
  let answers = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void reply(Buffer.concat(chunks).toString()).then(
        (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(body),
        (error: unknown) => response.writeHead(400).end(String(error)), // 400: no contender tries again
      )
    })
  })
  async function reply(text: string): Promise<string> {
    const wire = JSON.parse(text) as WireRequest
    const given = answer(wire)
    const body = typeof given === 'string' ? await forwarded(given, text) : completion(given, ++answers)
    const { choices } = JSON.parse(body) as {
      choices: { message: { content: string | null; tool_calls?: WireCall[] } }[]
    }
    const message = choices[0]?.message
    exchanges.push({
      request: wire,
      turn: {
        content: message?.content ?? null,
        calls: (message?.tool_calls ?? []).map((call) => call.function),
      },
    })
    return body
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`,
    exchanges,
    close: () => void server.close(),
  }
}

async function forwarded(url: string, text: string): Promise<string> {
  const { stream: _, stream_options: __, ...whole } = JSON.parse(text) as Record<string, unknown>
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
    body: JSON.stringify({ ...whole, model: simulatedModelName }),
  })
  if (!response.ok)
    throw new Error(`The simulated model answered ${response.status}: ${await response.text()}`)
  return await response.text()
}

function completion({ content, calls }: Turn, n: number): string {
  const tool_calls = calls.map((call, i) => ({ id: `call_${n}_${i}`, type: 'function', function: call }))
  const message = { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls }) }
  const choices = [{ index: 0, message, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }]
  return JSON.stringify({
    id: `r${n}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench-model',
    choices,
    usage,
  })
}
