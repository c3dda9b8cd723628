// The colour of a status, which is the same on every screen.
import type { Style } from './style.ts'

const working: ReadonlySet<string> = new Set(['running', 'accepted', 'assembling', 'thinking', 'acting', 'finalizing'])

export function statusPaint(status: string, style: Style): (text: string) => string {
  if (status === 'completed' || status === 'complete' || status === 'ok') return style.green
  if (status === 'failed' || status === 'incomplete' || status === 'fail' || status === 'quarantined') return style.red
  if (status === 'cancelled' || status === 'blocked' || status === 'warn' || status === 'asks you') return style.yellow
  return working.has(status) ? style.cyan : style.dim
}
