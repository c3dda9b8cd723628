// The models of the contract suite: an endpoint in each protocol of OpenAI, and a model of a program.
import type { ServerResponse } from 'node:http'
import { MessageChannel } from 'node:worker_threads'
import type { ChatAnswer, ChatProvider, ChatRequest } from '@beaver/agent'
import { type ChatProviderUnderTest, contractKey, contractUsage, type ModelTurn } from '@beaver/testing'
import { openAiChatProvider } from '../src/openai-chat.ts'
import { openAiResponsesProvider } from '../src/openai-responses.ts'
import { OwnModelCalls } from '../src/own-models/own-model-calls.ts'
import { serveOwnModels } from '../src/own-models/serve-own-models.ts'
import { chunk, serve } from './kit.ts'

type Says = Extract<ModelTurn, { kind: 'says' | 'calls' }>
/** An answer on the wire: the whole, and its events. */
interface WireAnswer {
  readonly whole: object
  readonly events: readonly object[]
}

const { input, cached, output, reasoning } = contractUsage

function chatAnswer(turn: Says): WireAnswer {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
  const thought =
    turn.kind === 'calls' && turn.thought !== undefined ? { reasoning_content: turn.thought } : {}
  const calls =
    turn.kind === 'says'
      ? []
      : turn.calls.map(({ id, name, arguments: args }) => ({
          id,
          type: 'function',
          function: { name, arguments: args },
        }))
  const finish_reason =
    turn.kind === 'calls'
      ? 'tool_calls'
      : turn.ends === 'cut'
        ? 'length'
        : turn.ends === 'refused'
          ? 'content_filter'
          : 'stop'
  const pieces = turn.kind === 'says' ? turn.pieces : []
  const message = {
    role: 'assistant',
    content: pieces.join('') || null,
    ...thought,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  return {
    whole: {
      id: 'r1',
      object: 'chat.completion',
      model: 'm-1',
      choices: [{ index: 0, finish_reason, message }],
      usage,
    },
    events: [
      chunk({ role: 'assistant', content: '', ...thought }),
      ...pieces.map((content) => chunk({ content })),
      ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
      chunk({}, finish_reason),
      { id: 'r1', model: 'm-1', object: 'chat.completion.chunk', choices: [], usage },
    ],
  }
}

function responsesAnswer(turn: Says): WireAnswer {
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
  const pieces = turn.kind === 'says' ? turn.pieces : []
  const items =
    turn.kind === 'says'
      ? [
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
          },
        ]
      : [
          ...(turn.thought === undefined
            ? []
            : [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: turn.thought }]),
          ...turn.calls.map(({ id, name, arguments: args }, i) => ({
            type: 'function_call',
            id: `fc_${i}`,
            call_id: id,
            name,
            arguments: args,
            status: 'completed',
          })),
        ]
  const reason =
    turn.kind === 'calls'
      ? undefined
      : turn.ends === 'cut'
        ? 'max_output_tokens'
        : turn.ends === 'refused'
          ? 'content_filter'
          : undefined
  const whole = {
    ...{ id: 'resp_1', object: 'response', model: 'm-1', error: null, output: items, usage },
    ...(reason === undefined
      ? { status: 'completed', incomplete_details: null }
      : { status: 'incomplete', incomplete_details: { reason } }),
  }
  return {
    whole,
    events: [
      { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
      ...pieces.map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta,
      })),
      ...items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: reason === undefined ? 'response.completed' : 'response.incomplete', response: whole },
    ],
  }
}

/** A provider of an endpoint whose server does what the test says. */
async function endpoint(
  make: (baseURL: string) => ChatProvider,
  write: (turn: Says) => WireAnswer,
): Promise<ChatProviderUnderTest> {
  const turns: ModelTurn[] = []
  const seen: string[] = []
  let dropped = 0
  const url = await serve((_, response, body) => {
    seen.push(body)
    response.once('close', () => void (response.writableFinished ? 0 : dropped++))
    const turn = turns.shift()
    if (turn !== undefined)
      answerWith(turn, {
        response,
        streams: (JSON.parse(body) as { stream?: boolean }).stream === true,
        write,
      })
  })
  return { provider: make(url), next: (...given) => void turns.push(...given), seen, dropped: () => dropped }
}

interface Answering {
  readonly response: ServerResponse
  readonly streams: boolean
  readonly write: (turn: Says) => WireAnswer
}

