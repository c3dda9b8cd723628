// Why a run was cancelled, as its host said it.
import { messageOf } from '@beaver/core'

export function cancelReason(signal: AbortSignal): string {
  return typeof signal.reason === 'string' ? signal.reason : messageOf(signal.reason)
}

/** Why a loop's signal aborts whose host lets go of it in a pause: it is taken up again later, so what it has reserved stays reserved. */
export class LoopDropped extends Error {}

export const wasDropped = (signal: AbortSignal): boolean => signal.reason instanceof LoopDropped
