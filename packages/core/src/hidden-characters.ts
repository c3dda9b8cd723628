// Hidden characters: control characters, formatting characters (bidirectional overrides, zero-width marks,
// tags) and the line separators of Unicode, which a terminal obeys or does not show. A person who decides
// sees each as an escape, so that two texts that look the same are the same.

const hidden = /[\p{Cc}\p{Cf}\u2028\u2029\p{Cs}]/gu

/** What a terminal may obey, or what changes the order of what it shows. JSON escapes the rest by itself. */
const unsafeInJson = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * The text with each hidden character as an escape. Characters in `kept` stay as they are.
 *
 * @example
 * visible('rm \u202egnp.exe') // => 'rm \\u{202e}gnp.exe'
 * visible('two\nlines', '\n') // => 'two\nlines'
 */
export function visible(text: string, kept = ''): string {
  return text.replace(hidden, (character) =>
    kept.includes(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/**
 * The same JSON, with an escape in place of each character that a terminal may obey.
 *
 * @example
 * safeJson('"\u009b2J"') // => '"\\u009b2J"'
 */
export function safeJson(json: string): string {
  return json.replace(
    unsafeInJson,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
