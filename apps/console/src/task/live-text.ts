// What agents write at this moment, from the stream of a task: pieces of answers and the progress of calls. They
// are hints and may be lost; the answer in the journal replaces them. Pure.
import type { LiveDelta, LiveProgress } from '@beaver/core'

/** A message of the stream, with its data as JSON. */
export interface LiveMessage {
  readonly event: string
  readonly data: string
}

/** What an agent has written of its answer. */
export interface Writing {
  readonly name: string
  /** The end of the text. */
  readonly text: string
  /** The number of characters of the whole answer so far. */
  readonly chars: number
  /** Whether `text` lacks a part that the page did not get, or its beginning. */
  readonly isPart: boolean
}

export interface LiveState {
  /** By the id of the run. */
  readonly writing: ReadonlyMap<string, Writing>
  /** By the ids of the run and the call. */
  readonly progress: ReadonlyMap<string, LiveProgress>
}

export const nothingLive: LiveState = { writing: new Map(), progress: new Map() }

/** So much of a text is kept. */
const charsMax = 20_000

/** The state after messages of the stream, which has all events of the journal too. */
export function evolveLive(state: LiveState, messages: readonly LiveMessage[]): LiveState {
  const writing = new Map(state.writing)
  const progress = new Map(state.progress)
  for (const { event, data } of messages)
    if (event === 'delta') {
      const delta = JSON.parse(data) as LiveDelta
      writing.set(delta.run_id, written(writing.get(delta.run_id), delta))
    } else if (event === 'progress') {
      const told = JSON.parse(data) as LiveProgress
      progress.set(`${told.run_id}/${told.call_id}`, told)
    } else if (endsText.has(event)) writing.delete((JSON.parse(data) as { runId?: string }).runId ?? '')
    else if (event === 'tool_result_recorded') {
      const { runId, data: result } = JSON.parse(data) as { runId?: string; data: { call_id: string } }
      progress.delete(`${runId}/${result.call_id}`)
    }
  return { writing, progress }
}

/** After these events the model writes nothing more of the answer before them. */
const endsText: ReadonlySet<string> = new Set([
  'assistant_message_added',
  'provider_call_failed',
  'run_completed',
  'run_failed',
  'run_cancelled',
])

function written(
  before: Writing | undefined,
  { agent_name: name, node_id, offset, text }: LiveDelta,
): Writing {
  const goesOn = before !== undefined && offset === before.chars
  const whole = goesOn ? before.text + text : text
  return {
    name: node_id ?? name,
    text: whole.slice(-charsMax),
    chars: offset + text.length,
    isPart: whole.length > charsMax || (goesOn ? before.isPart : offset > 0),
  }
}
