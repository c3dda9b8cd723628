// Decides how the worker pool replaces its threads. It applies the row `worker_pool` of core's supervisors to the losses of one pool.
// P1. A loss that is charged to a suspect does not count for the intensity: the suspect runs in a cell from then on, which ends the series.
// P2. Every loss within the period makes the next pause longer, whoever is charged.
import { afterDeath, supervisors, type SupervisorSpec } from '@beaver/core'

export type PoolPolicy = Pick<SupervisorSpec, 'intensity' | 'backoff'>

export const poolPolicy: PoolPolicy = supervisors.worker_pool

export type AfterLoss = { readonly kind: 'replace'; readonly pauseMs: number } | { readonly kind: 'fail'; readonly message: string }

export interface ThreadLosses {
  add(loss: { readonly charged: boolean; readonly message: string }, nowMs: number): AfterLoss
}

export function threadLosses({ intensity, backoff }: PoolPolicy): ThreadLosses {
  const all: number[] = []
  const uncharged: number[] = []
  const after = (deaths: readonly number[], restartsMax: number, now: number) =>
    afterDeath(deaths, { now, random: 0, intensity: { ...intensity, restartsMax }, backoff })
  return {
    add({ charged, message }, nowMs) {
      all.push(nowMs)
      if (!charged) uncharged.push(nowMs)
      const bound = after(uncharged, intensity.restartsMax, nowMs)
      if (!charged && bound.kind === 'exceeded')
        return { kind: 'fail', message: `Worker threads died ${bound.deaths} times within ${(intensity.periodMs ?? 0) / 1000} s; the last: ${message}` }
      const next = after(all, Infinity, nowMs)
      return { kind: 'replace', pauseMs: next.kind === 'restart' ? next.pauseMs : backoff.pauseMsMax }
    },
  }
}
