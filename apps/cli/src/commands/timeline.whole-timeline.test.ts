import type { EventItem, TimelineItem } from '@beaver/contracts'
import { expect, test } from 'vitest'
import { styleOf } from '../text/style.ts'
import { WholeTimeline } from './timeline.ts'

const step = (taskseq: number, text: string): TimelineItem =>
  ({ taskseq, text, offset_ms: taskseq * 1_000, status: 'done' }) as TimelineItem
const event = (taskseq: number, data: object | null): [number, EventItem] => [
  taskseq,
  { taskseq, data, data_bytes: 700_000 } as EventItem,
]
const long = 'word '.repeat(40).trim()

test('long texts stand whole below their sentence, once; JSON is laid out; what is too large is said', () => {
  const steps = [
    step(9, 'It answered.'),
    step(10, 'It called a tool.'),
    step(11, 'It ended.'),
    step(12, 'It is large.'),
  ]
  const events = new Map([
    event(9, { content: long, model: 'm', tool_calls: [] }),
    event(10, { calls: [{ arguments: `{"path":"a","content":${JSON.stringify(long)}}` }] }),
    event(11, { final_output: long, outputs: [{ output: long }] }),
    event(12, null),
  ])
  expect(new WholeTimeline(styleOf(false)).texts(steps, events).flatMap((text) => text.split('\n'))).toEqual([
    '   9        9.0 s  It answered.',
    '                   content',
    `                     ${long}`,
    '  10       10.0 s  It called a tool.',
    '                   calls.0.arguments',
    '                     {',
    '                       "path": "a",',
    `                       "content": "${long}"`,
    '                     }',
    '  11       11.0 s  It ended.',
    '                   final_output, outputs.0.output: the same text as in 9',
    '  12       12.0 s  It is large.',
    '                   Its data of 700 kB is too large for an answer: beaver export has it.',
  ])
})
