// The words in errors from the servers of many makers. Only this file reads them; what follows from them is decided in provider-failure.ts.
// Servers that copy OpenAI's interface use only some of its codes, and some put the only hint into the message. So a word is looked for if
// neither a status nor an exact code tells the cause. If a word is missed, the failure class is less exact.

import type { ServerError } from './server-error.ts'

type Words = Pick<ServerError, 'codes' | 'message'>

/** Each line: what servers say (packages/testing/src/overflow-wordings.ts has them whole, with the threads where they were reported). */
const overflow = [
  /context[_ ](length|window|size|limit)/,
  /max(imum)? (context|prompt|model|allowed|input) length/,
  /(prompt|input|model).{0,20} max length/,
  /max_seq_len/,
  /range of input length/,
  /reduce the length of (the|your) (messages|prompt|input)/,
  /exceeded model token limit/,
  /token count .{0,40}exceeds/,
  /`inputs` (tokens \+|must have less than)/,
  /(prompt|input|request)\b(?!.{0,40}image).{0,40}\b(too long|too large|too many tokens)/,
  /too many (input )?tokens/,
  /exceeds? the maximum number of tokens/,
]

/** Whether the conversation does not fit into the model. */
export const saysOverflow = ({ codes, message }: Words): boolean => {
  const said = `${codes} ${message}`.toLowerCase()
  return overflow.some((words) => words.test(said))
}

/** The same, from a server that says at the same time that it is broken. Only the plainest words count. */
export const saysOverflowPlainly = ({ codes, message }: Words): boolean => overflow[0]?.test(`${codes} ${message}`.toLowerCase()) === true

/** Whether the account has no money left. No pause helps against this. */
export const saysQuotaUsedUp = ({ codes }: Pick<ServerError, 'codes'>): boolean => codes.split(' ').includes('insufficient_quota')

/** Whether the server cannot count the tokens of a stream. */
export const saysNoStreamOptions = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /stream_options|include_usage/.test(`${param} ${message}`)

/** Whether a model that thinks wants its thoughts with each call of the conversation, also with those that another model made. */
export const saysThoughtsMissing = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /reasoning_content/.test(message) && /must be (passed|sent)|missing|required/i.test(message)

/** Whether a model wants the signature of a thought with each call of the conversation. */
export const saysSignatureMissing = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /thought_?signature/i.test(message) && /missing|required|must/i.test(message)

/** Whether the server has the other name for the most tokens of an answer. */
export const saysOtherTokensField = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /max_(completion_)?tokens/.test(`${param} ${message}`) && unknownField.test(message)

const unknownField = /unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)|additional|extra/i

/** Whether the server does not want back what another part of it sent with its messages. */
export const saysNoState = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /reasoning(_content|_details)?\b|extra_content/.test(`${param} ${message}`) && unknownField.test(message)

/** Whether a server takes fewer texts in one request. Servers say that in many words, so each refusal that speaks of an amount counts. */
export const saysSmallerBatch = ({ status, message }: { readonly status: number | null; readonly message: string }): boolean =>
  status !== null && [400, 413, 422].includes(status) && /batch|at most|too (many|large|long)|maximum|larger than|exceed|limit|more than/i.test(message)

const statuses: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_?limit|too_many_requests/i, 429],
  [/invalid_api_key|authentication|permission/i, 401],
  [/not_found/i, 404],
  [/timeout/i, 408],
  [/server_error|overloaded|unavailable|internal/i, 500],
  [/invalid_request|context_length|content_policy/i, 400],
]

/** The HTTP status that the codes of an error mean, if it came without one. `null` if they mean none. */
export const statusSaidBy = ({ codes }: Pick<ServerError, 'codes'>): number | null => statuses.find(([pattern]) => pattern.test(codes))?.[1] ?? null

/** The codes of Node.js, undici and OpenSSL for a connection that was never made. */
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|(ERR_SSL|ERR_TLS|CERT|UNABLE_TO)_\w+|\w*SELF_SIGNED\w*)$/

/** Whether the error with this code came before a connection was made. */
export const saysNeverConnected = (code: string): boolean => neverConnected.test(code)
