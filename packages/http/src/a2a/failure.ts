// Turns failures into errors of JSON-RPC, with the codes of the A2A specification.
// - JSON-RPC has no codes for a request that the caller may not make, or makes too early. Such a request gets
//   an HTTP error instead (401, 403, 429). In a stream it becomes an internal error whose `reason` names it.
// - A failure that may not occur again has its usual HTTP status (problem.ts). All others have 200, as the
//   JSON-RPC binding requires.
// - An unexpected error is shown without details.
import { A2A_ERROR_CODE, A2AError, toJsonRpcError } from '@a2a-js/sdk/errors'
import type { Problem } from '@beaver/core'
import { HttpProblem, type ProblemDetails, problemOf } from '../problem.ts'

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: readonly object[]
}

export interface RpcFailure {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly error: RpcError
}

/** Whether a failure is answered with an HTTP error instead of JSON-RPC. */
export const isForHttp = (error: unknown): error is HttpProblem =>
  error instanceof HttpProblem && ofHttp.has(error.code)
const ofHttp: ReadonlySet<string> = new Set(['unauthorized', 'not_allowed', 'too_many_requests'])

/** The parameters of a request are not valid. */
export class InvalidParams extends Error {
  readonly problems: readonly Problem[]

  constructor(message: string, problems: readonly Problem[] = []) {
    super(message)
    this.problems = problems
  }
}

/**
 * Turns anything that was thrown into an error of JSON-RPC.
 *
 * @param failed returns the problem of a failure, and reports a defect. Default: `problemOf`
 */
export function rpcFailure(
  error: unknown,
  failed: (error: unknown) => ProblemDetails = (thrown) => problemOf(thrown).details,
): RpcFailure {
  if (error instanceof A2AError) return { status: 200, headers: {}, error: toJsonRpcError(error) }
  if (error instanceof InvalidParams)
    return { status: 200, headers: {}, error: invalidParams(error.message, error.problems) }
  const { code, status, detail, problems } = failed(error)
  if (status < 500 && !isForHttp(error))
    return { status: 200, headers: {}, error: invalidParams(detail, problems) }
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: code.toUpperCase(),
    domain: 'beaver',
  }
  return {
    status,
    headers: problemOf(error).headers,
    error: { code: A2A_ERROR_CODE.INTERNAL_ERROR, message: detail, data: [info] },
  }
}

function invalidParams(message: string, problems: readonly Problem[]): RpcError {
  const fieldViolations = problems.map(({ path, message: description }) => ({ field: path, description }))
  const data =
    problems.length === 0
      ? {}
      : { data: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }] }
  return { code: A2A_ERROR_CODE.INVALID_PARAMS, message, ...data }
}
