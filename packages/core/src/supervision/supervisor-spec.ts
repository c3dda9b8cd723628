// What a supervisor is, as data: which children it keeps, when it starts them again, how often, and what happens after that.
// The words are OTP's. The decisions belong to ./supervise.ts, the values to ./supervisors.ts.
// P1. Every restart is bounded: by an intensity within a period, or by a number over the child's whole life.

/**
 * Which children a death concerns.
 * - `one_for_one`: the one that ended is started again.
 * - `one_for_all`: all others are stopped, and then all are started again.
 * - `rest_for_one`: those that were started after it are stopped, and then it and they are started again.
 */
export type Strategy = 'one_for_one' | 'one_for_all' | 'rest_for_one'

/**
 * When a child that ended is started again.
 * - `permanent`: always. - `transient`: unless it ended normally. - `temporary`: never.
 */
export type Restart = 'permanent' | 'transient' | 'temporary'

export interface ChildSpec {
  /** Unique in its supervisor. */
  readonly id: string
  readonly restart: Restart
}

export interface Intensity {
  /** One more death than this within the period, and the supervisor escalates. */
  readonly restartsMax: number
  /** `null`: over the child's whole life. */
  readonly periodMs: number | null
  /** Whose deaths count together. OTP counts `all_children`; `each_child` is what a supervisor of its own for each child gives. */
  readonly counts: 'each_child' | 'all_children'
}

/** The pause before a restart: it doubles with each death within the period. With `jitter` it is between a half and the whole. */
export interface Backoff {
  /** After the first death within the period; the pauses after it begin with `pauseMsMin`. Absent: `pauseMsMin` is the first. */
  readonly pauseMsFirst?: number
  readonly pauseMsMin: number
  readonly pauseMsMax: number
  readonly jitter: boolean
}

/**
 * What happens when the intensity is exceeded; `says` is the sentence for the log and the documentation.
 * - `fail`: all children are stopped, and the supervisor fails: its own supervisor, or its caller, decides.
 * - `leave`: the child is left alone; the others go on.
 * - `wait`: the child is started again as soon as the intensity allows one more restart.
 */
export interface Escalation {
  readonly kind: 'fail' | 'leave' | 'wait'
  readonly says: string
}

export interface SupervisorSpec {
  readonly id: string
  readonly strategy: Strategy
  /** The children it has from the beginning, in the order of their start; further ones may be added. */
  readonly children: readonly ChildSpec[]
  readonly intensity: Intensity
  readonly backoff: Backoff
  readonly escalation: Escalation
  /** A child whose first start fails: the caller is told and it is not kept, or it counts as a death. */
  readonly firstStart: 'must_succeed' | 'counts_as_death'
}
