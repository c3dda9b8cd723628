// Notices soon after a task began that its model cannot be asked, and says so once, whole. The task itself
// waits for the model. A model that refuses or cannot be reached fails its calls, which the events say. A
// model that is silent fails none for a long time, so the daemon is asked to look at it.
import { outageClasses, type RecordedEvent } from '@beaver/core'
import type { Finding } from '../doctor/check.ts'

export interface ModelAwayOptions {
  /** What is wrong with the endpoints. */
  look(): Promise<readonly Finding[]>
  /** Receives the reason, at most once. */
  tell(reason: string): void
  /** How long the model may be silent before somebody looks, in milliseconds. Default: 1,500. */
  readonly silentMsMax?: number
}

export interface ModelAway extends Disposable {
  onEvent(event: RecordedEvent): void
  /** The model says something. */
  onLive(): void
}

/** One failure is followed by the next try within a second, so it may be nothing. */
const failuresMin = 3

export function hearModelAway({ look, tell, silentMsMax = 1_500 }: ModelAwayOptions): ModelAway {
  let over = false
  const once = (reason: string): void => {
    if (!over) tell(reason)
    end()
  }
  const silent = setTimeout(() => {
    look().then(
      (findings) => {
        const fault = faultOfModel(findings)
        if (fault !== undefined) once(fault.says)
      },
      () => {}, // The system says itself what is wrong with it.
    )
  }, silentMsMax)
  const end = (): void => {
    over = true
    clearTimeout(silent)
  }
  return {
    onEvent(event) {
      if (event.type === 'assistant_message_added') return end()
      if (event.type !== 'provider_call_failed') return
      const { failure, tries, retry_in_ms: retryMs } = event.data
      if (outageClasses.has(failure.class) && retryMs !== null && tries >= failuresMin) once(failure.message)
    },
    onLive: () => clearTimeout(silent),
    [Symbol.dispose]: end,
  }
}

/** The fault of the model that every task needs. A fallback that answers does its work. */
export function faultOfModel(findings: readonly Finding[]): Finding | undefined {
  const hasFallback = findings.some(({ name, status }) => name.startsWith('fallback') && status === 'ok')
  return hasFallback ? undefined : findings.find(({ name, status }) => name === 'model' && status === 'fail')
}
