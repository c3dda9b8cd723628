// The headers of a mail, as they stand in it. This is all that is read of a mail before its sender is proven
// and known, so it is simple and takes time that grows with the length alone.
import type { MailHeader } from './sender.ts'

const headersMax = 10_000

/**
 * @returns `null` if a program could read them in another way: there are too many, or there are characters
 * that some take for the end of a line
 */
export function headersOf(source: Uint8Array): readonly MailHeader[] | null {
  const lines = headOf(new TextDecoder().decode(source)).split(/\r?\n/)
  const fields: string[][] = []
  for (const line of lines) {
    if (/[\0\r\u0085\u2028\u2029]/.test(line)) return null
    const isFolded = line.startsWith(' ') || line.startsWith('\t')
    if (isFolded) fields.at(-1)?.push(line)
    else if (line !== '') fields.push([line])
    if (fields.length > headersMax) return null
  }
  return fields.flatMap((parts) => {
    const field = parts.join('')
    const colon = field.indexOf(':')
    return colon < 1
      ? []
      : [{ key: field.slice(0, colon).trim().toLowerCase(), value: field.slice(colon + 1).trim() }]
  })
}

/** The text before the first empty line. */
function headOf(text: string): string {
  const ends = [text.indexOf('\r\n\r\n'), text.indexOf('\n\n')].filter((each) => each >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}
