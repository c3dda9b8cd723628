// Makes calls of pure tools as soon as the model asks: nobody can tell whether such a tool ran, so nothing
// has to be durable first. Only a call that may begin at once is made early. A result within the present
// callback is recorded in one entry with the call, which saves a write; otherwise the loop records the start,
// and the result when it comes.
import { type DomainEvent, isOn } from '@beaver/core'
import type { LoopWork } from './loop-work.ts'
import type { Tool } from '../tools/tool.ts'
import { makeCall, suspicionsOf } from './make-call.ts'

/** Returns the events, followed by the results of their pure calls. */
export async function withPureResults(
  work: LoopWork,
  events: readonly DomainEvent[],
): Promise<readonly DomainEvent[]> {
  const started = new Set(
    events.flatMap((each) => (each.type === 'tool_call_started' ? [each.data.call_id] : [])),
  )
  const calls = events
    .flatMap(callsOf)
    .filter((call) => started.has(call.id) && mayRunAhead(work, work.assembly.tools.get(call.name)))
  if (calls.length === 0 || work.signal.aborted) return events
  const results = new Map<string, readonly DomainEvent[]>()
  for (const call of calls) {
    const result = makeCall(work, call)
    work.madeAhead.set(call.id, result)
    void result.then((there) => results.set(call.id, there))
  }
  await new Promise<void>((resolve) => process.nextTick(resolve))
  for (const id of results.keys()) work.madeAhead.delete(id)
  return [...events, ...calls.flatMap(({ id }) => results.get(id) ?? [])]
}

/**
 * A suspect tool is recorded first, so that the journal names it if it kills its process. Every tool is if
 * the switch `pure_tools_ahead` is off.
 */
const mayRunAhead = (work: LoopWork, tool: Tool | undefined): boolean =>
  isOn('pure_tools_ahead') && tool?.pure === true && suspicionsOf(work, tool) === 0

function callsOf(each: DomainEvent) {
  if (each.type === 'assistant_message_added') return each.data.tool_calls
  return each.type === 'tool_call_requested' ? [each.data.call] : []
}
