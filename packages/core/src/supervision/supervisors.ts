// Every supervisor of Beaver, with its data. docs/reference/supervision.md shows the same table, and a test compares the two.
// The code that runs a supervisor reads its row here. No code reads the rows of tasks, teams and loops: they describe decisions of the runtime.
// T1. Nothing in Beaver is started again without a bound, and each bound is in this table.
import { failurePolicies } from '../failure/failure-policy.ts'
import type { SupervisorSpec } from './supervisor-spec.ts'

/** Every supervisor of Beaver, by its name. */
export const supervisors = {
  /**
   * The parts of `beaver up`. The strategy is one for one although all parts use the nats-server: a daemon that is started again gives up
   * the tasks that it drives and must read their logs. A daemon that goes on reconnects by itself, on the same port, and waits for its writes.
   * The first death in a while leads to a restart with almost no pause, because tasks make no progress until the part is back.
   */
  services: {
    id: 'services',
    strategy: 'one_for_one',
    children: [
      { id: 'nats-server', restart: 'permanent' },
      { id: 'projector', restart: 'permanent' },
      { id: 'supervisor', restart: 'permanent' },
    ],
    intensity: { restartsMax: 5, periodMs: 60_000, counts: 'each_child' },
    backoff: { pauseMsFirst: 10, pauseMsMin: 200, pauseMsMax: 5_000, jitter: false },
    escalation: { kind: 'fail', says: '"beaver up" stops everything and ends with exit code 3' },
    firstStart: 'must_succeed',
  },
  /** The worker threads of a daemon. */
  worker_pool: {
    id: 'worker_pool',
    strategy: 'one_for_one',
    children: [{ id: 'worker thread', restart: 'permanent' }],
    intensity: { restartsMax: 20, periodMs: 60_000, counts: 'all_children' },
    backoff: { pauseMsMin: 50, pauseMsMax: 1_000, jitter: false },
    escalation: { kind: 'fail', says: 'the daemon ends, and its supervisor decides' },
    firstStart: 'must_succeed',
  },
  /** An MCP server that a daemon starts. Each has its own supervisor. `restarts_max` of its configuration is the intensity. */
  mcp_program: {
    id: 'mcp_program',
    strategy: 'one_for_one',
    children: [{ id: 'MCP server', restart: 'permanent' }],
    intensity: { restartsMax: 5, periodMs: 600_000, counts: 'each_child' },
    backoff: { pauseMsMin: 500, pauseMsMax: 30_000, jitter: true },
    escalation: { kind: 'leave', says: 'its tools are withdrawn until the daemon starts again' },
    firstStart: 'counts_as_death',
  },
  /** An MCP server over HTTP. Beaver cannot start it, so it is connected again for as long as the daemon runs. */
  mcp_http: {
    id: 'mcp_http',
    strategy: 'one_for_one',
    children: [{ id: 'MCP server', restart: 'permanent' }],
    intensity: { restartsMax: 5, periodMs: 600_000, counts: 'each_child' },
    backoff: { pauseMsMin: 500, pauseMsMax: 30_000, jitter: true },
    escalation: { kind: 'wait', says: 'it is connected again as soon as the period allows' },
    firstStart: 'counts_as_death',
  },
  /** The simulated model beside a daemon. A restart uses the port of the first start. */
  simulated_model: {
    id: 'simulated_model',
    strategy: 'one_for_one',
    children: [{ id: 'simulated model', restart: 'permanent' }],
    intensity: { restartsMax: 5, periodMs: 60_000, counts: 'each_child' },
    backoff: { pauseMsMin: 200, pauseMsMax: 5_000, jitter: false },
    escalation: { kind: 'fail', says: 'the daemon ends, and its supervisor decides' },
    firstStart: 'must_succeed',
  },
  /** A task among the daemons. A death is an owner that went away without a release. `daemon.owners_lost_max` is the intensity. */
  task: {
    id: 'task',
    strategy: 'one_for_one',
    children: [{ id: 'owner of the task', restart: 'transient' }],
    intensity: { restartsMax: 5, periodMs: null, counts: 'each_child' },
    backoff: { pauseMsMin: 0, pauseMsMax: 0, jitter: false },
    escalation: { kind: 'leave', says: 'the task is dead-lettered and fails' },
    firstStart: 'counts_as_death',
  },
  /** The nodes of a team. A node that failed is not run again, and the nodes that depend on it are blocked. */
  team: {
    id: 'team',
    strategy: 'one_for_one',
    children: [{ id: 'node', restart: 'temporary' }],
    intensity: { restartsMax: 0, periodMs: null, counts: 'each_child' },
    backoff: { pauseMsMin: 0, pauseMsMax: 0, jitter: false },
    escalation: { kind: 'leave', says: 'what depends on the node is blocked, and the other branches go on' },
    firstStart: 'counts_as_death',
  },
  /** A loop whose thread is lost. It is folded from the journal and goes on in another thread. */
  loop: {
    id: 'loop',
    strategy: 'one_for_one',
    children: [{ id: 'loop', restart: 'transient' }],
    intensity: { restartsMax: restartsOf('worker_lost'), periodMs: null, counts: 'each_child' },
    backoff: { pauseMsMin: 0, pauseMsMax: 0, jitter: false },
    escalation: { kind: 'leave', says: 'the run fails with the failure class, and its team or task decides' },
    firstStart: 'counts_as_death',
  },
  /** A loop whose thread ran out of memory. It is likely to do so again. */
  loop_out_of_memory: {
    id: 'loop_out_of_memory',
    strategy: 'one_for_one',
    children: [{ id: 'loop', restart: 'transient' }],
    intensity: { restartsMax: restartsOf('out_of_memory'), periodMs: null, counts: 'each_child' },
    backoff: { pauseMsMin: 0, pauseMsMax: 0, jitter: false },
    escalation: { kind: 'leave', says: 'the run fails with the failure class, and its team or task decides' },
    firstStart: 'counts_as_death',
  },
} as const satisfies Readonly<Record<string, SupervisorSpec>>

/** The bound comes from the policy of the failure class, where it is defined once. */
function restartsOf(failureClass: 'worker_lost' | 'out_of_memory'): number {
  const policy = failurePolicies[failureClass]
  return policy.action === 'restart' ? policy.restartsMax : 0
}
