// Times on the page: how long ago, with the exact time in the reader's zone and in UTC when one points at it.
import { type ReactNode, useSyncExternalStore } from 'react'
import { agoText, localTime } from './time.ts'

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

export function When({ time }: { readonly time: string | null }): ReactNode {
  const text = useSyncExternalStore(subscribe, () => (time === null ? '–' : agoText(time, now)))
  if (time === null) return <span className="quiet">–</span>
  return (
    <time dateTime={time} title={`${localTime(time)} (${time})`}>
      {text}
    </time>
  )
}
