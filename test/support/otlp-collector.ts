// A collector of traces: a server that takes OTLP over HTTP as JSON, and reads it by the names of the protocol
// alone. What does not fit is refused with 400, as a collector does it. Source: opentelemetry-proto 1.x,
// trace/v1, in its JSON form.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const int = z.union([z.int(), z.string().regex(/^-?\d+$/)])
const attributes = z.array(
  z.strictObject({
    key: z.string().min(1),
    value: z.union([
      z.strictObject({ stringValue: z.string() }),
      z.strictObject({ intValue: int }),
      z.strictObject({ doubleValue: z.number() }),
      z.strictObject({ boolValue: z.boolean() }),
      z.strictObject({
        arrayValue: z.strictObject({ values: z.array(z.object({ stringValue: z.string() })) }),
      }),
    ]),
  }),
)
const traceId = z.string().regex(/^(?!0+$)[\da-f]{32}$/)
const spanId = z.string().regex(/^(?!0+$)[\da-f]{16}$/)
const nanos = z.string().regex(/^[1-9]\d{18}$/)
const count = z.int().nonnegative().optional()
const span = z.strictObject({
  traceId,
  spanId,
  parentSpanId: spanId.optional(),
  traceState: z.string().optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  droppedAttributesCount: count,
  events: z.array(
    z.strictObject({ timeUnixNano: nanos, name: z.string(), attributes, droppedAttributesCount: count }),
  ),
  droppedEventsCount: count,
  links: z.array(
    z.strictObject({
      traceId,
      spanId,
      traceState: z.string().optional(),
      attributes,
      droppedAttributesCount: count,
      flags: z.int().optional(),
    }),
  ),
  droppedLinksCount: count,
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
  flags: z.int().optional(),
})
const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes, droppedAttributesCount: count }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string().optional() }),
          spans: z.array(span),
        }),
      ),
    }),
  ),
})

export type CollectedSpan = z.infer<typeof span>

export interface OtlpCollector extends AsyncDisposable {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** What the resources of the spans say, in the order in which they came. */
  readonly resources: readonly Readonly<Record<string, unknown>>[]
  /** What was refused, and why. */
  readonly faults: readonly string[]
  /** The headers of the requests. */
  readonly headers: readonly NodeJS.Dict<string | string[]>[]
  /** From now on, each request gets this status and nothing is kept. `null`: as usual. */
  fail(status: number | null): void
  /** From now on, each answer says that these spans were left out. `null`: as usual. */
  leaveOut(partialSuccess: object | null): void
}

export async function otlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const resources: Record<string, unknown>[] = []
  const faults: string[] = []
  const headers: NodeJS.Dict<string | string[]>[] = []
  let failing: number | null = null
  let partialSuccess: object | null = null
  const server = createServer(async (incoming, response) => {
    let body = ''
    try {
      for await (const chunk of incoming) body += String(chunk)
    } catch {
      return // The sender was killed.
    }
    headers.push(incoming.headers)
    const answer = (status: number): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(status === 200 && partialSuccess !== null ? { partialSuccess } : {}))
    if (failing !== null) return answer(failing)
    const read =
      incoming.method === 'POST' && incoming.url === '/v1/traces' ? request.safeParse(JSON.parse(body)) : null
    if (read?.success !== true) {
      faults.push(`${incoming.method} ${incoming.url}: ${read === null ? 'not found' : read.error.message}`)
      return answer(400)
    }
    for (const { resource, scopeSpans } of read.data.resourceSpans) {
      resources.push(attributesOf(resource.attributes))
      for (const scope of scopeSpans) spans.push(...scope.spans)
    }
    answer(200)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    resources,
    faults,
    headers,
    fail: (status) => void (failing = status),
    leaveOut: (next) => void (partialSuccess = next),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The attributes of a span as an object. */
export const attributesOf = (all: CollectedSpan['attributes']): Record<string, unknown> =>
  Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]]))

/** The names of spans as a tree, in the order in which they began. */
export function spanTree(spans: readonly CollectedSpan[], parent?: string, depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .toSorted((x, y) => Number(BigInt(x.startTimeUnixNano) - BigInt(y.startTimeUnixNano)))
    .flatMap((each) => [
      `${'  '.repeat(depth)}${each.name}${each.status.code === 2 ? ` (${each.status.message})` : ''}`,
      ...spanTree(spans, each.spanId, depth + 1),
    ])
}
