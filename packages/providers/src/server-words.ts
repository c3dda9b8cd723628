// The words in errors of many makers' servers. Only this file reads them; provider-failure.ts decides what
// follows. Words count only if neither a status nor an exact code tells the cause: servers that copy OpenAI's
// API use only some of its codes, and some have the only hint in the message. A missed word makes the failure
// class less exact.

import type { ServerError } from './server-error.ts'

type Words = Pick<ServerError, 'codes' | 'message'>

/** Each line: words of servers. packages/testing/src/overflow-wordings.ts has whole texts with sources. */
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

/** A limit over time uses the same words for tokens. */
const rate = /rate.?limit|per (minute|min|day|hour)|please wait|try again later|throttl|\b[rt]p[md]\b/

export const saysOverflow = ({ codes, message }: Words): boolean => {
  const text = `${codes} ${message}`.toLowerCase()
  return !rate.test(text) && overflow.some((words) => words.test(text))
}

/** Whether one request exceeds the limit of a minute, so that only a shorter conversation helps. */
export const saysLargerThanRate = ({ message }: Pick<Words, 'message'>): boolean =>
  /request too large|tokens must be reduced/i.test(message)

/** Whether a server without a useful status means a limit over time. */
export const saysRate = ({ codes, message }: Words): boolean => rate.test(`${codes} ${message}`.toLowerCase())

/** The same, from a server that also claims to be broken. Only the plainest words count. */
export const saysOverflowPlainly = ({ codes, message }: Words): boolean =>
  overflow[0]?.test(`${codes} ${message}`.toLowerCase()) === true

/** Each line: words of servers. packages/testing/src/account-wordings.ts has whole texts. */
const emptyAccount = [
  /exceeded_current_quota_error/,
  /insufficient[ _]balance|balance is (insufficient|too low)|余额不足/,
  /used all available credits|run out of credits/,
  // Gemini also says "you exceeded your current quota" of a limit for a minute, which is never zero.
  /quota exceeded.{0,200}\blimit: 0\b/,
]

/** Whether the account has no money left, or its plan lacks the model. No pause helps. */
export const saysQuotaUsedUp = ({ codes, message }: Words): boolean =>
  codes.split(' ').includes('insufficient_quota') ||
  emptyAccount.some((words) => words.test(`${codes} ${message}`.toLowerCase()))

/** Whether the server cannot count the tokens of a stream. */
export const saysNoStreamOptions = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /stream_options|include_usage/.test(`${param} ${message}`)

/** Whether a thinking model wants thoughts with each call, also with those of other models. */
export const saysThoughtsMissing = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /reasoning_content/.test(message) && /must be (passed|sent)|missing|required/i.test(message)

/** Whether a model wants a thought's signature with each call of the conversation. */
export const saysSignatureMissing = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /thought_?signature/i.test(message) && /missing|required|must/i.test(message)

/** Whether the server uses the other name for the answer's token limit. */
export const saysOtherTokensField = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /max_(completion_)?tokens/.test(`${param} ${message}`) && unknownField.test(message)

const unknownField =
  /unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)|additional|extra/i

/**
 * Whether the server does not know the cache key. Ask only about a request that has it.
 * packages/testing/src/cache-wordings.ts has whole texts of servers about their caches, and their sources.
 */
export const saysNoCacheKey = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /prompt_?cache_?key/i.test(`${param} ${message}`)

/** Whether the server takes no mark in the part of a tool's result. */
export const saysNoMarksInResults = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /cache_control.{0,80}within .?tool_result/i.test(message)

/** Whether the server takes no marks, or has its own. Ask only about a request with marks. */
export const saysNoMarks = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /cache_control|prompt_cache_breakpoint/i.test(`${param} ${message}`) ||
  /(must|should) be (a |an )?(valid )?string|expected (a |an )?(valid )?string/i.test(message)

/** Whether the server refuses the state that another part of it sent with its messages. */
export const saysNoState = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  // The template of gpt-oss takes thoughts or a text beside a call.
  /cannot pass both content and thinking/i.test(message) ||
  (/reasoning(_content|_details)?\b|extra_content/.test(`${param} ${message}`) && unknownField.test(message))

/** Whether the roles of a conversation must take turns. Chat templates and Mistral say so. */
export const saysRolesAlternate = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /roles? must alternate|should alternate with|unexpected role '?(user|roleenum\.user)'? after role '?(tool|user)|must be followed by (a message with role )?'?assistant/i.test(
    message,
  )

export const saysNoSystemRole = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /system role (is )?not supported|(does not|doesn't) support (the )?system|developer instruction is not enabled|only user(,| and) assistant (and tool )?roles are supported/i.test(
    message,
  )

