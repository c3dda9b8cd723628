import type { TraceContext } from '@beaver/core/trace'

/**
 * An environment with the trace of a call, by the convention of OpenTelemetry for programs. Without a trace it
 * has none, also if this process was started with one.
 *
 * @example
 * const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
 * withTrace({ LANG: 'C' }, trace) // => { LANG: 'C', TRACEPARENT: trace.traceparent }
 * withTrace({ LANG: 'C', TRACEPARENT: 'of somebody else' }, undefined) // => { LANG: 'C' }
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
