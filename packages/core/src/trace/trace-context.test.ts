import { expect, test } from 'vitest'
import { sessionId, taskId } from '../ids.ts'
import {
  contextIn,
  outwardContext,
  outwardTrace,
  readTraceContext,
  spanId,
  taskTrace,
} from './trace-context.ts'

const log = { tenant: 'default', session: sessionId.parse('s'), task: taskId.parse('t') }
const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test.each([
  ['no header', undefined],
  ['an empty one', ''],
  ['capital letters', parent.toUpperCase()],
  ['a trace of zeros', '00-00000000000000000000000000000000-b7ad6b7169203331-01'],
  ['a span of zeros', '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
  ['more fields in this version', `${parent}-more`],
  ['the version that is forbidden', parent.replace(/^00/, 'ff')],
  ['a version that is no number', parent.replace(/^00/, 'zz')],
  ['a short one', parent.slice(0, -1)],
  ['a line break inside', parent.replace('-', '\n-')],
])('a traceparent that is none counts as none: %s', (_, header) => {
  expect(readTraceContext(header)).toBeNull()
})

test('a later version is read as far as this one knows it', () => {
  expect(readTraceContext(`${parent.replace(/^00/, '01')}-what-ever`)).toEqual({ traceparent: parent })
})

test('a tracestate that no header can have is left out', () => {
  expect(readTraceContext(parent, 'a=1,b=2')).toEqual({ traceparent: parent, tracestate: 'a=1,b=2' })
  expect(readTraceContext(parent, 'a=1\r\nx: y')).toEqual({ traceparent: parent })
  expect(readTraceContext(parent, 'a'.repeat(513))).toEqual({ traceparent: parent })
})

test('the ids of a task are the same in each process, and differ between tasks, tenants and systems', () => {
  const trace = taskTrace('main', log)
  expect(trace.traceId).toBe('ad597f8de4f9590ec9b81f680dae49e9')
  expect(spanId(trace, { kind: 'call', run: 'r', seq: 7, call: 'c' })).toBe('551306482c60b6ff')
  const others = [
    taskTrace('other', log),
    taskTrace('main', { ...log, tenant: 'acme' }),
    taskTrace('main', { ...log, task: taskId.parse('t2') }),
  ]
  expect(new Set([trace, ...others].map(({ traceId }) => traceId)).size).toBe(4)
  expect(new Set([trace, ...others].map((each) => spanId(each, { kind: 'task' }))).size).toBe(4)
})

test('two tasks in one trace of their submitter have spans of their own', () => {
  const [one, two] = ['a', 'b'].map((task) =>
    taskTrace('main', { ...log, task: taskId.parse(task) }, { traceparent: parent }),
  )
  expect(one?.traceId).toBe(two?.traceId)
  expect(spanId(one as never, { kind: 'task' })).not.toBe(spanId(two as never, { kind: 'task' }))
})

test('what is called gets the trace, the span and the decision of the submitter', () => {
  const trace = taskTrace('main', log, { traceparent: parent.replace(/01$/, '00'), tracestate: 'a=1' })
  const { traceparent, tracestate } = contextIn(trace, { kind: 'run', run: 'r' })
  expect(traceparent).toBe(
    `00-0af7651916cd43dd8448eb211c80319c-${spanId(trace, { kind: 'run', run: 'r' })}-00`,
  )
  expect(tracestate).toBe('a=1')
})

test('without spans, what is called gets the context of the submitter as it came, or none', () => {
  const submitted = { traceparent: parent, tracestate: 'a=1' }
  expect(outwardTrace(log, submitted, null)).toBe(submitted)
  expect(outwardTrace(log, null, null)).toBeNull()
  expect(outwardContext(submitted, { kind: 'task' })).toBe(submitted)
})

test('the share of the tasks that have spans holds for what is called, and the submitter comes first', () => {
  const flagOf = (submitted: { traceparent: string } | null, ratio: number) =>
    outwardContext(outwardTrace(log, submitted, { namespace: 'main', ratio }) as never, {
      kind: 'task',
    }).traceparent.slice(-2)
  expect([flagOf(null, 0), flagOf(null, 1)]).toEqual(['00', '01'])
  expect(flagOf({ traceparent: parent }, 0)).toBe('01')
  expect(flagOf({ traceparent: parent.replace(/01$/, '00') }, 1)).toBe('00')
})