export const saysOneCall = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /only supports single tool-calls|parallel tool calls? (is|are) not/i.test(message)

/**
 * Whether ids of calls need another form: for Mistral nine letters and digits, for Anthropic no dots and
 * colons, for OpenAI at most 40 characters.
 */
export const saysIdForm = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /tool.?call id/i.test(message)
    ? /length (of )?9|alphanumeric|pattern|too long/i.test(message)
    : /(tool_use|tool_calls?|tool_result)[\w.[\]]*?(\.id|_id)|tool_call_id|tool_use_id/i.test(
        `${param} ${message}`,
      ) && /match pattern|too long|maximum length/i.test(message)

/** Whether a message must have a text: Bedrock, Kimi and strict schemas. */
export const saysEmptyContent = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /(content|message at|assistant message|text).{0,80}(is empty|(must|can) ?not be (empty|null|none|blank)|must be non-?empty|should be a valid string|is a required field|must have either content)|missing field `content`|content.{0,60}(got|found|type:?|not in) '?null/i.test(
    message,
  )

/** Whether a conversation with calls must describe tools, even if none may be called. */
export const saysToolsUndescribed = ({ message }: Pick<ServerError, 'message'>): boolean =>
  /toolconfig field must be defined|expects the `?tools=?`? param|must (define|include|provide) .{0,20}tools|requires? .{0,20}`?tools`? .{0,40}tool_use/i.test(
    message,
  )

type Named = Pick<ServerError, 'codes' | 'param' | 'message'>

/** Words for the form of an answer. packages/testing/src/form-wordings.ts has whole texts with sources. */
const namesForm =
  /response_?format|text\.format|json_schema|json_object|response schema|structured output|json mode|response mime type/i

/** Whether a server supports no form while the request has tools. */
export const saysNoFormBesideTools = ({ param, message }: Named): boolean =>
  namesForm.test(`${param} ${message}`) &&
  /(tool|function)s?\b.{0,90}(unsupported|not supported|incompatible)|(combined|same time|together|incompatible) .{0,20}(tool|function)|(custom grammar).{0,20}tools/i.test(
    message,
  )

/** Whether a server does not support this one schema. */
export const saysNoSchema = ({ codes, message }: Named): boolean =>
  /invalid_json_schema/.test(codes) ||
  /invalid schema for response.?format|unsupported JSON schema fields|features not supported by xgrammar|^grammar error|failed to (parse|initialize).{0,20}(grammar|samplers)/i.test(
    message,
  )

/** Whether a server does not support the form at all. */
export const saysNoForm = ({ param, message }: Named): boolean =>
  namesForm.test(`${param} ${message}`) &&
  (unknownField.test(message) || /unavailable|must be|enabled only for|expected|invalid/i.test(message))

/** Whether a server that supports the form failed to keep to it. */
export const saysNotInForm = ({ codes }: Named): boolean => /json_validate_failed/.test(codes)

/** "Encrypted content is not supported with this model.": its thoughts cannot go back. */
export const saysNoEncryptedThoughts = ({
  param,
  message,
}: Pick<ServerError, 'param' | 'message'>): boolean =>
  (/\binclude\b/.test(param) || /encrypted[ _]content|\binclude\b/i.test(message)) &&
  unknownField.test(message)

/** Whether the server does not know the field `store`. */
export const saysNoStore = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  (param === 'store' || (param === '' && /\bstore\b/.test(message))) && unknownField.test(message)

/** Whether the server lost, or cannot read, a thought: it expired, or another server sent it. */
export const saysItemLost = ({ codes, message }: Words): boolean =>
  /invalid_encrypted_content/.test(codes) ||
  /item with id .{1,100} not found|could not be (verified|decrypted)|not persisted|required (following|reasoning) item/i.test(
    message,
  )

/** Whether the server refuses an item. Ask only about a request with thoughts: each word counts. */
export const saysNoItem = ({ param, message }: Pick<ServerError, 'param' | 'message'>): boolean =>
  /^input\b/.test(param) ||
  /reasoning|encrypted|item_reference|\bitems?\b|\binput\[\d+\]|\bphase\b/i.test(message)
