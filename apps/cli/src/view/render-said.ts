// Formats the end of what an agent is saying. It has at most `rowsMax` lines of at most `columns`, and no
// text can move the cursor. The work is bounded, whatever the text is.
import { plainText } from '../text/plain-text.ts'
import { wrapText } from '../text/wrap.ts'

export function saidLines(
  text: string,
  { columns, rowsMax }: { readonly columns: number; readonly rowsMax: number },
): string[] {
  if (rowsMax < 1 || columns < 8) return []
  // Twice what fits, because a character may take no column, and a word may take a line.
  const tail = text.slice(-(columns + 1) * (rowsMax + 1) * 2)
  const lines = plainText(tail)
    .replaceAll('\t', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-rowsMax)
    .flatMap((line) => wrapText(line.trim(), columns))
  return lines.slice(-rowsMax)
}
