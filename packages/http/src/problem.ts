// Problem details (RFC 9457): the answer to a request that fails. Each error code of Beaver has one HTTP
// status. A code that is not in the table is a defect of Beaver, with the status 500. No answer has a stack
// trace, and the answer for an internal error has no details.
import { BeaverError, type ErrorCode, errorCodes, type Problem } from '@beaver/core'

/** A failure as JSON, with the media type `application/problem+json`. */
export interface ProblemDetails {
  /** `urn:beaver:error:<code>`. */
  readonly type: string
  /** The meaning of the code. */
  readonly title: string
  readonly status: number
  /** What happened in this case, and what the caller can do. */
  readonly detail: string
  /** The code, for programs. */
  readonly code: ProblemCode
  /**
   * The faults of the request, each with its place in the body, the path or the query string. Empty for other
   * failures.
   */
  readonly problems: readonly Problem[]
}

/** Failures of HTTP itself, which have no code of Beaver. */
const ofHttp = {
  unauthorized: { status: 401, title: 'The request has no valid token' },
  method_not_allowed: { status: 405, title: 'The resource does not have this method' },
  not_acceptable: { status: 406, title: 'The resource has no representation of the accepted types' },
  unsupported_media_type: { status: 415, title: 'The body is not of a type that the resource reads' },
  too_many_connections: { status: 503, title: 'There is no free connection' },
  too_many_requests: { status: 429, title: 'The caller has sent too many requests' },
} as const

export type ProblemCode = ErrorCode | keyof typeof ofHttp

const statuses: Partial<Record<ErrorCode, number>> = {
  invalid_arguments: 400,
  not_allowed: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  workspace_missing: 422,
  workspace_refused: 422,
  unknown_skill: 422,
  unknown_workflow: 422,
  unknown_profile: 422,
  unknown_tool: 422,
  unreachable: 503,
  no_daemon: 503,
  server_too_old: 503,
  server_missing: 503,
  package_missing: 503,
  start_failed: 503,
  stream_missing: 503,
  journal_changed: 503,
  wrong_state: 503,
  timeout: 504,
}

/** A failure of HTTP itself. */
export class HttpProblem extends Error {
  readonly code: ProblemCode
  readonly problems: readonly Problem[]
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    detail: string,
    {
      problems = [],
      headers = {},
    }: { readonly problems?: readonly Problem[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail)
    this.code = code
    this.problems = problems
    this.headers = headers
  }
}

/** The `Retry-After` of an answer with the status 503, in seconds. */
const retryAfterS = 2

/** The problem, and the headers of the answer, for anything that was thrown. */
export function problemOf(error: unknown): {
  readonly details: ProblemDetails
  readonly headers: Readonly<Record<string, string>>
} {
  if (error instanceof HttpProblem)
    return { details: detailsOf(error.code, error.message, error.problems), headers: error.headers }
  if (!(error instanceof BeaverError) || error.code === 'internal')
    return {
      details: detailsOf('internal', 'Something went wrong inside of Beaver. Its log has the reason.', []),
      headers: {},
    }
  const details = detailsOf(error.code, error.message, error.problems)
  return { details, headers: details.status === 503 ? { 'retry-after': String(retryAfterS) } : {} }
}

function detailsOf(code: ProblemCode, detail: string, problems: readonly Problem[]): ProblemDetails {
  const { status, title } = code in ofHttp ? ofHttp[code as keyof typeof ofHttp] : ofCode(code as ErrorCode)
  return { type: `urn:beaver:error:${code}`, title, status, detail, code, problems }
}

const ofCode = (code: ErrorCode): { status: number; title: string } => ({
  status: statuses[code] ?? 500,
  title: errorCodes[code].meaning,
})
