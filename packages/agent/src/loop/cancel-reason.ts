// Why a run was cancelled, as its host said it.
import { messageOf } from '@beaver/core'

export function cancelReason(signal: AbortSignal): string {
  return typeof signal.reason === 'string' ? signal.reason : messageOf(signal.reason)
}

/**
 * The reason of the abort when a host drops a loop in a pause. The run is resumed later, so its reservations
 * stay.
 *
 * @example
 * const stop = new AbortController()
 * stop.abort(new LoopDropped())
 * wasDropped(stop.signal) // => true
 */
export class LoopDropped extends Error {}

/**
 * Whether the signal aborted because the host dropped the loop.
 *
 * @example
 * wasDropped(AbortSignal.abort('The task was cancelled.')) // => false
 */
export const wasDropped = (signal: AbortSignal): boolean => signal.reason instanceof LoopDropped
