// Answers with wrong types in each field: valid ones, changed at random, whole and as a stream. And what may
// become of them. Each is a change of an answer that real servers send, so that every field is reached.
// Anything else than an answer of the right types or a ProviderError is a failure of the reader.
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import type { FailureClass } from '@beaver/core/supervision'
import fc from 'fast-check'

/** Through the readers: half of them whole, half streamed. */
export const fuzzCases = 3_000
/** Through the client and a server: likewise. */
export const fuzzRequests = 200

const call = { id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const wholes: readonly unknown[] = [
  {
    id: 'r',
    object: 'chat.completion',
    model: 'm',
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi', refusal: null } },
    ],
    usage,
  },
  {
    id: 'r',
    model: 'm',
    choices: [
      { finish_reason: 'tool_calls', message: { content: null, tool_calls: [call, { ...call, id: 'c2' }] } },
    ],
    usage,
  },
  { choices: [{ message: { content: null, refusal: 'I cannot' } }] },
  { error: { message: 'slow down', type: 'requests', param: null, code: 'rate_limit_exceeded' } },
]
const delta = (of: unknown, finish: string | null = null): unknown => ({
  id: 'r',
  model: 'm',
  choices: [{ index: 0, delta: of, finish_reason: finish }],
  usage: null,
})
const streams: readonly (readonly unknown[])[] = [
  [
    delta({ role: 'assistant', content: '' }),
    delta({ content: 'he' }),
    delta({ content: 'llo' }),
    delta({}, 'stop'),
    { id: 'r', choices: [], usage },
  ],
  [
    delta({ content: null, tool_calls: [{ index: 0, ...call }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] }),
    delta({ tool_calls: [{ index: 1, ...call, id: 'c2' }] }),
    delta({}, 'tool_calls'),
  ],
  [delta({ refusal: 'no' }), delta(null, 'stop')],
  [delta({ content: 'half' }), { error: { message: 'x', code: 502 } }],
]

const functionCall = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'c1',
  name: 'read_file',
  arguments: '{"path":"a"}',
  status: 'completed',
}
const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }
const saying = (part: unknown): object => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [part],
})
const response = (output: readonly unknown[], over: object = {}): object => ({
  ...{
    id: 'r',
    object: 'response',
    model: 'm',
    status: 'completed',
    error: null,
    incomplete_details: null,
    output,
  },
  usage: { input_tokens: 9, output_tokens: 4 },
  ...over,
})
const responses: readonly unknown[] = [
  response([saying({ type: 'output_text', text: 'hi' })]),
  response([thought, functionCall, { ...functionCall, call_id: 'c2' }], {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  }),
  response([saying({ type: 'refusal', refusal: 'I cannot' })]),
  response([], { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow down' } }),
]
const place = { item_id: 'msg_1', output_index: 0 }
const callPlace = { item_id: 'fc_1', output_index: 1 }
const responseStreams: readonly (readonly unknown[])[] = [
  [
    { type: 'response.created', response: response([], { status: 'in_progress' }) },
    { type: 'response.output_item.added', output_index: 0, item: saying({}) },
    { type: 'response.output_text.delta', ...place, delta: 'he' },
    { type: 'response.output_text.done', ...place, text: 'hello' },
    { type: 'response.completed', response: response([saying({ type: 'output_text', text: 'hello' })]) },
  ],
  [
    { type: 'response.output_item.done', output_index: 0, item: thought },
    { type: 'response.output_item.added', output_index: 1, item: { ...functionCall, arguments: '' } },
    { type: 'response.function_call_arguments.delta', ...callPlace, delta: '{"path":"a"}' },
    { type: 'response.function_call_arguments.done', ...callPlace, arguments: '{"path":"a"}' },
    { type: 'response.output_item.done', output_index: 1, item: functionCall },
    { type: 'response.completed', response: response([]) },
  ],
  [
    { type: 'response.refusal.delta', ...place, delta: 'no' },
    { type: 'response.incomplete', response: response([], { status: 'incomplete' }) },
  ],
  [
    { type: 'response.output_text.delta', ...place, delta: 'half' },
    { type: 'error', code: 'server_error', message: 'x' },
  ],
]

const wrong: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e300,
    '',
    '0',
    [],
    {},
    [null],
    [[]],
    { a: null },
    '\u0000',
    '\ud800',
    'x'.repeat(2_000),
  ),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
)
/** Where, what comes there (`undefined`: the field goes), and whether under another name. */
const change = fc.record({ at: fc.nat(1_000), value: fc.option(wrong, { nil: undefined, freq: 5 }) })
const changes = fc.array(change, { minLength: 1, maxLength: 4 })

