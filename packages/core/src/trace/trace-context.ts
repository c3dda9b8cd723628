// The trace of a task: the ids of its spans, and the context in which it was submitted. The ids are hashes of
// what is known when the work begins. So a daemon can hand the id of a span to a tool before the span exists,
// and a span that is made again, after a crash for example, has the same id.
// Source of the text form: W3C Trace Context, level 2.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { LogId } from '../ids.ts'

/** The context in which somebody submitted a task, as the headers of W3C Trace Context say it. */
export const traceContext = z.object({
  traceparent: z
    .string()
    .regex(/^00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/)
    .describe('The header traceparent: the trace, and the span in which the task was submitted.'),
  tracestate: z
    .string()
    .max(512)
    .optional()
    .describe('The header tracestate: what other systems keep in a trace. Absent: there was none.'),
})
export type TraceContext = z.infer<typeof traceContext>

/** Where the spans of a task belong. */
export interface TaskTrace {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** The span in which the task was submitted: 16 hexadecimal digits. `null`: nobody said one. */
  readonly parentId: string | null
  /** Whether the submitter asked for spans, or left it to Beaver. */
  readonly sampled: boolean
  readonly state: string | null
  /** What the ids of the spans of this task are made of. */
  readonly seed: string
}

const [traceDigits, spanDigits] = [32, 16]
const sampledFlag = 1

const digest = (parts: readonly (string | number)[], digits: number): string => {
  const hash = createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, digits)
  // An id of zeros alone is no id.
  return /^0+$/.test(hash) ? `${hash.slice(1)}1` : hash
}

/**
 * Reads the headers of W3C Trace Context.
 *
 * @returns `null` if there is no header, or if it has no valid form: the specification wants that such a one
 *   counts as none
 * @example
 * readTraceContext('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')?.tracestate // => undefined
 * readTraceContext('00-00000000000000000000000000000000-b7ad6b7169203331-01') // => null
 */
export function readTraceContext(
  traceparent: string | null | undefined,
  tracestate?: string | null,
): TraceContext | null {
  const text = traceparent?.trim() ?? ''
  const [version = '', traceId = '', parentId = '', flags = '', ...more] = text.split('-')
  const isKnown = version === '00' ? more.length === 0 : /^[\da-f]{2}$/.test(version) && version !== 'ff'
  // A later version may have more fields, which this one does not know.
  const known = ['00', traceId, parentId, flags].join('-')
  if (!isKnown || !traceContext.shape.traceparent.safeParse(known).success) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return null
  const state = tracestate?.trim() ?? ''
  return {
    traceparent: known,
    ...(state === '' || state.length > 512 || !/^[\x20-\x7e]*$/.test(state) ? {} : { tracestate: state }),
  }
}

/**
 * The trace of a task.
 *
 * @param namespace of the journal: tasks of two systems never share a trace by chance
 * @param submitted the context in which the task was submitted. Default: none, and the trace is the task's own
 * @example
 * const submitted = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' }
 * taskTrace('main', log, submitted).traceId // => '0af7651916cd43dd8448eb211c80319c'
 * taskTrace('main', log, submitted).sampled // => false
 * taskTrace('main', log).parentId // => null
 */
export function taskTrace(
  namespace: string,
  { tenant, session, task }: LogId,
  submitted: TraceContext | null = null,
): TaskTrace {
  const seed = [namespace, tenant, session, task].join('\0')
  const [, traceId = digest(['trace of beaver', seed], traceDigits), parentId = null, flags = '01'] =
    submitted?.traceparent.split('-') ?? []
  return {
    traceId,
    parentId,
    sampled: (Number.parseInt(flags, 16) & sampledFlag) === sampledFlag,
    state: submitted?.tracestate ?? null,
    seed,
  }
}

/**
 * The trace with the decision of Beaver, if its submitter leaves it to Beaver. It follows from the id of the
 * trace, so each process decides the same, also after a restart.
 *
 * @param ratio the share of the tasks that have spans: 0 to 1
 * @example
 * sampledTrace(taskTrace('main', log), 0).sampled // => false
 * sampledTrace(taskTrace('main', log), 1).sampled // => true
 */
