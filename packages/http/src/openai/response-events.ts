// The events of a streamed response, in the order that OpenAI's Responses and Open Responses ask for.
// response.created and response.in_progress come first. Exactly one of response.completed, .incomplete and
// .failed comes last, and then [DONE]. The numbers of the events count from 0, without gaps. If the stream
// cannot go on, `error` says why, and response.failed ends it.
import type { ServerSentEvent } from '../sse.ts'
import type { OutputItem, Step } from '../agent-output.ts'
import type { Told } from './follow-work.ts'
import { openAiFailure } from './openai-error.ts'
import { partOf, ResponseView, type Said, shownItem, type Sight } from './response-object.ts'

type Fields = Readonly<Record<string, unknown>>

export async function* responseEvents(
  all: AsyncGenerator<Told>,
  said: Said,
  sight: Sight,
): AsyncGenerator<ServerSentEvent | string> {
  let view = new ResponseView()
  const items: OutputItem[] = []
  let from = 0
  let sequence = 0
  const event = (type: string, fields: Fields): ServerSentEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...fields },
  })
  const now = (over: Fields = {}): Fields => ({
    response: { ...view.object(items, said, { ...sight, from }), ...over },
  })
  try {
    for await (const item of all) {
      if ('begun' in item) {
        view = item.view
        from = item.from
        yield event('response.created', now({ status: 'in_progress' }))
        yield event('response.in_progress', now({ status: 'in_progress' }))
      } else if ('step' in item) {
        const step = { ...item.step, index: item.step.index - from }
        items[step.index] = itemAfter(step, items[step.index])
        for (const [type, fields] of stepEvents(step, items, {
          taskId: view.submitted?.task_id ?? '',
          from,
          ...sight,
        }))
          yield event(type, fields)
      } else {
        const { status } = view.object(items, said, { ...sight, from })
        yield event(
          `response.${status === 'completed' || status === 'incomplete' ? status : 'failed'}`,
          now(),
        )
      }
    }
  } catch (thrown) {
    const { error } = openAiFailure(thrown)
    const { code, message, param } = error
    yield event('error', { code, message, param, error })
    yield event(
      'response.failed',
      now({ status: 'failed', error: { code: 'server_error', message: error.message } }),
    )
  }
  yield '[DONE]'
}

function itemAfter(step: Step, before: OutputItem | undefined): OutputItem {
  if (step.kind !== 'text') return step.item
  if (before?.kind !== 'text') throw new TypeError('A piece of a text belongs to no text.')
  return { ...before, text: before.text + step.delta }
}

type Place = { readonly taskId: string; readonly from: number } & Sight

function stepEvents(
  step: Step,
  items: readonly OutputItem[],
  place: Place,
): [type: string, fields: Fields][] {
  const { index } = step
  const there = items[index] as OutputItem
  const of = { ...place, index: index + place.from }
  const at = { item_id: shownItem(there, of).id, output_index: index }
  const isRefusal = there.kind === 'text' && there.refusal === true
  if (step.kind === 'text' && isRefusal)
    return [['response.refusal.delta', { ...at, content_index: 0, delta: step.delta }]]
  if (step.kind === 'text')
    return [['response.output_text.delta', { ...at, content_index: 0, delta: step.delta, logprobs: [] }]]
  const { item } = step
  const shown = { output_index: index, item: shownItem(item, of) }
  if (item.kind === 'text') {
    if (step.kind === 'begun')
      return [
        ['response.output_item.added', shown],
        ['response.content_part.added', { ...at, content_index: 0, part: partOf(item, '') }],
      ]
    return [
      isRefusal
        ? ['response.refusal.done', { ...at, content_index: 0, refusal: item.text }]
        : ['response.output_text.done', { ...at, content_index: 0, text: item.text, logprobs: [] }],
      ['response.content_part.done', { ...at, content_index: 0, part: partOf(item, item.text) }],
      ['response.output_item.done', shown],
    ]
  }
  if (step.kind === 'begun')
    return [
      ['response.output_item.added', { output_index: index, item: { ...shown.item, arguments: '' } }],
      ['response.mcp_call.in_progress', at],
      ['response.mcp_call_arguments.delta', { ...at, delta: item.arguments }],
      ['response.mcp_call_arguments.done', { ...at, arguments: item.arguments }],
    ]
  return [
    [`response.mcp_call.${item.result?.success === true ? 'completed' : 'failed'}`, at],
    ['response.output_item.done', shown],
  ]
}
