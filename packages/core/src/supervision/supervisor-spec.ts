// A supervisor as data: which children it keeps, when and how often it starts them again, and what happens after that. The terms are OTP's.
// supervise.ts decides, and supervisors.ts holds the values.
// P1. Every restart is bounded: by an intensity within a period, or by a number over the child's whole life.

/**
 * The children that are started again after a death.
 * - `one_for_one`: only the child that ended.
 * - `one_for_all`: all children. The others are stopped first.
 * - `rest_for_one`: the child that ended, and those that were started after it. These are stopped first.
 */
export type Strategy = 'one_for_one' | 'one_for_all' | 'rest_for_one'

/**
 * When a child that ended is started again.
 * - `permanent`: always.
 * - `transient`: unless it ended normally.
 * - `temporary`: never.
 */
export type Restart = 'permanent' | 'transient' | 'temporary'

/** A child of a supervisor. */
export interface ChildSpec {
  /** Unique in its supervisor. */
  readonly id: string
  readonly restart: Restart
}

/** How many deaths a supervisor accepts before it escalates. */
export interface Intensity {
  /** If more than this many deaths happen within the period, the supervisor escalates. */
  readonly restartsMax: number
  /** `null` means the child's whole life. */
  readonly periodMs: number | null
  /** Which deaths count together. OTP counts `all_children`. `each_child` is the same as one supervisor for each child. */
  readonly counts: 'each_child' | 'all_children'
}

/** The pause before a restart. It doubles with each death within the period. With `jitter` it is between half and all of this. */
export interface Backoff {
  /** The pause after the first death within the period. The next pauses begin with `pauseMsMin`. Default: `pauseMsMin` is the first pause. */
  readonly pauseMsFirst?: number
  readonly pauseMsMin: number
  readonly pauseMsMax: number
  readonly jitter: boolean
}

/**
 * What happens if the intensity is exceeded. `says` is the sentence for the log and the documentation.
 * - `fail`: all children are stopped, and the supervisor fails. Its own supervisor or its caller decides what happens then.
 * - `leave`: the child is left alone, and the others go on.
 * - `wait`: the child is started again as soon as the intensity allows one more restart.
 */
export interface Escalation {
  readonly kind: 'fail' | 'leave' | 'wait'
  readonly says: string
}

/** A supervisor as data. */
export interface SupervisorSpec {
  readonly id: string
  readonly strategy: Strategy
  /** The children that it has from the beginning, in the order of their start. Further ones may be added. */
  readonly children: readonly ChildSpec[]
  readonly intensity: Intensity
  readonly backoff: Backoff
  readonly escalation: Escalation
  /** If the first start of a child fails, the caller gets the error and the child is not kept, or the failure counts as a death. */
  readonly firstStart: 'must_succeed' | 'counts_as_death'
}
