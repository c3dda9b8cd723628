// Shows a report to a person: headings and code of Markdown are painted, and a structured answer is indented.
// Otherwise the text is unchanged, so that it can be copied.
import { canonicalJson, type JsonValue } from '@beaver/core'
import { codeLines } from './code-lines.ts'
import { plainText } from './plain-text.ts'
import type { Style } from './style.ts'

/** The output of a task or a node as a person reads it. */
export function shownOutput(
  text: string,
  { interactive, style }: { readonly interactive: boolean; readonly style: Style },
): string {
  const value = structuredIn(text)
  if (value !== null) return JSON.stringify(value, null, 2)
  return interactive ? paintReport(text, style) : text
}

/** The object or list of a structured answer, whose text is canonical JSON; `null` for any other text. */
function structuredIn(text: string): JsonValue | null {
  if (!/^[[{]/.test(text)) return null
  try {
    const value = JSON.parse(text) as JsonValue
    return canonicalJson(value) === text ? value : null
  } catch {
    return null
  }
}

/** Paints the headings, the bold text and the code of Markdown. */
export function paintReport(markdown: string, style: Style): string {
  const isCode = codeLines()
  return plainText(markdown)
    .split('\n')
    .map((line) => {
      if (isCode(line)) return /^\s*[`~]{3}/.test(line) ? style.dim(line) : style.cyan(line)
      if (/^#{1,6} /.test(line)) return style.bold(line)
      return line.replaceAll(/\*\*[^*\n]+\*\*/g, (text) => style.bold(text))
    })
    .join('\n')
}
