// Shows the outputs of a team's nodes if the task did not complete, because partial results are kept (D-34).
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import type { Style, Symbols } from '../text/style.ts'
import { cutToWidth } from '../text/width.ts'

export interface KeptOutput {
  readonly node_id: string
  readonly output: string
  /** The length of the whole output, in characters. Absent: `output` is whole. */
  readonly output_chars?: number
}

const shownMax = 20

/**
 * A head, and a line for each output that is not part of the final output. Empty if the task completed or
 * there is no such output.
 */
export function keptLines(
  task: {
    readonly status: string
    readonly final_output: string | null
    readonly outputs: readonly KeptOutput[]
  },
  { columns, style, symbols }: { readonly columns: number; readonly style: Style; readonly symbols: Symbols },
): string[] {
  const kept = task.outputs.filter(
    ({ output }) => output.trim() !== '' && !(task.final_output ?? '').includes(output),
  )
  if (task.status === 'completed' || kept.length === 0) return []
  const line = ({ node_id, output, output_chars = output.length }: KeptOutput): string =>
    cutToWidth(
      `  ${oneLine(node_id)} (${counted(output_chars, 'character')}): ${oneLine(output, 400)}`,
      columns,
      symbols.ellipsis,
    )
  const more =
    kept.length > shownMax ? [style.dim(`  ${symbols.ellipsis} and ${kept.length - shownMax} more`)] : []
  return ['', style.bold('Kept'), ...kept.slice(0, shownMax).map(line), ...more]
}
