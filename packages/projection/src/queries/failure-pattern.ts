// Makes the pattern of a failure's message: a mark replaces each word that differs from task to task. A word
// stays if it may name a cause, such as a model, a tool, a host or an HTTP status, because two groups of one
// cause are better than one group of two causes. The work grows with the length of the message alone.

const messageCharsMax = 2_000
const patternCharsMax = 300

/** What is between two words: white space, quotes, brackets and the like. */
const words = /[^\s"'`(){}[\]<>,;=|]+/g
/** What comes before an HTTP status. */
const statusSigns = /^(?:https?(?:\/[\d.]+)?|status|code|returned|answered|responded)$/i
/** Files of models, which name a cause. */
const modelFile = /\.(?:gguf|ggml|safetensors|onnx)$/i
/** What belongs to the sentence and not to the word before it. */
const endOfSentence = /[.:!?…]+$/

/**
 * The message with <id>, <n>, <time> and <path> in place of what differs from task to task.
 *
 * @example patternOf('The call of call_81c3f0aa took 31 s.') // 'The call of <id> took <n> s.'
 */
export function patternOf(message: string): string {
  let before = ''
  const marked = message
    .slice(0, messageCharsMax)
    .toWellFormed()
    .replaceAll(words, (found) => {
      const end = endOfSentence.exec(found)?.[0] ?? ''
      const word = found.slice(0, found.length - end.length)
      const isStatus = statusSigns.test(before) && /^[1-5]\d\d$/.test(word)
      before = word
      return (isStatus ? word : markOf(word)) + end
    })
    .replaceAll(/\s+/g, ' ')
    .trim()
  return marked.length <= patternCharsMax
    ? marked
    : `${marked
        .slice(0, patternCharsMax - 1)
        .toWellFormed()
        .trimEnd()}…`
}

const time = /^(?:\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?|\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)$/
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const hex = /^(?:sha256:)?[0-9a-f]{8,}$/i
/** With what the words of an id begin, such as `task_`. */
const prefixed = /^(?:[a-z]{1,12}[_-])?([0-9a-z]{8,})$/i
const url = /^([a-z][a-z0-9+.-]*:\/\/[^/:?#]*)(:\d+)?(.*)$/i
const path = /^(?:~|\.{1,2})?\/.|^[^/]+(?:\/[^/]+)*\/[^/]+\.[a-z]\w{0,7}(?::\d+)*$/i
const address = /^(\d{1,3}(?:\.\d{1,3}){3})(:\d+)?$/
const number = /^[+-]?[$€£#]?\d[\d.,_:]*(%|[a-zµ]{1,3})?$/i

function markOf(word: string): string {
  if (!/[\d/]/.test(word)) return word
  if (time.test(word)) return '<time>'
  const [, host, hostPort = ''] = address.exec(word) ?? []
  if (host !== undefined) return `${host}${hostPort === '' ? '' : ':<n>'}`
  const counted = number.exec(word)
  // A hexadecimal id may consist of digits alone.
  if (counted !== null && !(hex.test(word) && word.length >= 16)) return `<n>${counted[1] ?? ''}`
  if (uuid.test(word) || (hex.test(word) && /\d/.test(word))) return '<id>'
  const [, body = ''] = prefixed.exec(word) ?? []
  if (body.replaceAll(/\D/g, '').length >= 3) return '<id>'
  const [, origin, port = '', rest = ''] = url.exec(word) ?? []
  if (origin !== undefined) return `${origin}${port === '' ? '' : ':<n>'}${rest.length > 1 ? '/<path>' : ''}`
  if (path.test(word) && !(modelFile.test(word) && !/^[~./]/.test(word))) return '<path>'
  return word.replaceAll(/(?<=[:#])\d+(?![\w.])/g, '<n>')
}
