// Decides how the worker pool replaces its threads. It applies the row `worker_pool` of core's supervisors to
// the losses of one pool. A loss that is charged to a suspect does not count for the intensity: the suspect
// runs in a cell from then on, which ends the series. Every loss within the period makes the next pause
// longer, whoever is charged.
import {
  type Backoff,
  type Intensity,
  isExceeded,
  pauseBefore,
  recentDeaths,
  supervisors,
} from '@beaver/core'

export interface PoolPolicy {
  readonly intensity: Intensity
  readonly backoff: Backoff
}

export const poolPolicy: PoolPolicy = supervisors.worker_pool

export type AfterLoss =
  | { readonly kind: 'replace'; readonly pauseMs: number }
  | { readonly kind: 'fail'; readonly message: string }

export interface ThreadLosses {
  add(loss: { readonly charged: boolean; readonly message: string }, nowMs: number): AfterLoss
}

export function threadLosses({ intensity, backoff }: PoolPolicy): ThreadLosses {
  let all: readonly number[] = []
  let uncharged: readonly number[] = []
  return {
    add({ charged, message }, nowMs) {
      all = recentDeaths([...all, nowMs], nowMs, intensity)
      if (!charged) uncharged = recentDeaths([...uncharged, nowMs], nowMs, intensity)
      if (!charged && isExceeded(uncharged.length, intensity))
        return {
          kind: 'fail',
          message: `Worker threads died ${uncharged.length} times within ${(intensity.periodMs ?? 0) / 1000} s; the last: ${message}`,
        }
      return { kind: 'replace', pauseMs: pauseBefore(all.length, backoff) }
    },
  }
}