/** The body of a whole answer; now and then cut. */
const brokenBody = (of: readonly unknown[]): fc.Arbitrary<string> =>
  fc
    .record({ of: fc.constantFrom(...of), changes, cut: fc.option(fc.nat(200), { freq: 8 }) })
    .map(({ of: whole, changes: made, cut }) => {
      const text = JSON.stringify(made.reduce(changed, whole)) ?? 'null'
      return cut === null ? text : text.slice(0, cut)
    })
export const brokenWhole: fc.Arbitrary<string> = brokenBody(wholes)
export const brokenResponse: fc.Arbitrary<string> = brokenBody(responses)

/** The values of a stream's events. */
const brokenEvents = (of: readonly (readonly unknown[])[]): fc.Arbitrary<unknown[]> =>
  fc
    .record({
      of: fc.constantFrom(...of),
      changes,
      twice: fc.option(fc.nat(4), { freq: 4 }),
      missing: fc.option(fc.nat(4), { freq: 4 }),
    })
    .map(({ of: whole, changes: made, twice, missing }) => {
      const events = made.reduce(changed, whole as unknown)
      if (!Array.isArray(events)) return [events]
      return (events as unknown[]).flatMap((event, i) =>
        i === missing ? [] : i === twice ? [event, event] : [event],
      )
    })
export const brokenStream: fc.Arbitrary<unknown[]> = brokenEvents(streams)
export const brokenResponseStream: fc.Arbitrary<unknown[]> = brokenEvents(responseStreams)

/** A copy of a JSON value in which one place is another. */
function changed(whole: unknown, { at, value }: { at: number; value: unknown }): unknown {
  const places = [...placesIn(whole, [])]
  const path = places[at % places.length] ?? []
  const put = (of: unknown, [first, ...rest]: readonly (string | number)[]): unknown => {
    if (first === undefined) return value === undefined ? null : value
    if (Array.isArray(of)) return of.map((each: unknown, i) => (i === first ? put(each, rest) : each))
    const copy = { ...(of as Record<string, unknown>) }
    if (rest.length === 0 && value === undefined) delete copy[first]
    else copy[first] = put(copy[first], rest)
    return copy
  }
  return put(whole, path)
}

function* placesIn(
  value: unknown,
  path: readonly (string | number)[],
): Generator<readonly (string | number)[]> {
  yield path
  if (Array.isArray(value)) for (const [i, each] of value.entries()) yield* placesIn(each, [...path, i])
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) yield* placesIn(each, [...path, name])
}

/** `answer`, or the class of the failure. @throws whatever else came out */
export function outcomeOf(read: () => ChatAnswer): 'answer' | FailureClass {
  try {
    return checked(read())
  } catch (error) {
    return classOf(error)
  }
}

export async function outcomeOfCall(call: Promise<ChatAnswer>): Promise<'answer' | FailureClass> {
  return call.then(checked, classOf)
}

function classOf(error: unknown): FailureClass {
  if (error instanceof ProviderError && error.message !== '') return error.class
  throw error
}

function checked(answer: ChatAnswer): 'answer' {
  const texts = [
    answer.finishReason,
    answer.model,
    ...answer.toolCalls.flatMap(({ id, name, arguments: args }) => [id, name, args]),
  ]
  const numbers = Object.values(answer.usage)
  const fine =
    (answer.content === null || typeof answer.content === 'string') &&
    (answer.responseId === null || typeof answer.responseId === 'string') &&
    texts.every((text) => typeof text === 'string') &&
    answer.toolCalls.every(({ id, name }) => id !== '' && name !== '') &&
    new Set(answer.toolCalls.map(({ id }) => id)).size === answer.toolCalls.length &&
    numbers.every((number = 0) => Number.isSafeInteger(number) && number >= 0)
  if (!fine) throw new Error(`not an answer: ${JSON.stringify(answer)}`)
  return 'answer'
}
