// Why a run was cancelled, as its host said it.
import { messageOf } from '@beaver/core'

export function cancelReason(signal: AbortSignal): string {
  return typeof signal.reason === 'string' ? signal.reason : messageOf(signal.reason)
}
