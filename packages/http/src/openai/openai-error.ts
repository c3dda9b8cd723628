// Turns failures into OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
// - If a task failed because its text does not fit, the error has the text as `unfit_output`, because the
//   user has paid for it.
// - Each failure has its usual HTTP status (problem.ts), except that an unknown model is 404.
// - OpenAI's clients repeat a request by themselves after 408, 409, 429 and 5xx. Where this could do the work
//   twice, the answer has a header that forbids it.
// - A budget that is used up is 402 `insufficient_quota`. OpenAI has 429 for it, which many clients send again
//   whatever a header forbids, and each new task would spend its budget again.
// - A task that failed for another reason is 422, which no client repeats, because each repetition costs again.
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

/**
 * A failure that only OpenAI's interfaces have. `again`: whether the client may repeat the request. Default:
 * true. `unfit`: the text because of which a task failed.
 */
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

/** The code by which OpenAI's clients know that somebody must give more before they ask again. */
export const quotaCode = 'insufficient_quota'

/** The failure of a request whose budget is used up. */
export const quotaError = (message: string): OpenAiError =>
  new OpenAiError(402, quotaCode, message, { again: false, type: quotaCode })

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

/** The answer for anything that was thrown. */
export function openAiFailure(error: unknown): OpenAiFailure {
  if (error instanceof OpenAiError) return error.failure
  const { details, headers } = problemOf(error)
  const { code = details.code, status = details.status, param } = codes[details.code] ?? {}
  const [first] = details.problems
  const at = first?.path.startsWith('body.') === true ? paramOf(first.path.slice('body.'.length)) : null
  const tool = /^client_tools\.(\d+)/.exec(first?.path ?? '')?.[1]
  const more = details.problems.length > 1 ? `, and ${details.problems.length - 1} more` : ''
  const detail =
    code === 'model_not_found' ? `${details.detail} GET /v1/models lists the models.` : details.detail
  const message = at === null ? detail : `The request is not valid: ${at} ${first?.message}${more}.`
  return {
    status,
    error: {
      message,
      type: typeOf(status),
      param: param ?? at ?? (tool === undefined ? null : `tools[${tool}]`),
      code,
    },
    headers: { ...headers, ...(status === 409 || status === 500 || status === 504 ? notAgain : {}) },
  }
}

/** `messages.0.content` as OpenAI writes it: `messages[0].content`. */
const paramOf = (path: string): string => path.replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]')

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
