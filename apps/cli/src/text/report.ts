// Paints headings and code of a Markdown report. The text itself is unchanged, so that it can be copied.
import { plainText } from './plain-text.ts'
import type { Style } from './style.ts'

export function paintReport(markdown: string, style: Style): string {
  let fence: string | null = null
  return plainText(markdown)
    .split('\n')
    .map((line) => {
      const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
      if (mark !== undefined && (fence === null || (mark.startsWith(fence) && line.trim() === mark))) {
        fence = fence === null ? mark : null
        return style.dim(line)
      }
      if (fence !== null) return style.cyan(line)
      if (/^#{1,6} /.test(line)) return style.bold(line)
      return line.replaceAll(/\*\*[^*\n]+\*\*/g, (text) => style.bold(text))
    })
    .join('\n')
}
