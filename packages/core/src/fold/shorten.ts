// Shortens a conversation that was too long for the model. An answer that calls tools and the results of
// these calls stay or go together, because providers refuse one without the other. A replacement says what it
// replaced.
import { addUsage } from '../usage.ts'
import type { ChatMessage } from '../chat.ts'
import type { DataOf } from '../events/catalog.ts'
import type { ImagePart } from '../images/image-part.ts'
import { imageText } from '../images/image-measures.ts'
import { nothingFailed } from './due-call.ts'
import { framed, frameMark, withOutputsCut } from './frame.ts'
import type { RunState } from './run-state.ts'

type Compacted = DataOf<'context_compacted'>

/**
 * The text that a model reads in place of a result. If the result was cut, the text begins with its kept
 * part. The result of a team is read again by its reference, because the same call again would run the whole
 * team again.
 */
export function resultReference(
  { call_id, tool_name, chars, kept_chars: kept, team }: Compacted['results'][number],
  content = '',
): string {
  const read = team === true ? `; read it with ${teamOutputReference(call_id)}` : ''
  if (kept !== undefined)
    return `${content.slice(0, kept).toWellFormed()}\n[cut: ${chars - kept} of the ${chars} characters of ${tool_name}, call ${call_id}, left out because the conversation was too long${read}]`
  const again = team === true ? read : '; call the tool again if you need it'
  return `[result of ${tool_name}, call ${call_id}: ${chars} characters, left out because the conversation was too long${again}]`
}

/** The tool that reads what an ended team wrote. */
export const teamOutputTool = 'team_output'

/**
 * How a model reads what the team of a call wrote, without running the team again: the tool and its
 * arguments.
 *
 * @example
 * teamOutputReference('c1') // => 'team_output {"call_id":"c1"}'
 * teamOutputReference('c1', { node_id: 'writer', offset: 500 }) // => 'team_output {"call_id":"c1","node_id":"writer","offset":500}'
 */
export function teamOutputReference(
  callId: string,
  part: { readonly node_id?: string; readonly offset?: number } = {},
): string {
  return `${teamOutputTool} ${JSON.stringify({ call_id: callId, ...part })}`
}

/**
 * The index of the newest answer that calls tools; the number of messages if there is none. That answer and
 * the messages after it are never removed as a whole.
 *
 * @example
 * newestExchange([{ role: 'user', content: 'Add 1 and 2.' }]) // => 1
 */
export function newestExchange(messages: readonly ChatMessage[]): number {
  const index = messages.findLastIndex(
    (message) => message.role === 'assistant' && message.tool_calls !== undefined,
  )
  return index === -1 ? messages.length : index
}

/**
 * The arguments that stand in place of long ones. They are an object, because providers refuse a conversation
 * with other arguments.
 */
const argumentsReference = (chars: number): string =>
  JSON.stringify({
    left_out: `${chars} characters, because the conversation was too long. The call was made with them.`,
  })

export function compacted(run: RunState, data: Compacted): RunState {
  const {
    results,
    arguments: args = [],
    history_messages_dropped: dropped,
    messages_dropped: cut,
    outputs,
    images = [],
  } = data
  const shortened = new Map(results.map((each) => [each.call_id, each]))
  const withoutArguments = new Map(args.map((each) => [each.call_id, each.chars]))
  const kept = withoutImages(run, images)
  const messages = kept.map((message, i): ChatMessage => {
    if (outputs !== undefined && i === run.historyIndex && message.role === 'user')
      return { ...message, content: withOutputsCut(message.content, frameMark(run.start.run_id), outputs) }
    if (
      message.role === 'assistant' &&
      message.tool_calls?.some(({ id }) => withoutArguments.has(id)) === true
    ) {
      const calls = message.tool_calls.map((call) => {
        const chars = withoutArguments.get(call.id)
        return chars === undefined ? call : { ...call, arguments: argumentsReference(chars) }
      })
      return { ...message, tool_calls: calls }
    }
    if (message.role !== 'tool') return message
    const result = shortened.get(message.tool_call_id)
    return result === undefined ? message : { ...message, content: resultReference(result, message.content) }
  })
  return {
    ...run,
    messages: cut === undefined ? messages : replaced({ ...run, messages }, cut, notSummarized(cut)),
    compactions: run.compactions + 1,
    summariesRefused: 0,
    historyDropped: dropped ?? run.historyDropped,
    tries: 0,
    due: nothingFailed,
  }
}

const notSummarized = (count: number): string =>
  `[${count} ${count === 1 ? 'message' : 'messages'} of your earlier work left out because the conversation was too long. No summary of them could be made. Do again what you still need.]`

/** The messages of a run in which one text takes the place of those that follow its own first message. */
function replaced(
  { messages, historyIndex, start }: RunState,
  count: number,
  text: string,
): readonly ChatMessage[] {
  const from = historyIndex + 1
  const summary: ChatMessage = {
    role: 'user',
    content: framed(text, { name: summaryFrame, mark: frameMark(start.run_id) }),
  }
  return [...messages.slice(0, from), summary, ...messages.slice(from + count)]
}

const summaryFrame = 'summary_of_earlier_work'

/** The messages without these images. A reference takes the place of each. */
function withoutImages(
  { messages, historyIndex }: RunState,
  left: NonNullable<Compacted['images']>,
): readonly ChatMessage[] {
  if (left.length === 0) return messages
  const leftOut = new Set(left.map(({ call_id, sha256 }) => JSON.stringify([call_id, sha256])))
  return messages.map((message, i): ChatMessage => {
    if ((message.role !== 'user' && message.role !== 'tool') || message.images === undefined) return message
    const callId = message.role === 'tool' ? message.tool_call_id : i === historyIndex ? null : undefined
    const { images: all, ...rest } = message
    const goes = ({ sha256 }: ImagePart): boolean => leftOut.has(JSON.stringify([callId, sha256]))
    const gone = all.filter(goes)
    if (gone.length === 0) return message
    const kept = all.filter((image) => !goes(image))
    const content = [
      rest.content,
      ...gone.map(
        (image) =>
          `[${imageText(image)}: left out because the conversation was too long; look at it again if you need it]`,
      ),
    ].join('\n')
    return { ...rest, content, ...(kept.length === 0 ? {} : { images: kept }) }
  })
}

export function summarized(
  run: RunState,
  { content, messages_dropped, usage }: DataOf<'context_summarized'>,
): RunState {
  return {
    ...run,
    messages: replaced(run, messages_dropped, content),
    summaries: run.summaries + 1,
    summariesRefused: 0,
    usage: addUsage(run.usage, usage),
    tries: 0,
    due: nothingFailed,
  }
}
