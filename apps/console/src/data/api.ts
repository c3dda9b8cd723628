// Requests to the gateway that served this page. Types come from the contracts, so that a page cannot read
// a field that no answer has. A refusal is an `ApiProblem`, with what happened and what to do.
import type { QueryInput, QueryOutput } from '@beaver/contracts'
import { pathOf, queryPaths } from './paths.ts'
import { token } from './session.ts'

type Asked = keyof typeof queryPaths

/** A fault of a request, with the dotted path of the field, such as `body.budget.usd`. */
export interface FaultAt {
  readonly path: string
  readonly message: string
}

/** Why a request did not succeed. The fields are those of a problem (RFC 9457). */
export class ApiProblem extends Error {
  /** 0: the gateway did not answer. */
  readonly status: number
  readonly code: string
  /** The faults of the request, each with its place in what was sent. */
  readonly problems: readonly FaultAt[]

  constructor(status: number, code: string, detail: string, problems: readonly FaultAt[] = []) {
    super(detail)
    this.status = status
    this.code = code
    this.problems = problems
  }
}

/** Called when the gateway no longer accepts the token. */
let onSignedOut: (reason: string) => void = () => {}
export const whenSignedOut = (listener: (reason: string) => void): void => void (onSignedOut = listener)

/**
 * Sends one request and reads its JSON.
 *
 * @throws {ApiProblem} for every answer that is not a success, and if there is no answer
 */
export async function request<Answer>(
  path: string,
  init: {
    readonly method?: string
    readonly body?: unknown
    readonly headers?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
    /** Sends no token. Default: it is sent. */
    readonly isAnonymous?: true
  } = {},
): Promise<Answer> {
  const sent = init.isAnonymous === true ? null : token.read()
  const headers = {
    ...init.headers,
    accept: 'application/json',
    ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(sent === null ? {} : { authorization: `Bearer ${sent}` }),
  }
  let answer: Response
  try {
    answer = await fetch(path, {
      method: init.method ?? 'GET',
      headers,
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
      ...(init.signal === undefined ? {} : { signal: init.signal }),
      credentials: 'omit',
      redirect: 'error',
    })
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new ApiProblem(
      0,
      'unreachable',
      'The gateway does not answer. Look whether "beaver up" still runs; the page asks again by itself.',
    )
  }
  if (answer.ok) return (await answer.json()) as Answer
  const problem = await problemOf(answer)
  if (problem.status === 401 && sent !== null && sent === token.read()) {
    token.drop()
    onSignedOut('Your session has ended.')
  }
  throw problem
}

async function problemOf(answer: Response): Promise<ApiProblem> {
  try {
    const { code, detail, problems } = (await answer.json()) as Pick<ApiProblem, 'code' | 'problems'> & {
      detail: string
    }
    return new ApiProblem(answer.status, code, detail, problems)
  } catch {
    return new ApiProblem(answer.status, 'internal', `The gateway answered with ${answer.status}.`)
  }
}

/** Asks the read model. @throws {ApiProblem} */
export const ask = <Name extends Asked>(
  name: Name,
  input: QueryInput<Name>,
  signal?: AbortSignal,
): Promise<QueryOutput<Name>> =>
  request<QueryOutput<Name>>(pathOf(queryPaths[name], input as Readonly<Record<string, unknown>>), {
    ...(signal === undefined ? {} : { signal }),
  })
