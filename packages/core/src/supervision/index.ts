// Supervision: classes of failure, policies, restarts.
export {
  type Failure,
  type FailureClass,
  failure,
  failureClass,
  fallbackClasses,
} from '../failure/failure-class.ts'
export {
  type FailedTries,
  type FailurePolicies,
  type FailurePolicy,
  failurePolicies,
  outageClasses,
  paidTriesMax,
  policiesWith,
  type RetryChange,
  retryPauseMs,
  retryTimeMsMax,
  waitMsDefault,
} from '../failure/failure-policy.ts'
export {
  afterDeath,
  type AfterDeath,
  type Backoff,
  type Intensity,
  isExceeded,
  pauseBefore,
  recentDeaths,
} from './restart-intensity.ts'
export {
  type ChildEnd,
  type RunningChild,
  type StartChild,
  Supervision,
  type SupervisionOptions,
  type SupervisionStatus,
} from './supervision.ts'
export type { Escalation, RestartPolicy, SupervisorSpec } from './supervisor-spec.ts'
export { supervisors, timesWithoutProgress } from './supervisors.ts'
