// How often a child may be restarted: OTP's intensity and period, decided purely.
// B1. More than `restartsMax` deaths within `periodMs`: the supervisor gives up and says so.

export interface RestartBudget {
  readonly restartsMax: number
  readonly periodMs: number
  readonly pauseMsMin: number
  readonly pauseMsMax: number
}

export const restartBudget: RestartBudget = { restartsMax: 5, periodMs: 60_000, pauseMsMin: 200, pauseMsMax: 5_000 }

export type AfterDeath =
  | { readonly kind: 'restart'; readonly pauseMs: number; /** Deaths within the period, this one included. */ readonly deaths: number }
  | { readonly kind: 'give_up'; readonly deaths: number }

/** @param deaths when the child died, in milliseconds, this death included */
export function afterDeath(deaths: readonly number[], now: number, budget: RestartBudget = restartBudget): AfterDeath {
  const recent = deaths.filter((at) => now - at < budget.periodMs).length
  if (recent > budget.restartsMax) return { kind: 'give_up', deaths: recent }
  return { kind: 'restart', deaths: recent, pauseMs: Math.min(budget.pauseMsMax, budget.pauseMsMin * 2 ** Math.max(0, recent - 1)) }
}