function answerWith(turn: ModelTurn, { response, streams, write }: Answering): void {
  const type = { 'content-type': streams ? 'text/event-stream' : 'application/json' }
  switch (turn.kind) {
    case 'hangs':
      return
    case 'refuses': {
      const pause = turn.retryAfterSeconds === undefined ? {} : { 'retry-after': `${turn.retryAfterSeconds}` }
      response.writeHead(turn.status, { 'content-type': 'application/json', ...pause })
      return void response.end(
        JSON.stringify({ error: { message: turn.message, type: 'error', code: null } }),
      )
    }
    case 'breaks_off': {
      const { whole, events } = write({ kind: 'says', pieces: ['half', 'whole'] })
      const begun = streams ? events.slice(0, 2).map(eventText).join('') : JSON.stringify(whole).slice(0, 40)
      response.writeHead(200, { ...type, 'content-length': '100000' })
      return void response.write(begun, () => response.destroy())
    }
    default: {
      const { whole, events } = write(turn)
      response.writeHead(200, type)
      return void response.end(
        streams ? `${events.map(eventText).join('')}data: [DONE]\n\n` : JSON.stringify(whole),
      )
    }
  }
}

const eventText = (event: object): string => `data: ${JSON.stringify(event)}\n\n`

const options = (baseURL: string) => ({
  name: 'contract',
  baseURL,
  apiKey: contractKey,
  model: 'm',
  timeoutMs: 60_000,
})

export const chatEndpoint = (): Promise<ChatProviderUnderTest> =>
  endpoint((url) => openAiChatProvider(options(url)), chatAnswer)
export const responsesEndpoint = (): Promise<ChatProviderUnderTest> =>
  endpoint((url) => openAiResponsesProvider(options(url)), responsesAnswer)

const closing: (() => void)[] = []
export const closePrograms = (): void => closing.splice(0).forEach((close) => close())

/** A model of a program, as a loop asks it through the port of its thread. */
export async function programModel(): Promise<ChatProviderUnderTest> {
  const turns: ModelTurn[] = []
  const seen: string[] = []
  let dropped = 0
  const chat = async (request: ChatRequest): Promise<ChatAnswer> => {
    seen.push(textOf(request))
    request.signal.addEventListener('abort', () => dropped++)
    return answerOf(turns.shift() ?? { kind: 'hangs' }, request)
  }
  const { port1, port2 } = new MessageChannel()
  closing.push(serveOwnModels(port1, { models: new Map([['local', { name: 'mine', model: 'm', chat }]]) }))
  const choice = { provider: 'mine:local', own: 'local', model: 'm', timeoutMs: 60_000, idleMs: 60_000 }
  return {
    provider: new OwnModelCalls(port2).provider(choice),
    next: (...given) => void turns.push(...given),
    seen,
    dropped: () => dropped,
  }
}

const textOf = ({ messages, tools, settings, output: form, images = new Map() }: ChatRequest): string =>
  JSON.stringify({
    messages,
    tools,
    settings,
    form,
    images: [...images.values()].map((image) => Buffer.from(image).toString('base64')),
  })

async function answerOf(turn: ModelTurn, { onText }: ChatRequest): Promise<ChatAnswer> {
  const usage = {
    input_tokens: input,
    output_tokens: output,
    calls: 1,
    cached_input_tokens: cached,
    reasoning_tokens: reasoning,
  }
  const empty = { content: null, toolCalls: [], finishReason: 'stop', usage, model: 'm-1', responseId: null }
  switch (turn.kind) {
    case 'says':
      for (const piece of turn.pieces) onText?.(piece)
      return {
        ...empty,
        content: turn.pieces.join(''),
        finishReason: turn.ends === 'cut' ? 'length' : turn.ends === 'refused' ? 'content_filter' : 'stop',
      }
    case 'calls':
      return {
        ...empty,
        toolCalls: turn.calls,
        finishReason: 'tool_calls',
        ...(turn.thought === undefined ? {} : { state: { thought: turn.thought } }),
      }
    case 'refuses': {
      const headers = new Headers(
        turn.retryAfterSeconds === undefined ? {} : { 'retry-after': `${turn.retryAfterSeconds}` },
      )
      throw Object.assign(new Error(turn.message), { status: turn.status, headers })
    }
    case 'breaks_off':
      onText?.('half')
      throw new TypeError('terminated', {
        cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
      })
    case 'hangs':
      return new Promise(() => {})
    default:
      return turn satisfies never
  }
}
