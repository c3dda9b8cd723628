// What the body of a refusal says. OpenAI's form is `{"error": {"message", "code", "type", "param"}}`; other
// servers use others. People read the text, so it is short and without a proxy's HTML.

/** An error as the server sent it. */
export interface ServerError {
  readonly message: string
  /** The `code`, the `type` and the `status` of the error, separated by spaces. */
  readonly codes: string
  /** The name of the refused parameter, or ''. */
  readonly param: string
}

/** Longer texts are cut after the key was taken out of them. */
const charsMax = 4_000

export function serverErrorIn(body: string): ServerError {
  const value = jsonIn(body)
  if (value !== undefined && typeof value !== 'string') return serverErrorOf(value)
  const text = (value ?? body).trim()
  return {
    message: /^<(!doctype|html)/i.test(text) ? 'an HTML page' : text.slice(0, charsMax),
    codes: '',
    param: '',
  }
}

/**
 * The error in a JSON value: an object, one in a list, or the members of one.
 *
 * @example
 * serverErrorOf([{ error: { code: 400, message: 'Too long.' } }]).message // => 'Too long.'
 * const detail = [{ loc: ['body', 'model'], msg: 'Field required' }]
 * serverErrorOf({ detail }).message // => 'body.model: Field required'
 */
export function serverErrorOf(value: unknown): ServerError {
  const whole: unknown = Array.isArray(value) ? value[0] : value
  const error = field(whole, 'error') ?? whole
  const codes = [error, whole].flatMap((each) =>
    ['code', 'type', 'status'].map((name) => text(field(each, name))),
  )
  return {
    message: (messageOf(error) || messageOf(whole)).slice(0, charsMax),
    codes: [...new Set(codes)].join(' '),
    param: text(field(error, 'param')),
  }
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const ownText =
    ['message', 'detail', 'msg', 'error', 'error_message']
      .map((name) => textIn(field(error, name)))
      .find((each) => each !== '') ?? ''
  // A gateway itself only says that its upstream failed.
  const upstream = textIn(field(field(error, 'metadata'), 'raw'))
  return upstream === '' ? ownText : `${ownText} ${upstream}`.trim()
}

/** A text, the text of an object, or those of a list: FastAPI names the place of each problem. */
function textIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value))
    return value
      .map((each: unknown) => [placeOf(each), textIn(field(each, 'msg') ?? each)].filter(Boolean).join(': '))
      .join('; ')
  return ['message', 'msg'].map((name) => text(field(value, name))).find((each) => each !== '') ?? ''
}

function placeOf(problem: unknown): string {
  const place = field(problem, 'loc')
  return Array.isArray(place) ? place.join('.') : ''
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''

export const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
