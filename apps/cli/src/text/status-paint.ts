// The colour of a status, which is the same on every screen.
import type { Style } from './style.ts'

export function statusPaint(status: string, style: Style): (text: string) => string {
  if (status === 'completed' || status === 'complete' || status === 'ok') return style.green
  if (status === 'failed' || status === 'incomplete' || status === 'fail') return style.red
  if (status === 'cancelled' || status === 'blocked' || status === 'warn' || status === 'asks you') return style.yellow
  return status === 'running' || status === 'accepted' ? style.cyan : style.dim
}
