// The word and the colour of a status, equal on all screens. JSON output has the status itself.
import type { Style } from './style.ts'

const words: Readonly<Record<string, string>> = {
  waiting_for_person: 'asks you',
  waiting_for_approval: 'asks you',
  waiting_for_answer: 'asks you',
  waiting_for_provider: 'waits for a provider',
  waiting_for_limit: 'waits for a limit',
}

/** The word for the status of a task, a team, a node or a run. */
export const statusWord = (status: string): string => words[status] ?? status

const working: ReadonlySet<string> = new Set([
  'running',
  'accepted',
  'assembling',
  'thinking',
  'acting',
  'finalizing',
])

/**
 * The colour of a status.
 *
 * @param status a status, or the word for it
 */
export function statusPaint(status: string, style: Style): (text: string) => string {
  if (status === 'completed' || status === 'complete' || status === 'ok') return style.green
  if (status === 'failed' || status === 'incomplete' || status === 'fail' || status === 'quarantined')
    return style.red
  if (
    status === 'cancelled' ||
    status === 'blocked' ||
    status === 'warn' ||
    statusWord(status) === 'asks you'
  )
    return style.yellow
  return working.has(status) ? style.cyan : style.dim
}
