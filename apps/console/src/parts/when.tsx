// Times on the page: how long ago, with the exact time in the reader's zone and in UTC when one points at it.
import { type ReactNode, useSyncExternalStore } from 'react'
import { agoText, durationText, localTime } from './time.ts'

// One clock for all times of the page. It ticks only while somebody looks.
const listeners = new Set<() => void>()
let now = Date.now()
let timer: number | undefined
const tick = (): void => {
  now = Date.now()
  for (const each of listeners) each()
}
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The current time in milliseconds, to the second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now)

/** How long something took, or how long it has gone on if it has not ended. */
export const Elapsed = ({
  from,
  ms,
}: {
  readonly from: string | null
  readonly ms: number | null
}): ReactNode =>
  useSyncExternalStore(subscribe, () => durationText(ms ?? (from === null ? null : now - Date.parse(from))))

export function When({ time }: { readonly time: string | null }): ReactNode {
  const text = useSyncExternalStore(subscribe, () => (time === null ? '–' : agoText(time, now)))
  if (time === null) return <span className="quiet">–</span>
  return (
    <time dateTime={time} title={`${localTime(time)} (${time})`}>
      {text}
    </time>
  )
}
