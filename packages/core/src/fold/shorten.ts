// Shortens a conversation that was too long for the model: what its messages are from then on.
// C1. An answer that calls tools and the results of these calls stay together or are removed together, because providers refuse one without the
//     other.
// C2. A replacement says what it replaced.
import { addUsage, type ChatMessage } from '../chat.ts'
import type { DataOf } from '../events/catalog.ts'
import { nothingFailed } from './due-call.ts'
import { framed, frameMark, withOutputsCut } from './frame.ts'
import type { RunState } from './run-state.ts'

type Compacted = DataOf<'context_compacted'>

/** The text that a model reads in place of a result. If the result was cut, the text begins with its kept part. */
export function resultReference({ call_id, tool_name, chars, kept_chars: kept }: Compacted['results'][number], content = ''): string {
  if (kept !== undefined)
    return `${content.slice(0, kept).toWellFormed()}\n[cut: ${chars - kept} of the ${chars} characters of ${tool_name}, call ${call_id}, left out because the conversation was too long]`
  return `[result of ${tool_name}, call ${call_id}: ${chars} characters, left out because the conversation was too long; call the tool again if you need it]`
}

/**
 * The index of the newest answer that calls tools; the number of messages if there is none. That answer and the messages after it are never removed
 * as a whole.
 *
 * @example
 * newestExchange([{ role: 'user', content: 'Add 1 and 2.' }]) // => 1
 */
export function newestExchange(messages: readonly ChatMessage[]): number {
  const index = messages.findLastIndex((message) => message.role === 'assistant' && message.tool_calls !== undefined)
  return index === -1 ? messages.length : index
}

export function compacted(run: RunState, { results, history_messages_dropped: dropped, outputs }: Compacted): RunState {
  const shortened = new Map(results.map((each) => [each.call_id, each]))
  const messages = run.messages.map((message, i): ChatMessage => {
    if (outputs !== undefined && i === run.historyIndex && message.role === 'user')
      return { ...message, content: withOutputsCut(message.content, frameMark(run.start.run_id), outputs) }
    if (message.role !== 'tool') return message
    const result = shortened.get(message.tool_call_id)
    return result === undefined ? message : { ...message, content: resultReference(result, message.content) }
  })
  return { ...run, messages, compactions: run.compactions + 1, historyDropped: dropped ?? run.historyDropped, tries: 0, due: nothingFailed }
}

export function summarized(run: RunState, { content, messages_dropped, usage }: DataOf<'context_summarized'>): RunState {
  const from = run.historyIndex + 1
  const dropped = run.messages.slice(from, from + messages_dropped)
  const callIds = dropped.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []).map((call) => call.id) : []))
  const summary: ChatMessage = { role: 'user', content: framed(content, { name: 'summary_of_earlier_work', mark: frameMark(run.start.run_id) }) }
  return {
    ...run,
    messages: [...run.messages.slice(0, from), summary, ...run.messages.slice(from + messages_dropped)],
    summaries: run.summaries + 1,
    summarizedCallIds: [...run.summarizedCallIds, ...callIds],
    usage: addUsage(run.usage, usage),
    tries: 0,
    due: nothingFailed,
  }
}
