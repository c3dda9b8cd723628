// The spellings of a secret whose value is known: as it is, and encoded as programs encode it. Base64 is
// found inside a longer text, such as `user:password` in a header, because all three positions within a group
// of bytes are spelled. Values that could be ordinary text are left alone: to hide them would destroy other
// texts.

/** A secret whose value this process knows. `name` says where it comes from: `OPENAI_API_KEY`. */
export interface KnownSecret {
  readonly name: string
  readonly value: string
}

/** Shorter values are placeholders: local servers require some key and ignore it. */
const charactersMin = 6
const wordCharactersMax = 15

/** What people give as a key to a server that wants none. */
const placeholders = new Set([
  'password',
  'changeme',
  'not-needed',
  'not_needed',
  'notneeded',
  'placeholder',
  'lm-studio',
  'localhost',
  'no-key-needed',
  'sk-no-key-required',
])

/**
 * Whether a text of this value can be hidden wherever it occurs. A short value, a value of a few letters
 * without a digit, and a number are too common for that.
 *
 * @example
 * isHideable('hunter2-2026') // => true
 * isHideable('ollama') // => false
 */
export function isHideable(value: string): boolean {
  if (value.length < charactersMin || placeholders.has(value.toLowerCase())) return false
  if (/^[\d.\s:-]+$/.test(value)) return value.length >= 12
  return value.length > wordCharactersMax || !/^[A-Za-z]+(?:[-_ .][A-Za-z]+)*$/.test(value)
}

export function spellingsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const json = JSON.stringify(value).slice(1, -1)
  const url = encodeURIComponent(value.toWellFormed())
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].map((before) => base64Within(bytes, before))
  return [
    ...new Set([
      ...[value, json, JSON.stringify(json).slice(1, -1)],
      ...[url, url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()), url.replaceAll('%20', '+')],
      bytes.toString('base64'),
      ...base64.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]),
      ...[hex, hex.toUpperCase()],
    ]),
  ].filter(({ length }) => length >= charactersMin)
}

/**
 * The characters of base64 that depend on these bytes alone, if `before` bytes come before them in a group of
 * three.
 */
function base64Within(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const whole = Math.floor(((before + bytes.length) * 8) / 6)
  return text.slice([0, 2, 3][before], whole)
}
