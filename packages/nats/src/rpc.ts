// Request and reply over core NATS. The request is JSON; the reply is `{ok: true, result}` or `{ok: false,
// error: {code, message, problems}}`. Every request is answered, except in a flood (request-guard.ts). A
// request rejects at once if nobody serves the subject, or if the line is down or is cut: the client would
// only hold the request back and then discard it.
import {
  BeaverError,
  type ErrorCode,
  errorCodes,
  messageOf,
  type Problem,
  problemsOf,
  problemsText,
} from '@beaver/core'
import {
  headers,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/nats-core'
import { z } from 'zod'
import { readTraceContext, type TraceContext } from '@beaver/core/trace'
import { shownUrl } from './connect.ts'
import { lineOf } from './line.ts'
import { natsFault } from './nats-fault.ts'
import {
  isInbox,
  OpenRequests,
  refused,
  requestBytesMax,
  RequestRate,
  requestsPerSecondMax,
} from './request-guard.ts'

const answer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({
    ok: z.literal(false),
    error: z.object({
      code: z.string(),
      message: z.string(),
      problems: z
        .array(z.object({ path: z.string(), message: z.string(), code: z.string().optional() }))
        .default([]),
    }),
  }),
])

const openMaxDefault = 1_000
/** The longest time of a timer of Node.js. */
const timeoutMsMax = 2 ** 31 - 1

/** The cause if a request was not sent because the line was down, so that no endpoint received it. */
export class NotSent extends Error {}

export interface ServeOptions {
  /** How many requests are handled at a time; others are refused with `timeout`. Default: 1,000. */
  readonly openMax?: number
  /** Requests of one caller in a second. Default: 4,000. `Infinity` only where only daemons publish. */
  readonly perSecondMax?: number
}

/** `trace`: in which trace the caller asks; `null`: it does not say. */
export type HandleRequest = (
  request: unknown,
  subject: string,
  trace: TraceContext | null,
) => Promise<unknown>

/** Serves a subject until `stop`; its servers share the requests. An error of `handle` is the answer. */
export function serve(
  nc: NatsConnection,
  subject: string,
  handle: HandleRequest,
  { openMax = openMaxDefault, perSecondMax = requestsPerSecondMax }: ServeOptions = {},
): { stop(): Promise<void> } {
  const open = new OpenRequests(openMax)
  const rate = new RequestRate(perSecondMax)
  const respond = async (message: Msg, isTooMuch: boolean): Promise<void> => {
    const { reply = '' } = message
    // The caller gets no answer elsewhere, so the request is not carried out (G1 in request-guard.ts).
    if (reply !== '' && !isInbox(reply)) return refused(nc)
    const begun = isTooMuch
      ? `This endpoint handles ${perSecondMax} of one caller in a second`
      : open.begin(message.subject)
    try {
      if (typeof begun === 'string')
        throw new BeaverError('timeout', `There are too many requests at once. Try again later. ${begun}.`)
      const result = await handle(requestOf(nc, message.data), message.subject, traceOf(message))
      const text = JSON.stringify({ ok: true, result: result ?? null })
      const excess = excessOf(nc, text)
      if (excess !== null)
        throw new BeaverError(
          'too_large',
          `The request was carried out, but the answer ${excess}. Read the result in another way: the result of a task is in its events.`,
        )
      message.respond(text)
    } catch (error) {
      message.respond(JSON.stringify({ ok: false, error: describe(error) }))
    } finally {
      if (typeof begun === 'function') begun()
    }
  }
  // An answer that cannot be sent is lost, and the caller times out.
  const callback = (error: Error | null, message: Msg): void => {
    if (error !== null) return
    const taken = rate.take(message.subject)
    if (taken !== 'handle') refused(nc)
    if (taken !== 'drop') respond(message, taken === 'refuse').catch(() => {})
  }
  const subscription = nc.subscribe(subject, { queue: 'beaver', callback })
  return { stop: () => subscription.drain().catch(() => {}) }
}

const traceOf = ({ headers: sent }: Msg): TraceContext | null =>
  sent === undefined ? null : readTraceContext(sent.get('traceparent'), sent.get('tracestate'))

/** Why a text is too large for a message, which also holds headers and a subject; `null` if it fits. */
function excessOf(nc: NatsConnection, text: string): string | null {
  const max = (nc.info?.max_payload ?? 1_048_576) - 1_024
  const bytes = text.length > max / 3 ? Buffer.byteLength(text) : text.length
  return bytes <= max ? null : `has ${bytes} bytes, and the limit of this NATS server is ${max}`
}

