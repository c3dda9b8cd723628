// What servers of many makers write into their errors: the one place that reads it. What follows from it belongs to provider-failure.ts.
// The codes of OpenAI are only partly those of the servers that copy its interface, and some of these put the only hint into the
// message. So a word is looked for where no status and no exact code tells. A word that is missed gives a less exact failure class.

/** An error as a server sent it. */
export interface ServerError {
  /** Its `code` and `type`, with a space between them. */
  readonly codes: string
  readonly message: string
}

const overflow =
  /context[_ ](length|window|size)|maximum context|(prompt|input|request).{0,40}\b(too long|too large|too many tokens)|too many (input )?tokens|exceeds? the maximum number of tokens/i

/** The conversation does not fit into the model. */
export const saysOverflow = ({ codes, message }: ServerError): boolean => overflow.test(codes) || overflow.test(message)

/** The account has nothing left to spend, which no pause mends. */
export const saysQuotaUsedUp = ({ codes }: Pick<ServerError, 'codes'>): boolean => codes.split(' ').includes('insufficient_quota')

/** The server does not know how to count the tokens of a stream. @param param the parameter it names, if any */
export const saysNoStreamOptions = (param: string, message: string): boolean => /stream_options|include_usage/.test(`${param} ${message}`)

const statuses: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_?limit|too_many_requests/i, 429],
  [/invalid_api_key|authentication|permission/i, 401],
  [/not_found/i, 404],
  [/timeout/i, 408],
  [/server_error|overloaded|unavailable|internal/i, 500],
  [/invalid_request|context_length|content_policy/i, 400],
]

/** The HTTP status that the codes of an error stand for, where it came without one; `null`: they say nothing. */
export const statusSaidBy = ({ codes }: Pick<ServerError, 'codes'>): number | null => statuses.find(([pattern]) => pattern.test(codes))?.[1] ?? null

/** Codes of Node.js, undici and OpenSSL for a connection that did not come about. */
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|(ERR_SSL|ERR_TLS|CERT|UNABLE_TO)_\w+|\w*SELF_SIGNED\w*)$/

/** Whether the error with this code came before there was a connection. */
export const saysNeverConnected = (code: string): boolean => neverConnected.test(code)
