import { expect, it } from 'vitest'
import { eventsOfCall } from './call-events.ts'

const event = (type: string, data: Record<string, unknown> | null, run_id = 'r') =>
  ({ type, run_id, data }) as Parameters<typeof eventsOfCall>[0][number]
const asked = { runId: 'r', callId: 'c1' }
const nothing = { arguments: null, result: null, preview: null, decision: null, changed: null }

it('gathers what was asked, decided, changed and returned for one of two calls', () =>
  expect(
    eventsOfCall(
      [
        event('assistant_message_added', {
          tool_calls: [
            { id: 'c0', name: 'echo', arguments: '{"text":"other"}' },
            { id: 'c1', name: 'write_file', arguments: '{"path":"a"}' },
          ],
        }),
        event('approval_requested', {
          call_id: 'c1',
          preview: { path: 'a', diff: '--- a\n+++ a\n@@ -1 +1 @@\n', diff_lines_left_out: 3 },
        }),
        event('approval_granted', { call_id: 'c1', by: 'ann', arguments: '{"path":"b"}' }),
        event('tool_result_recorded', { call_id: 'c0', content: 'other' }),
        event('tool_result_recorded', { call_id: 'c1', content: 'written' }),
        event('tool_result_recorded', { call_id: 'c1', content: 'of another run' }, 'r2'),
      ],
      asked,
    ),
  ).toEqual({
    arguments: '{"path":"a"}',
    result: 'written',
    preview: { path: 'a', diff: '--- a\n+++ a\n@@ -1 +1 @@\n', leftOut: 3 },
    decision: { by: 'ann', isGranted: true, reason: null },
    changed: '{"path":"b"}',
  }))

it('has the reason of a denial, and the call of a graph', () =>
  expect(
    eventsOfCall(
      [
        event('tool_call_requested', { call: { id: 'c1', arguments: '{}' } }),
        event('approval_denied', { call_id: 'c1', by: 'ben', reason: 'too much' }),
      ],
      asked,
    ),
  ).toEqual({ ...nothing, arguments: '{}', decision: { by: 'ben', isGranted: false, reason: 'too much' } }))

it('reads nothing of an event that has lost its data', () =>
  expect(eventsOfCall([event('tool_result_recorded', null)], asked)).toEqual(nothing))
