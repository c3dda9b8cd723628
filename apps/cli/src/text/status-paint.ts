// The colour of a status, equal on all screens. The words are core's.
import { statusWord } from '@beaver/core'
import type { Style } from './style.ts'

export { statusWord }

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
