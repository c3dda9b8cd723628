// A supervisor as data, in OTP's terms: what it starts again, how often, and what happens after that.
// supervisors.ts holds the values. Every restart is bounded, by an intensity within a period or by a number
// over the child's whole life.
import type { Backoff, Intensity } from './restart-intensity.ts'

/**
 * What happens if the intensity is exceeded. `says` is the sentence for the log and the documentation.
 * - `fail`: all children are stopped, and the supervisor fails. Its own supervisor or its caller decides what
 * happens then.
 * - `leave`: the child is left alone, and the others go on.
 * - `wait`: the child is started again as soon as the intensity allows one more restart.
 */
export interface Escalation {
  readonly kind: 'fail' | 'leave' | 'wait'
  readonly says: string
}

/**
 * How often something is started again. Places that restart in their own way, such as from the journal, apply
 * it themselves.
 */
export interface RestartPolicy {
  readonly id: string
  /** What is started again, for the documentation. */
  readonly what: string
  readonly intensity: Intensity
  /** `null` means that there is no pause. */
  readonly backoff: Backoff | null
  readonly escalation: Escalation
  /** The reason of the numbers, for the documentation. */
  readonly why: string
}

/**
 * A supervisor as data, which `Supervision` runs. A death affects only the child that ended, and each child
 * is started again whenever it ends: OTP's `one_for_one` of `permanent` children.
 */
export interface SupervisorSpec extends RestartPolicy {
  readonly intensity: Intensity & { readonly counts: 'each_child' }
  readonly backoff: Backoff
  /**
   * If the first start of a child fails, the caller gets the error and the child is not kept, or the failure
   * counts as a death.
   */
  readonly firstStart: 'must_succeed' | 'counts_as_death'
}
