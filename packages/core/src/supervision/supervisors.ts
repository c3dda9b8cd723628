// Every restart of Beaver, with its bound and its reason; docs/reference/supervision.md shows the same table.
// `Supervision` runs the rows with a `firstStart`; the runtime applies the others in its own way. A
// configuration may change only `restartsMax`. A repeated read, request or subscription is no restart: its
// pauses are where it is made.
import type { RestartPolicy, SupervisorSpec } from './supervisor-spec.ts'

/**
 * Beaver gives up on a task that lost this many times its bound of charged owners in a row without progress.
 */
export const timesWithoutProgress = 20

const ownersLostMax = 5
/**
 * A part of one process or one machine. Its pauses need no jitter, because no other machine starts the same
 * part.
 */
const ofPart = {
  intensity: { restartsMax: 5, periodMs: 60_000, counts: 'each_child' },
  backoff: { pauseMsMin: 200, pauseMsMax: 5_000, jitter: false },
} as const
const ofService = {
  ...ofPart,
  backoff: { pauseMsFirst: 10, ...ofPart.backoff },
  firstStart: 'must_succeed',
} as const
const ofMcpServer = {
  what: 'MCP server',
  intensity: { restartsMax: 5, periodMs: 600_000, counts: 'each_child' },
  backoff: { pauseMsMin: 500, pauseMsMax: 30_000, jitter: true },
  firstStart: 'counts_as_death',
} as const
const ofLoop = {
  what: 'loop',
  backoff: null,
  escalation: { kind: 'leave', says: 'the run fails with the failure class, and its team or task decides' },
} as const
const ofTask = {
  what: 'owner of the task',
  escalation: { kind: 'leave', says: 'the task is dead-lettered and fails' },
} as const

/** Every supervisor of Beaver, by its name. */
export const supervisors = {
  /**
   * The parts of `beaver up`. A death affects one part only, although all parts use the nats-server: a daemon
   * that is started again gives up the tasks that it drives and must read their logs. A daemon that goes on
   * reconnects by itself, on the same port, and waits for its writes.
   */
  services: {
    ...ofService,
    id: 'services',
    what: 'nats-server, projector, daemon, gateway',
    escalation: { kind: 'fail', says: '"beaver up" stops everything and ends with exit code 3' },
    why: 'tasks make no progress until the part is back, so the first pause is short',
  },
  /** The nats-server of an AgentService. A restart uses the port of the first start. */
  service_nats: {
    ...ofService,
    id: 'service_nats',
    what: 'nats-server of an AgentService',
    escalation: { kind: 'fail', says: 'the service fails, and the program that embeds it decides' },
    why: 'it is the same child as in `services`',
  },
  /** The simulated model beside a daemon. A restart uses the port of the first start. */
  simulated_model: {
    ...ofPart,
    id: 'simulated_model',
    what: 'simulated model',
    escalation: { kind: 'fail', says: 'the daemon ends, and its supervisor decides' },
    firstStart: 'must_succeed',
    why: 'calls fail meanwhile and are tried again, so no short first pause is needed',
  },
  /**
   * An MCP server that a daemon starts. Each has its own supervisor. `restarts_max` of its configuration is
   * the intensity.
   */
  mcp_program: {
    ...ofMcpServer,
    id: 'mcp_program',
    escalation: { kind: 'leave', says: 'its tools are withdrawn until the daemon starts again' },
    why: 'a program of others may be slow to start, and agents can work without it',
  },
  /**
   * An MCP server over HTTP. Beaver cannot start it, so it is connected again for as long as the daemon runs.
   */
  mcp_http: {
    ...ofMcpServer,
    id: 'mcp_http',
    escalation: { kind: 'wait', says: 'it is connected again as soon as the period allows' },
    why: 'many daemons may ask one server, so the pauses differ from each other',
  },
  /** The thread in which a daemon searches its knowledge bases. */
  knowledge: {
    ...ofPart,
    id: 'knowledge',
    what: 'thread of the knowledge bases',
    escalation: {
      kind: 'wait',
      says: 'it is started again as soon as the period allows; until then searches fail',
    },
    firstStart: 'counts_as_death',
    why: 'agents can work without it, and its index is on disk',
  },
  /** The worker threads of a daemon. A loss that is charged to a loop does not count for the intensity. */
  worker_pool: {
    id: 'worker_pool',
    what: 'worker thread',
    intensity: { restartsMax: 20, periodMs: 60_000, counts: 'all_children' },
    backoff: { pauseMsMin: 50, pauseMsMax: 1_000, jitter: false },
    escalation: { kind: 'fail', says: 'the daemon ends, and its supervisor decides' },
    why: 'a thread starts fast and serves many loops; only losses without a suspect speak against the daemon',
  },
  /**
   * A tool of the user in the worker threads. A death is a lost thread in which a call of the tool was under
   * way.
   */
  suspect_tool: {
    id: 'suspect_tool',
    what: 'tool in a worker thread',
    intensity: { restartsMax: 2, periodMs: 600_000, counts: 'each_child' },
    backoff: null,
    escalation: { kind: 'leave', says: 'its calls run in a separate process until the daemon ends' },
    why: 'one or two losses may be a coincidence; an innocent tool in a separate process only costs time',
  },
  /**
   * A loop whose thread is lost. It is folded from the journal and goes on in another thread. The journal
   * counts its restarts.
   */
  loop: {
    ...ofLoop,
    id: 'loop',
    intensity: { restartsMax: 3, periodMs: null, counts: 'each_child' },
    why: 'an answer of a model that breaks a thread several times will do so again',
  },
  /** A loop whose thread ran out of memory. */
  loop_out_of_memory: {
    ...ofLoop,
    id: 'loop_out_of_memory',
    intensity: { restartsMax: 1, periodMs: null, counts: 'each_child' },
    why: 'the same answer is likely to fill the memory again',
  },
  /** A loop whose tools took the thread along, with either failure class. */
  loop_suspect_tools: {
    ...ofLoop,
    id: 'loop_suspect_tools',
    intensity: { restartsMax: 16, periodMs: null, counts: 'each_child' },
    why: 'each tool costs a run one thread, because it runs in a separate process afterwards; the bound is for tools that find another way',
  },
  /**
   * A task whose owner died while a tool call was under way. `daemon.owners_lost_max` is the intensity. The
   * journal counts the owners.
   */
  task: {
    ...ofTask,
    id: 'task',
    intensity: { restartsMax: ownersLostMax, periodMs: null, counts: 'each_child' },
    backoff: null,
    why: 'a tool that kills its owner must not kill every daemon; the others take the task over at once',
  },
  /**
   * A task that loses owners in a row without progress, for any reason. The pause is for a task that its
   * daemon gives back after an error.
   */
  task_without_progress: {
    ...ofTask,
    id: 'task_without_progress',
    intensity: { restartsMax: timesWithoutProgress * ownersLostMax, periodMs: null, counts: 'each_child' },
    backoff: { pauseMsMin: 1_000, pauseMsMax: 60_000, jitter: false },
    why: 'owners die for many reasons that are not the task: 20 times the bound of `task`',
  },
} as const satisfies Readonly<Record<string, RestartPolicy | SupervisorSpec>>
