// Spans of tasks, in the form of OpenTelemetry.
export { names as spanNames } from './names.ts'
export { otlpSink, type OtlpTarget, type SpansSent, type SpanSink } from './otlp.ts'
export { isTraced, TaskSpans, type TaskSpansParts, type TracedEvent } from './task-spans.ts'
export type { TraceSpan } from './trace-span.ts'
