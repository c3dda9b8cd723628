// Trail: what the rules remember of one task while its log is read.
// T1. An ended task is a few fields: its runs and teams are dropped. T2. An ended run keeps its end only, not its calls.
import type { GraphNode } from './event.ts'
import type { LogPlace } from './layout.ts'

export interface Head {
  readonly taskseq: number
  readonly epoch: number
  readonly hash: string
}

export interface Trail {
  readonly log: LogPlace
  head: Head
  /** The highest epoch that a claim had. */
  claimedEpoch: number
  /** Who writes in the epoch of the head. */
  epochSource: string | null
  /** Another daemon wrote a command in this epoch: the fence refuses the owner from then on. */
  overwritten: boolean
  /** The daemon that drives the task; `null` while nobody does. */
  owner: string | null
  previousTask: string | null
  submitted: boolean
  /** Something of it could not be read: the rules that rest on what happened before do not apply any more. */
  blind: boolean
  begun: boolean
  deadLettered: boolean
  /** Of the events that follow, as many are copies; and whether the event at hand is one. */
  copiesLeft: number
  copied: boolean
  /** The type of its terminal event. */
  ended: string | null
  lastTime: string
  readonly runs: Map<string, Run>
  readonly teams: Map<string, Team>
  /** Calls that started a team, as `run call`. */
  readonly teamCalls: Set<string>
  /** Runs that a node started, with their place. */
  readonly nodeRuns: Map<string, string>
}

export interface Call {
  started: boolean
  idempotent: boolean
  approval: 'requested' | 'granted' | 'denied' | null
  settled: boolean
}

export interface Run {
  status: 'open' | 'completed' | 'failed' | 'cancelled'
  /** The conversation waits for an answer of the model. */
  due: boolean
  skillsChosen: boolean
  /** Those of the last answer. */
  readonly calls: Map<string, Call>
}

export interface Node {
  status: 'waiting' | 'running' | 'completed' | 'skipped' | 'failed' | 'blocked' | 'cancelled'
  readonly dependsOn: Set<string>
  readonly quorum: number | undefined
  runId: string | null
}

export interface Team {
  ended: boolean
  readonly nodes: Map<string, Node>
}

export function newTrail(log: LogPlace): Trail {
  return {
    log,
    head: { taskseq: 0, epoch: 0, hash: '0'.repeat(64) },
    claimedEpoch: 0,
    epochSource: null,
    overwritten: false,
    owner: null,
    previousTask: null,
    submitted: false,
    blind: false,
    begun: false,
    deadLettered: false,
    copiesLeft: 0,
    copied: false,
    ended: null,
    lastTime: '',
    runs: new Map(),
    teams: new Map(),
    teamCalls: new Set(),
    nodeRuns: new Map(),
  }
}

export const newRun = (): Run => ({ status: 'open', due: false, skillsChosen: false, calls: new Map() })
export const newCall = (): Call => ({ started: false, idempotent: false, approval: null, settled: false })
export const newNode = ({ depends_on, quorum }: GraphNode): Node => ({ status: 'waiting', dependsOn: new Set(depends_on), quorum, runId: null })
