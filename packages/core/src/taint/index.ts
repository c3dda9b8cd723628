// Labels of data: where a text comes from and where it may go.
export {
  defaultEgressPolicy,
  egressGuard,
  type EgressPolicy,
  type Guard,
  guards,
  type Sink,
  sinks,
  stricter,
} from './egress-policy.ts'
export {
  cleanTaint,
  isUnlabelled,
  joinTaints,
  labelsOf,
  type Taint,
  type TaintLabel,
  taint,
  taintLabels,
  workspaceSkill,
} from './taint.ts'