function requestOf(nc: NatsConnection, data: Uint8Array): unknown {
  if (data.length === 0) return {}
  if (data.length > requestBytesMax) {
    refused(nc)
    throw new BeaverError(
      'too_large',
      `The request has ${data.length} bytes, and the limit is ${requestBytesMax}. Put long texts and images into files of the workspace, and name their paths.`,
    )
  }
  try {
    return JSON.parse(Buffer.from(data).toString())
  } catch (cause) {
    refused(nc)
    throw new BeaverError('invalid_arguments', `The request is not JSON: ${messageOf(cause)}`, {
      cause,
      problems: [{ path: '', message: 'must be JSON' }],
    })
  }
}

function describe(thrown: unknown): { code: ErrorCode; message: string; problems: readonly Problem[] } {
  // If the NATS server has no leader, the caller may repeat the request; the responder made no error.
  const error = natsFault(thrown)
  if (error instanceof BeaverError && error.code === 'not_allowed' && error !== thrown)
    return {
      code: 'internal',
      message: `The login of the process that answers lacks a right. ${error.message}`,
      problems: [],
    }
  if (error instanceof BeaverError)
    return { code: error.code, message: error.message, problems: error.problems }
  return { code: 'internal', message: messageOf(error), problems: [] }
}

/**
 * Sends a request and waits for the answer. `whom` names the expected responder in error messages. `trace`:
 * the trace in which the caller asks; default: none is said.
 * @throws {BeaverError} `no_daemon` if nobody serves the subject, `unreachable` if the line is down or is
 * cut, `timeout`, `too_large` if the request does not fit into a message, `internal` if the answer has an
 * unknown shape, or the error in the answer
 */
export async function call(
  nc: NatsConnection,
  subject: string,
  request: unknown,
  options: { timeoutMs: number; whom: string; trace?: TraceContext | undefined },
): Promise<unknown> {
  const sent = JSON.stringify(request)
  const excess = excessOf(nc, sent)
  if (excess !== null)
    throw new BeaverError(
      'too_large',
      `The request ${excess}. Send less: put long texts and images into files of the workspace, and name their paths.`,
    )
  const line = lineOf(nc)
  if (line.downMs > 0)
    throw new BeaverError(
      'unreachable',
      `The connection to NATS at ${shownUrl(nc.getServer())} has been down for ${(line.downMs / 1000).toFixed(1)} s.`,
      {
        cause: new NotSent(),
      },
    )
  let message: Msg
  try {
    message = await line.request(subject, Buffer.from(sent), {
      timeout: Math.min(options.timeoutMs, timeoutMsMax),
      ...(options.trace === undefined ? {} : { headers: headersOf(options.trace) }),
    })
  } catch (cause) {
    if (cause instanceof RequestError && cause.isNoResponders()) {
      throw new BeaverError('no_daemon', `No ${options.whom} answers. Start the system with "beaver up".`, {
        cause,
      })
    }
    if (cause instanceof Error && cause.cause instanceof PermissionViolationError)
      throw new BeaverError(
        'not_allowed',
        `This login may not ask the ${options.whom} at ${subject}. "beaver nats-config" shows the permissions of each role.`,
        {
          cause,
        },
      )
    // A closed connection gives up its open requests, which the client also calls a timeout.
    if (cause instanceof TimeoutError && (nc.isClosed() || nc.isDraining()))
      throw new BeaverError('unreachable', `The connection was closed before the ${options.whom} answered.`, {
        cause,
      })
    if (cause instanceof TimeoutError)
      throw new BeaverError(
        'timeout',
        `The ${options.whom} did not answer within ${options.timeoutMs / 1000} s.`,
        { cause },
      )
    throw new BeaverError('unreachable', `The ${options.whom} could not be asked: ${messageOf(cause)}`, {
      cause,
    })
  }
  const parsed = answer.safeParse(parsedAnswer(message))
  if (!parsed.success)
    throw new BeaverError('internal', `The ${options.whom} gave an answer of an unknown shape.`)
  if (parsed.data.ok) return parsed.data.result
  const { code, message: text, problems } = parsed.data.error
  throw new BeaverError(Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'internal', text, {
    problems,
  })
}

function headersOf({ traceparent, tracestate }: TraceContext): ReturnType<typeof headers> {
  const sent = headers()
  sent.set('traceparent', traceparent)
  if (tracestate !== undefined) sent.set('tracestate', tracestate)
  return sent
}

function parsedAnswer(message: Msg): unknown {
  try {
    return message.json()
  } catch {
    return null // Somebody else answers on this subject.
  }
}

/**
 * Parses a request with its schema. The error lists every problem with its path.
 * @throws {BeaverError} `invalid_arguments`
 */
export function parseRequest<T>(schema: z.ZodType<T>, request: unknown, what: string): T {
  const parsed = schema.safeParse(request)
  if (parsed.success) return parsed.data
  const problems = problemsOf(parsed.error.issues, request)
  throw new BeaverError('invalid_arguments', `The ${what} is not valid: ${problemsText(problems)}`, {
    problems,
  })
}
