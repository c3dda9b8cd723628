// Sends spans to a collector: OTLP over HTTP, as JSON, by the exporter of OpenTelemetry's own SDK. The SDK is
// loaded when the first sink is made, so a process without traces does not pay for it. The exporter tries a
// request again by itself for a few seconds; who calls decides what happens after that.
import { messageOf, visible } from '@beaver/core'
import type { TraceSpan } from './trace-span.ts'

/** What became of spans that were sent. */
export type SpansSent =
  /** `left`: what the collector says that it left out of them. Absent: nothing. */
  | { readonly kind: 'taken'; readonly left?: { readonly spans: number; readonly reason: string } }
  /** The collector does not want these spans, and would not want them the next time. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** Where spans go. */
export interface SpanSink {
  /** Never rejects. */
  send(spans: readonly TraceSpan[]): Promise<SpansSent>
  close(): Promise<void>
}

export interface OtlpTarget {
  /**
   * The address of the collector, such as `http://127.0.0.1:4318`; the path `/v1/traces` is added if it has
   * none. `null`: what the variables of OpenTelemetry say (`OTEL_EXPORTER_OTLP_ENDPOINT` and others).
   */
  readonly endpoint: string | null
  /** The version of Beaver. */
  readonly version: string
  /** What all spans say of where they come from, beside `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. */
  readonly resource: Readonly<Record<string, string>>
}

/** The answers of a collector that reads the request and refuses it: bad data, or too much of it. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422])
const timeoutMs = 10_000
const graceMs = 2_000

/** @throws {Error} if a variable of OpenTelemetry has no valid value */
export async function otlpSink({ endpoint, version, resource: of }: OtlpTarget): Promise<SpanSink> {
  const [
    { OTLPTraceExporter },
    { resourceFromAttributes, detectResources, envDetector },
    { createTraceState, SpanKind, SpanStatusCode },
  ] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/api'),
  ])
  // The environment has the last word, as in all programs that use OpenTelemetry.
  const resource = resourceFromAttributes({
    'service.name': 'beaver',
    'service.version': version,
    ...of,
  }).merge(detectResources({ detectors: [envDetector] }))
  const exporter = new OTLPTraceExporter({
    timeoutMillis: timeoutMs,
    ...(endpoint === null ? {} : { url: tracesUrl(endpoint) }),
  })
  // The SDK only writes to its own log what the collector left out, and has no way to ask for it.
  let left: Left | null = null
  const delegate: unknown = Reflect.get(exporter, '_delegate')
  if (typeof delegate === 'object' && delegate !== null)
    Reflect.set(delegate, '_responseHandler', {
      handleResponse: (response: unknown) => void (left = leftOut(response)),
    })
  type Readable = Parameters<typeof exporter.export>[0][number]
  const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER }
  const readable = (span: TraceSpan): Readable => {
    const state = span.traceState === null ? {} : { traceState: createTraceState(span.traceState) }
    const context = { traceId: span.traceId, traceFlags: 1, ...state }
    return {
      name: span.name,
      kind: kinds[span.kind],
      spanContext: () => ({ ...context, spanId: span.spanId }),
      ...(span.parentId === null
        ? {}
        : { parentSpanContext: { ...context, spanId: span.parentId, isRemote: span.parentIsRemote } }),
      startTime: time(span.beganMs),
      endTime: time(span.endedMs),
      duration: time(span.endedMs - span.beganMs),
      status:
        span.error === null
          ? { code: SpanStatusCode.UNSET }
          : { code: SpanStatusCode.ERROR, message: span.error },
      attributes: mutable(span.attributes),
      events: span.events.map(({ name, atMs, attributes }) => ({
        name,
        time: time(atMs),
        attributes: mutable(attributes),
      })),
      links: span.links.map(({ traceId, spanId, attributes }) => ({
        context: { traceId, spanId, traceFlags: 1 },
        attributes: mutable(attributes),
      })),
      ended: true,
      resource,
      instrumentationScope: { name: 'beaver', version },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    }
  }
  return {
    send: (spans) =>
      new Promise((resolve) => {
        // The exporter's own limit does not end an answer that comes in small pieces.
        const late = setTimeout(
          () => resolve({ kind: 'failed', reason: 'the collector does not end its answer' }),
          timeoutMs + graceMs,
        )
        exporter.export(spans.map(readable), ({ error }) => {
          clearTimeout(late)
          const sent: SpansSent = error === undefined ? taken(left) : sentOf(error)
          left = null
          resolve(sent)
        })
      }),
    close: () => exporter.shutdown(),
  }
}

type Left = { readonly spans: number; readonly reason: string }

const taken = (left: Left | null): SpansSent => (left === null ? { kind: 'taken' } : { kind: 'taken', left })

const reasonCharsMax = 300

/** The `partialSuccess` of an answer. Its text is that of a stranger. */
function leftOut(response: unknown): Left | null {
  const { rejectedSpans = 0, errorMessage = '' } =
    (
      response as {
        readonly partialSuccess?: Partial<Record<'rejectedSpans' | 'errorMessage', unknown>>
      } | null
    )?.partialSuccess ?? {}
  const spans = Number(rejectedSpans)
  const said = visible(String(errorMessage).slice(0, reasonCharsMax)).trim()
  if (!(spans > 0)) return null
  return { spans, reason: said === '' ? 'it does not say why' : `it says: ${said}` }
}

/** What the SDK says if the collector wants to be asked later and does not take the spans in time. */
const wantsTime = 'Export failed with retryable status'

function sentOf(error: unknown): SpansSent {
  const status = (error as { readonly code?: unknown } | undefined)?.code
  const message = messageOf(error)
  const reason =
    typeof status === 'number'
      ? `the collector answers with ${status}`
      : message === wantsTime
        ? 'the collector has no room or no connection now (429, 502, 503 or 504)'
        : message
  return { kind: typeof status === 'number' && refusals.has(status) ? 'refused' : 'failed', reason }
}

/** Seconds and nanoseconds. */
const time = (ms: number): [number, number] => [
  Math.floor(ms / 1_000),
  Math.round((ms - Math.floor(ms / 1_000) * 1_000) * 1e6),
]

const mutable = (attributes: TraceSpan['attributes']): Record<string, string | number | boolean | string[]> =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  )

/** The address to which the spans are sent. */
function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint)
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url.href
}
