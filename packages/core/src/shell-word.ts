// Quotes a word of a command that a person may copy into a shell.

/** What a terminal obeys when it is pasted, or does not show. A line break is safe between quotes. */
const hidden = /((?:(?!\n)[\p{Cc}\p{Cf}\u2028\u2029])+)/u

/**
 * The word as a POSIX shell reads it back, whatever it has in it. Hidden characters are written as numbers, so that
 * a terminal into which the command is pasted does not obey them. Characters that no word can have are left out.
 *
 * A word that begins with `=` is quoted, because zsh would look for a command. A word that begins with a dash
 * stays one: a command takes it for an option, unless `--` or `=` is before it.
 *
 * @example
 * shellWord('run_1/call-2') // => 'run_1/call-2'
 * shellWord("it's; rm -rf ~") // => "'it'\\''s; rm -rf ~'"
 * shellWord('\u0003') // => '"$(printf \'\\003\')"'
 */
export function shellWord(text: string): string {
  const whole = text.toWellFormed().replaceAll('\0', '')
  if (/^[\w@%+=:,./-]+$/.test(whole) && !/^[-=]/.test(whole)) return whole
  if (whole === '') return "''"
  // Each second part is what is hidden.
  return whole
    .split(hidden)
    .map((part, at) =>
      at % 2 === 1 ? `"$(printf '${octal(part)}')"` : part === '' ? '' : `'${part.replaceAll("'", `'\\''`)}'`,
    )
    .join('')
}

/** The bytes of the text in UTF-8, each as `\` and three octal digits. */
const octal = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[^%]|%(..)/g, (character: string, hex: string | undefined) =>
      hex === undefined ? character : String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replaceAll(/[^]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)
