import type { TraceContext } from '@beaver/core/trace'

/**
 * An environment with the trace of a call, by the convention of OpenTelemetry for programs. Without a trace it
 * has none, also if this process was started with one.
 */
export function withTrace(
  { TRACEPARENT: _parent, TRACESTATE: _state, ...env }: Readonly<Record<string, string>>,
  trace: TraceContext | undefined,
): Record<string, string> {
  return {
    ...env,
    ...(trace === undefined ? {} : { TRACEPARENT: trace.traceparent }),
    ...(trace?.tracestate === undefined ? {} : { TRACESTATE: trace.tracestate }),
  }
}
