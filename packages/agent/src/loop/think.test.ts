import type { ChatMessage } from '@beaver/core'
import { type RunState, startRun } from '@beaver/core/fold'
import { rootSpec } from '@beaver/testing'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compaction } from '../context/compaction.ts'
import { boundedSummary, summaryRequest } from './think.ts'

const exchange = (id: string, text: string): ChatMessage[] => [
  { role: 'assistant', content: null, tool_calls: [{ id, name: 'read', arguments: text }] },
  { role: 'tool', tool_call_id: id, content: text },
]
const run = (...exchanges: ChatMessage[][]): RunState => ({
  ...startRun({ ...rootSpec().start, tools: [] }),
  messages: [
    { role: 'system', content: 'prompt' },
    { role: 'user', content: 'task '.repeat(10_000) },
    ...exchanges.flat(),
  ],
  historyIndex: 1,
})

it('a request for a summary is small, however much is to be summarised, and shows the newest of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300 }), fc.integer({ min: 0, max: 20_000 }), (count, chars) => {
      const exchanges = Array.from({ length: count }, (_, i) => exchange(`r${i}`, 'x'.repeat(chars)))
      const request = summaryRequest(run(...exchanges))
      expect(request?.dropped).toBe(2 * (count - 1))
      const sent = request?.messages.map(({ content }) => content).join('') ?? ''
      expect(sent.length).toBeLessThan(22_000)
      expect(sent).toContain(`result of r${count - 2}:`)
    }),
    { numRuns: 50 },
  )
})

it('nothing is to be summarised but whole exchanges before the newest', () => {
  const summary: ChatMessage = {
    role: 'user',
    content: '<summary_of_earlier_work>\nx\n</summary_of_earlier_work>',
  }
  expect(summaryRequest(run())).toBeNull()
  expect(summaryRequest(run(exchange('a', 'x')))).toBeNull()
  expect(summaryRequest(run([summary], exchange('a', 'x')))).toBeNull()
  expect(summaryRequest(run([summary], exchange('a', 'x'), exchange('b', 'x')))?.dropped).toBe(3)
})

it('a summary has a bound', () =>
  expect(boundedSummary(` ${'x'.repeat(100_000)}`).length).toBeLessThan(8_100))

it('what was left out is not left out again', () => {
  const before = run(exchange('a', 'x'.repeat(600)), exchange('b', 'y'))
  expect(compaction(before, [])).toEqual({
    results: [{ call_id: 'a', tool_name: 'read', chars: 600 }],
    arguments: [{ call_id: 'a', tool_name: 'read', chars: 600 }],
  })
  expect(compaction(run(exchange('a', 'x'.repeat(500)), exchange('b', 'y')), [])).toBeNull()
  expect(
    compaction({ ...before, historyDropped: 2 }, [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'y' },
    ]),
  ).not.toHaveProperty('history_messages_dropped')
})
