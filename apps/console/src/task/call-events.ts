// What the events of the journal say of one call of a tool, because the answer about its run is cut: the whole
// arguments and the whole result, what a person was asked, and what came of it. Pure.
import type { QueryOutput } from '@beaver/contracts'

type Event = Pick<QueryOutput<'events'>['events'][number], 'type' | 'run_id' | 'data'>

/** The events that say something of a call. */
export const typesOfCall = [
  'assistant_message_added',
  'tool_call_requested',
  'approval_requested',
  'approval_granted',
  'approval_denied',
  'tool_result_recorded',
]

export interface CallEvents {
  /** `null`: the events that were read do not have it. So are all others. */
  readonly arguments: string | null
  readonly result: string | null
  /** The file that the call would change, as a unified diff. */
  readonly preview: { readonly path: string; readonly diff: string; readonly leftOut: number } | null
  readonly decision: {
    readonly by: string
    readonly isGranted: boolean
    readonly reason: string | null
  } | null
  /** The arguments as the person changed them. */
  readonly changed: string | null
}

export function eventsOfCall(
  events: readonly Event[],
  { runId, callId }: { readonly runId: string; readonly callId: string },
): CallEvents {
  let found: CallEvents = { arguments: null, result: null, preview: null, decision: null, changed: null }
  for (const { type, run_id, data: raw } of events) {
    if (run_id !== runId) continue
    const data = fieldsOf(raw)
    const call = [data['call'], ...listOf(data['tool_calls'])].map(fieldsOf).find(({ id }) => id === callId)
    if (call !== undefined) found = { ...found, arguments: textOf(call['arguments']) }
    if (data['call_id'] !== callId) continue
    const by = textOf(data['by']) ?? 'somebody'
    if (type === 'tool_result_recorded') found = { ...found, result: textOf(data['content']) }
    else if (type === 'approval_requested')
      found = { ...found, preview: previewOf(fieldsOf(data['preview'])) }
    else if (type === 'approval_granted')
      found = {
        ...found,
        decision: { by, isGranted: true, reason: null },
        changed: textOf(data['arguments']),
      }
    else if (type === 'approval_denied')
      found = { ...found, decision: { by, isGranted: false, reason: textOf(data['reason']) } }
  }
  return found
}

function previewOf({ path, diff, diff_lines_left_out: leftOut }: Fields): CallEvents['preview'] {
  const text = textOf(diff)
  return text === null || text === ''
    ? null
    : { path: textOf(path) ?? '', diff: text, leftOut: typeof leftOut === 'number' ? leftOut : 0 }
}

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
