// A span as plain data, before anything of OpenTelemetry knows it.

export type AttributeValue = string | number | boolean | readonly string[]
export type Attributes = Readonly<Record<string, AttributeValue>>

/** Something that happened at one moment of a span. */
export interface SpanEvent {
  readonly name: string
  readonly atMs: number
  readonly attributes: Attributes
}

export interface TraceSpan {
  readonly traceId: string
  readonly spanId: string
  /** `null`: the span is the first of its trace. */
  readonly parentId: string | null
  /** Whether the parent is a span of the submitter. */
  readonly parentIsRemote: boolean
  readonly traceState: string | null
  readonly name: string
  readonly kind: 'internal' | 'client' | 'consumer'
  readonly beganMs: number
  readonly endedMs: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  readonly links: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly attributes: Attributes
  }[]
  /** What failed, as a class or a code. `null`: nothing failed. */
  readonly error: string | null
}
