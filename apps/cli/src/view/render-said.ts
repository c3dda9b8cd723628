// The end of what an agent is saying, as lines.
// S1. At most `rowsMax` lines of at most `columns`; nothing of a text can move the cursor. S2. The work is bounded, whatever is said.
import { plainText } from '../text/plain-text.ts'
import { wrapText } from '../text/wrap.ts'

export function saidLines(text: string, { columns, rowsMax }: { readonly columns: number; readonly rowsMax: number }): string[] {
  if (rowsMax < 1 || columns < 8) return []
  // Twice what fits: a character may take no column, or a word a line.
  const tail = text.slice(-(columns + 1) * (rowsMax + 1) * 2)
  const lines = plainText(tail)
    .replaceAll('\t', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-rowsMax)
    .flatMap((line) => wrapText(line.trim(), columns))
  return lines.slice(-rowsMax)
}
