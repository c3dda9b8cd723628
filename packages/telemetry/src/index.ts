// What leaves Beaver for the tools of operators: traces in the form of OpenTelemetry.
export { names as spanNames } from './traces/names.ts'
export { otlpSink, type OtlpTarget, type SpansSent, type SpanSink } from './traces/otlp.ts'
export { TaskSpans, type TaskSpansParts, type TracedEvent } from './traces/task-spans.ts'
export type { TraceSpan } from './traces/trace-span.ts'
