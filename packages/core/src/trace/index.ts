export {
  contextIn,
  readTraceContext,
  type SpanKey,
  spanId,
  type TaskTrace,
  taskTrace,
  type TraceContext,
  traceContext,
} from './trace-context.ts'
