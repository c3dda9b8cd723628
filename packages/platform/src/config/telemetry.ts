// `telemetry` of the configuration: what leaves Beaver for the tools of operators.
import { z } from 'zod'

export const telemetry = z
  .strictObject({
    /** Spans of tasks, in the form of OpenTelemetry, which the projector sends. */
    traces: z
      .strictObject({
        /**
         * The address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`. Default: what
         * the variables of OpenTelemetry say; without them, no spans are made.
         */
        endpoint: z
          .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
          .optional(),
        /** The share of the tasks that have spans, if who submits them leaves it to Beaver. */
        ratio: z.number().min(0).max(1).default(1),
        /** Whether spans have the texts of answers, of calls of tools and of their results. */
        content: z.boolean().default(false),
        /** Whether models, MCP servers and tools are told of the trace to which a call belongs. */
        propagate: z.boolean().default(true),
      })
      .prefault({}),
  })
  .prefault({})

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Whether the trace of a task is told to those who are called for it. The file and the variable of
 * OpenTelemetry can each switch it off.
 *
 * @example
 * propagates({ propagate: true }, {}) // => true
 * propagates({ propagate: true }, { OTEL_PROPAGATORS: 'none' }) // => false
 */
export const propagates = (
  { propagate }: Pick<z.output<typeof telemetry>['traces'], 'propagate'>,
  env: Environment,
): boolean => propagate && env['OTEL_PROPAGATORS'] !== 'none'

/**
 * Where the spans go. `endpoint` is `null` if the variables of OpenTelemetry say it. `null`: nowhere.
 *
 * @example
 * tracesOf({ ratio: 1, content: false }, {}) // => null
 * tracesOf({ ratio: 1, content: false }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }) // => { endpoint: null, ratio: 1, content: false }
 */
export function tracesOf(
  { endpoint, ratio, content }: Omit<z.output<typeof telemetry>['traces'], 'propagate'>,
  env: Environment,
): { readonly endpoint: string | null; readonly ratio: number; readonly content: boolean } | null {
  const isOff = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none'
  const named = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT']
  if (isOff || (endpoint === undefined && !named)) return null
  return { endpoint: endpoint ?? null, ratio, content }
}

/** The values of the headers that the variables of OpenTelemetry give to a collector: keys, mostly. */
export const otlpHeaderValues = (env: Environment): readonly (readonly [string, string])[] =>
  ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].flatMap((name) =>
    (env[name] ?? '').split(',').flatMap((pair) => {
      const value = decoded(pair.slice(pair.indexOf('=') + 1).trim())
      return pair.includes('=') && value !== '' ? [[name, value] as const] : []
    }),
  )

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
