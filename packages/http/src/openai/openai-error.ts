// Failures as clients of OpenAI read them: {"error": {"message", "type", "param", "code"}}. A task that
// failed because of its text has that text, too, in the field `unfit_output`: it was paid for. Each failure
// has the status that it has elsewhere (problem.ts), except that a model that does not exist is 404. A client
// of OpenAI sends a request again after 408, 409, 429 and 5xx by itself. Where that could do the work twice,
// the answer forbids it by a header that OpenAI's own clients obey. A task that failed is 422, which no
// client sends again: it would be paid for once more.
import { problemOf, type ProblemCode } from '../problem.ts'

export interface OpenAiFailure {
  readonly status: number
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string
    readonly unfit_output?: string
  }
  readonly headers: Readonly<Record<string, string>>
}

/** A failure that only this interface has. */
export class OpenAiError extends Error {
  readonly failure: OpenAiFailure

  constructor(
    status: number,
    code: string,
    message: string,
    {
      param = null,
      again = true,
      type = typeOf(status),
      unfit,
    }: {
      readonly param?: string | null
      readonly again?: boolean
      readonly type?: string
      readonly unfit?: string | undefined
    } = {},
  ) {
    super(message)
    this.failure = {
      status,
      error: { message, type, param, code, ...(unfit === undefined ? {} : { unfit_output: unfit }) },
      headers: again ? {} : notAgain,
    }
  }
}

/** Whether a path belongs to this interface. */
export const isOpenAi = (path: string): boolean => path === '/v1' || path.startsWith('/v1/')

/** The header by which OpenAI's servers forbid their clients to send a request again. */
const notAgain = { 'x-should-retry': 'false' } as const

const codes: Partial<
  Record<ProblemCode, { readonly code: string; readonly status?: number; readonly param?: string }>
> = {
  unauthorized: { code: 'invalid_api_key' },
  too_many_requests: { code: 'rate_limit_exceeded' },
  unknown_profile: { code: 'model_not_found', status: 404, param: 'model' },
  unknown_workflow: { code: 'model_not_found', status: 404, param: 'model' },
}

/** What the client gets for anything that was thrown. */
export function openAiFailure(error: unknown): OpenAiFailure {
  if (error instanceof OpenAiError) return error.failure
  const { details, headers } = problemOf(error)
  const { code = details.code, status = details.status, param } = codes[details.code] ?? {}
  const [first] = details.problems
  const at = first?.path.startsWith('body.') === true ? paramOf(first.path.slice('body.'.length)) : null
  const more = details.problems.length > 1 ? `, and ${details.problems.length - 1} more` : ''
  const detail =
    code === 'model_not_found' ? `${details.detail} GET /v1/models lists the models.` : details.detail
  const message = at === null ? detail : `The request is not valid: ${at} ${first?.message}${more}.`
  return {
    status,
    error: { message, type: typeOf(status), param: param ?? at, code },
    headers: { ...headers, ...(status === 409 || status === 500 || status === 504 ? notAgain : {}) },
  }
}

/** `messages.0.content` as OpenAI writes it: `messages[0].content`. */
const paramOf = (path: string): string => path.replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]')

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
