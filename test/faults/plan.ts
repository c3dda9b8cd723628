// What a fault campaign is made of: the kinds of faults and of operations, how often each comes, and how long
// a campaign goes on. A plan is data, and a seed draws it; real processes decide how it interleaves, so a
// replay is likely and not certain.

/**
 * Faults with their weights. 0: only where `--only` names the fault, because it needs a machine or a campaign
 * of its own.
 */
export const faultWeights = {
  daemon_kill: 40,
  daemon_freeze: 10,
  daemon_term: 8,
  tool_exit: 3,
  tool_throw: 3,
  tool_reject: 3,
  tool_heap: 2,
  tool_loop: 2,
  tool_wait: 2,
  tool_kill: 3,
  projector_kill: 3,
  projector_freeze: 2,
  nats_kill: 4,
  nats_freeze: 2,
  link_partition: 3,
  link_half_open: 3,
  link_one_way_up: 2,
  link_one_way_down: 2,
  link_latency: 2,
  link_resets: 3,
  provider_503: 2,
  provider_hang: 2,
  provider_reset: 2,
  max_payload: 1,
  consumer_deleted: 2,
  /** Needs root: a small file system of its own below nats-server. */
  disk_full: 0,
  /** Ends every task that was accepted before. */
  stream_deleted: 0,
} as const satisfies Record<string, number>
export type FaultKind = keyof typeof faultWeights

export const faultKinds = Object.keys(faultWeights) as readonly FaultKind[]

/** Operations with their weights. */
export const operationWeights = {
  plain: 30,
  chain: 10,
  sequential: 5,
  concurrent: 5,
  mixture: 4,
  rearrange: 4,
  graph: 4,
  team_by_root: 5,
  approval: 8,
  memory: 4,
  stream: 5,
  blob: 5,
  same_id: 5,
  two_sessions: 5,
  cancel: 6,
} as const satisfies Record<string, number>
export type OperationKind = keyof typeof operationWeights

export interface CampaignPlan {
  readonly seed: number
  readonly daemons: number
  /** The campaign ends after so many kills of daemons; absent: when its time is over. */
  readonly kills?: number | undefined
  /** It goes on until so many tasks are known, on a machine however busy. */
  readonly tasksMin?: number | undefined
  /** It ends after so long at the latest. */
  readonly ms: number
  /** Only these faults; absent: all that have a weight. */
  readonly only?: readonly FaultKind[] | undefined
  readonly leaseMs: number
  /** Pause between two faults, in milliseconds: from, to. */
  readonly pauseMs: readonly [number, number]
  /** How long what has died stays away, in milliseconds: from, to. */
  readonly awayMs: readonly [number, number]
  /** Clients that submit at the same time. */
  readonly clients: number
  /** The clients pause while so many tasks are open. */
  readonly openTasksMax: number
  /** How long open tasks may take after the last fault. */
  readonly settleMs: number
}

export const longCampaign: Omit<CampaignPlan, 'seed'> = {
  daemons: 3,
  ms: 60_000,
  leaseMs: 5_000,
  pauseMs: [200, 1_500],
  awayMs: [0, 2_500],
  clients: 5,
  openTasksMax: 60,
  settleMs: 90_000,
}

/** For soaks: a kill about every second. */
export const fastPace = { pauseMs: [50, 400], awayMs: [0, 600] } as const satisfies Partial<CampaignPlan>

/** The weights of a plan. */
export function weightsOf(plan: CampaignPlan): Readonly<Partial<Record<FaultKind, number>>> {
  if (plan.only === undefined) return faultWeights
  return Object.fromEntries(plan.only.map((kind) => [kind, Math.max(1, faultWeights[kind])]))
}

/** The command that runs a plan again. */
export function replayOf(plan: CampaignPlan): string {
  const length = plan.kills === undefined ? `--minutes ${plan.ms / 60_000}` : `--kills ${plan.kills}`
  const only = plan.only === undefined ? '' : ` --only ${plan.only.join(',')}`
  return `pnpm test:faults --seed ${plan.seed} ${length} --daemons ${plan.daemons} --lease ${plan.leaseMs}${plan.awayMs === fastPace.awayMs ? ' --fast' : ''}${only}`
}