/** Each line: words of servers. packages/testing/src/image-wordings.ts has whole texts and their sources. */
const noImages = [
  /no endpoints found that support image/,
  /is not a multimodal model/,
  /unknown variant `?'?"?image_url/,
  /image_url.{0,40}(only supported by|not supported)/,
  /(image|vision|multimodal|mmproj).{0,60}(\bnot|n['’]t|\bno) support/,
  /(\bnot|n['’]t|\bno) support.{0,60}(image|vision|multimodal)/,
  /image input modality is not enabled|unsupported content type: .?image_url|only supports? text( input)?s?\b/,
  /not configured with a mmproj|need to provide the mmproj/,
  /content['`]?\)?\s*:? ?(value )?must be a string/,
  /input should be 'text'|expected `?text`?, got .?image/,
]
/** Words of an endpoint whose model takes images about one image. */
const aboutOneImage =
  /image format|format of (the|this|your) image|unsupported (image )?format|mime|media type|too (large|big|many)|corrupt|decode|download|fetch|resolution|dimension/

/** Whether a model takes no images. A refusal of one image or of its form does not count. */
export const saysNoImages = ({ message }: Pick<ServerError, 'message'>): boolean => {
  const text = message.toLowerCase()
  return noImages.some((words) => words.test(text)) && !aboutOneImage.test(text)
}

/** How many images one request may have, in the words of servers. A size does not count. */
const mostImages = [
  /at most (\d+) image/,
  /(?:up to|max(?:imum)?(?: of)?|limit(?:ed)?(?: of| to)?) (\d+) images?\b/,
  /too many images.{0,80}?(?:max\w*|limit|most|up to)\D{0,20}(\d+)(?![\d.]*\s*(?:[kmg]i?b\b|px|pixel|byte))/,
  /(?:max\w*|limit)(?: on)?(?: the)?(?: number of| allowed)? images\b\D{0,40}(\d+)(?![\d.]*\s*(?:[kmg]i?b\b|px|pixel|byte))/,
]

/** How many images a server takes in one request. `fewer`: it names no number. `null`: another refusal. */
export function mostImagesSaid({ message }: Pick<ServerError, 'message'>): number | 'fewer' | null {
  const text = message.toLowerCase()
  const [, most] = mostImages.map((words) => words.exec(text)).find((found) => found !== null) ?? []
  if (most !== undefined) return Number(most)
  return /too many images|number of images|images exceed/.test(text) ? 'fewer' : null
}

const anImage = /\b(images?|pictures?|pixels?)\b|\bimage_/
const notUsable =
  /(could not|cannot|can['’]t|failed to|unable to|did not) (be )?(process|decod|read|load|open|identif|pars|download|fetch)|invalid|not (a )?valid|unsupported|not supported|corrupt|truncated|does not (match|represent)|too (large|big|small)|exceed|dimension|(larger|smaller) than/

/** Whether a server cannot use images, or this one. Ask only about a request with images: any word counts. */
export const saysBadImage = ({ message }: Pick<ServerError, 'message'>): boolean => {
  const text = message.toLowerCase()
  return anImage.test(text) && notUsable.test(text) && !saysNoImages({ message })
}

/** Whether a server takes fewer texts in one request. Any mention of an amount counts. */
export const saysSmallerBatch = ({
  status,
  message,
}: {
  readonly status: number | null
  readonly message: string
}): boolean =>
  status !== null &&
  [400, 413, 422].includes(status) &&
  /batch|at most|too (many|large|long)|maximum|larger than|exceed|limit|more than/i.test(message)

/** Whether a model's output was unreadable. llama.cpp and Ollama say 5xx then, Groq 4xx. */
export const saysUnreadable = ({ codes, message }: Words): boolean =>
  /does not match the expected .{1,60}format|failed to parse (input|tool call|.{0,20}output)|error parsing tool call|failed to call a function|tool_use_failed/i.test(
    `${codes} ${message}`,
  )

const statuses: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_?limit|too_many_requests/i, 429],
  [/invalid_api_key|authentication|permission/i, 401],
  [/not_found/i, 404],
  [/timeout/i, 408],
  [/server_error|overloaded|unavailable|internal/i, 500],
  [/invalid_(request|prompt|image)|context_length|(content|bio)_policy|policy_violation/i, 400],
]

/** The HTTP status that an error's codes mean; `null` if they mean none. */
export const statusSaidBy = ({ codes }: Pick<ServerError, 'codes'>): number | null =>
  statuses.find(([pattern]) => pattern.test(codes))?.[1] ?? null

/** The codes of Node.js, undici and OpenSSL for a connection that was never made. */
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|(ERR_SSL|ERR_TLS|CERT|UNABLE_TO)_\w+|\w*SELF_SIGNED\w*)$/

export const saysNeverConnected = (code: string): boolean => neverConnected.test(code)

/** The same codes, and those of broken connections. */
const brokenConnection = /^(ECONN\w+|EPIPE|ETIMEDOUT|UND_ERR_(?!INVALID|ABORT)\w+)$/

export const saysBrokenConnection = (code: string): boolean =>
  saysNeverConnected(code) || brokenConnection.test(code)