export function sampledTrace(trace: TaskTrace, ratio: number): TaskTrace {
  const isOwn = trace.parentId === null
  const share = Number.parseInt(trace.traceId.slice(-8), 16) / 2 ** 32
  return isOwn && share >= ratio ? { ...trace, sampled: false } : trace
}

/** What a span of a task stands for. `seq`: the place of the answer in the log that asked for the call. */
export type SpanKey =
  | { readonly kind: 'task' }
  | { readonly kind: 'run'; readonly run: string }
  | { readonly kind: 'team'; readonly team: string }
  | { readonly kind: 'call'; readonly run: string; readonly seq: number; readonly call: string }
  /** `number`: how many calls of models of the run had an outcome before. */
  | { readonly kind: 'model'; readonly run: string; readonly number: number }

/**
 * The id of a span: 16 hexadecimal digits.
 *
 * @example
 * const trace = taskTrace('main', log)
 * spanId(trace, { kind: 'run', run: 'r1' }) === spanId(trace, { kind: 'run', run: 'r1' }) // => true
 * spanId(trace, { kind: 'run', run: 'r1' }) === spanId(trace, { kind: 'task' }) // => false
 */
export const spanId = ({ seed }: Pick<TaskTrace, 'seed'>, key: SpanKey): string =>
  digest(['span of beaver', seed, key.kind, ...partsOf(key)], spanDigits)

function partsOf(key: SpanKey): readonly (string | number)[] {
  switch (key.kind) {
    case 'task':
      return []
    case 'run':
      return [key.run]
    case 'team':
      return [key.team]
    case 'call':
      return [key.run, key.seq, key.call]
    case 'model':
      return [key.run, key.number]
    default:
      return key satisfies never
  }
}

/**
 * The headers of W3C Trace Context for a request that is made inside of a span.
 *
 * @example
 * const { traceparent } = contextIn(taskTrace('main', log), { kind: 'task' })
 * traceparent.length // => 55
 */
export const contextIn = (trace: TaskTrace, key: SpanKey): TraceContext => ({
  traceparent: ['00', trace.traceId, spanId(trace, key), trace.sampled ? '01' : '00'].join('-'),
  ...(trace.state === null ? {} : { tracestate: trace.state }),
})

/**
 * What tools, MCP servers and models are told of the trace of a task: the span from which they are called, or,
 * if nobody makes spans, the context of the submitter as it came.
 */
export type OutwardTrace = TaskTrace | TraceContext

/**
 * What a daemon tells of a task.
 *
 * @param spans how spans of tasks are made. `null`: nobody makes them
 * @returns `null` if there is nothing to tell: a trace in which nothing will ever be would only mislead
 * @example
 * outwardTrace(log, null, null) // => null
 * const submitted = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
 * outwardTrace(log, submitted, null) // => submitted
 */
export function outwardTrace(
  log: LogId,
  submitted: TraceContext | null,
  spans: { readonly namespace: string; readonly ratio: number } | null,
): OutwardTrace | null {
  return spans === null ? submitted : sampledTrace(taskTrace(spans.namespace, log, submitted), spans.ratio)
}

/**
 * The headers for a request that is made inside of a span.
 *
 * @example
 * const submitted = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
 * outwardContext(submitted, { kind: 'task' }) // => submitted
 */
export const outwardContext = (trace: OutwardTrace, key: SpanKey): TraceContext =>
  'traceparent' in trace ? trace : contextIn(trace, key)

/**
 * The context as headers of HTTP, or as fields of `_meta` in MCP.
 *
 * @example
 * traceHeaders(undefined) // => {}
 */
export const traceHeaders = (trace: TraceContext | undefined): Record<string, string> =>
  trace === undefined
    ? {}
    : {
        traceparent: trace.traceparent,
        ...(trace.tracestate === undefined ? {} : { tracestate: trace.tracestate }),
      }
