// Turns the events of a streamed response into the ChatAnswer that the whole response would be. The last
// event has the whole response; earlier items fill its gaps. An answer is complete with this event, or if the
// stream and every item are done; otherwise it was cut. Servers identify an item by its id, by its place, or
// not at all. Some send the whole response as one event, and some a text only when it is complete.
import { ProviderError } from '@beaver/agent'
import { z } from 'zod'
import { type AnswerPlace, malformed, thoughtFilter } from './chat-completion.ts'
import type { AnswerStream } from './model-call.ts'
import { errorInResponse, errorOfEvent } from './provider-failure.ts'
import type { StreamEvent } from './response-body.ts'
import { answerOfResponse, responseIn, type WireResponse } from './responses-answer.ts'
import { field } from './server-error.ts'
import { wireArguments, wireId } from './wire-shapes.ts'

const anItem = z.looseObject({ type: z.string().nullish(), id: wireId, arguments: wireArguments })
const streamEvent = z.looseObject({
  type: z.string(),
  item_id: wireId,
  output_index: z.coerce.number().int().nonnegative().nullish().catch(null),
  delta: z.string().nullish().catch(null),
  text: z.string().nullish().catch(null),
  refusal: z.string().nullish().catch(null),
  name: z.string().nullish().catch(null),
  arguments: wireArguments.catch(''),
  item: anItem.nullish(),
})
type ReadEvent = z.output<typeof streamEvent>

const endings: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.done',
  'response.cancelled',
])

export function responsesStream(place: AnswerPlace): AnswerStream {
  const items = openItems()
  const text = thoughtFilter(false)
  let last: WireResponse | null = null
  let begun: { id?: unknown; model?: unknown } = {}
  let shown = false
  let done = false

  const show = (piece: string): string => {
    shown ||= piece !== ''
    return piece === '' ? '' : text.take(piece)
  }

  /** The text of an answer that came only with its last event. */
  function takeLast(value: unknown): string {
    last = responseIn(value, place, '')
    if (last.output.length === 0) last = { ...last, output: items.made() }
    return shown ? '' : (answerOfResponse(last, place).content ?? '')
  }

  return {
    take(event: StreamEvent) {
      if (event.kind === 'done') return ((done = true), '')
      const { value } = event
      const type = field(value, 'type')
      const error = errorOfEvent(type === 'error' ? { kind: 'error', value } : event, place)
      if (error !== null) throw error
      if (type === 'response.failed') throw errorInResponse(field(value, 'response'), place)
      if (endings.has(type)) return takeLast(field(value, 'response'))
      if (type === undefined && field(value, 'object') === 'response') return takeLast(value)
      const parsedEvent = streamEvent.safeParse(value)
      if (!parsedEvent.success) {
        const issue = parsedEvent.error.issues[0]
        throw malformed(
          place,
          `not a stream of response events: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`,
        )
      }
      const response = field(value, 'response')
      if (response !== undefined) begun = { id: field(response, 'id'), model: field(response, 'model') }
      return takeEvent(parsedEvent.data, items, show)
    },
    ended: () => last !== null,
    unshown: () => (last === null ? text.unshown() : ''),
    end() {
      if (last !== null) return answerOfResponse(last, place)
      const output = items.made()
      if (!done || output.length === 0 || !items.complete())
        throw new ProviderError(
          'provider_unavailable',
          `The endpoint ${place.host} ended its answer too early.`,
        )
      return answerOfResponse(responseIn({ ...begun, status: 'completed', output }, place, ''), place)
    },
  }
}

/** Takes an event about an item, and returns the new text. */
function takeEvent(
  event: ReadEvent,
  items: ReturnType<typeof openItems>,
  show: (piece: string) => string,
): string {
  switch (event.type) {
    case 'response.output_item.added':
    case 'response.output_item.done':
      if (event.item) items.put(event, event.item, event.type.endsWith('done'))
      return ''
    case 'response.output_text.delta':
      items.of(event, 'message').text += event.delta ?? ''
      return show(event.delta ?? '')
    case 'response.output_text.done': {
      const item = items.of(event, 'message')
      if (item.text !== '' || !event.text) return ''
      item.text = event.text
      return show(event.text)
    }
    case 'response.refusal.delta':
      items.of(event, 'message').refusal += event.delta ?? ''
      return ''
    case 'response.function_call_arguments.delta':
      items.of(event, 'function_call').arguments += event.delta ?? ''
      return ''
    case 'response.function_call_arguments.done': {
      const item = items.of(event, 'function_call')
      item.arguments = event.arguments || item.arguments
      item.name ||= event.name ?? ''
      return ''
    }
    default:
      return '' // Events of a server's own, and those that say the same again.
  }
}

interface OpenItem {
  readonly id: string | null
  readonly index: number | null
  readonly type: string
  whole: z.output<typeof anItem> | null
  complete: boolean
  text: string
  refusal: string
  name: string
  arguments: string
}

/** The items of a response, in the order in which they began. */
function openItems() {
  const open: OpenItem[] = []

  function find(
    { item_id: id, output_index: index }: ReadEvent,
    type: string,
    itemId = id,
  ): OpenItem | undefined {
    if (itemId)
      return (
        open.findLast((item) => item.id === itemId && item.type === type) ??
        (index === null || index === undefined ? undefined : at(index, type))
      )
    return typeof index === 'number'
      ? at(index, type)
      : open.findLast((item) => item.type === type && !item.complete)
  }
  const at = (index: number, type: string): OpenItem | undefined =>
    open.findLast((item) => item.index === index && item.type === type && !item.complete)

  function add({ item_id: id, output_index: index }: ReadEvent, type: string, itemId = id): OpenItem {
    const item: OpenItem = {
      id: itemId || null,
      index: index ?? null,
      type,
      whole: null,
      complete: false,
      text: '',
      refusal: '',
      name: '',
      arguments: '',
    }
    open.push(item)
    return item
  }

  return {
    /** The item to which an event belongs. Servers may leave out its beginning. */
    of: (event: ReadEvent, type: 'message' | 'function_call'): OpenItem =>
      find(event, type) ?? add(event, type),
    put(event: ReadEvent, whole: z.output<typeof anItem>, complete: boolean): void {
      const type = whole.type ?? ''
      const item = find(event, type, whole.id) ?? add(event, type, whole.id)
      item.whole = whole
      item.complete ||= complete
    },
    complete: () => open.every((item) => item.complete),
    made: () => open.map(madeOf),
  }
}

/** The item of its last event, with what only the earlier pieces had. */
function madeOf({
  type,
  whole,
  text,
  refusal,
  name,
  arguments: args,
}: OpenItem): WireResponse['output'][number] {
  if (type === 'function_call')
    return { ...(name === '' ? {} : { name }), ...whole, type, arguments: whole?.arguments || args }
  if (type !== 'message') return { ...whole, type }
  const parts = whole?.['content']
  if (Array.isArray(parts) ? parts.length > 0 : typeof parts === 'string') return { ...whole, type }
  return {
    ...whole,
    type,
    content: [
      ...(text === '' ? [] : [{ type: 'output_text', text }]),
      ...(refusal === '' ? [] : [{ type: 'refusal', refusal }]),
    ],
  }
}
