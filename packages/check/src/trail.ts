// Trail: what the rules remember about one task while its log is read. An ended task keeps only a few fields,
// and an ended run its end but not its calls.
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
  /** The highest epoch of a claim. */
  claimedEpoch: number
  /** The daemon that writes in the epoch of the head. */
  epochSource: string | null
  /** Whether another daemon wrote a command in this epoch, so that the fence refuses the owner. */
  overwritten: boolean
  /** The daemon that drives the task, or `null`. */
  owner: string | null
  previousTask: string | null
  submitted: boolean
  /** Whether a part could not be read, so that rules about earlier events do not apply. */
  blind: boolean
  begun: boolean
  deadLettered: boolean
  /** The type of the terminal event; `null` before it. */
  ended: string | null
  lastTime: string
  /** The steering requests, and whether a run received their texts. */
  readonly steers: Map<string, 'requested' | 'given'>
  readonly runs: Map<string, Run>
  readonly teams: Map<string, Team>
  /** The calls that started a team, as `run call`. */
  readonly teamCalls: Set<string>
  /** The runs that a node started, by the node's place. */
  readonly nodeRuns: Map<string, string>
  /** Whether a check looks at a place of an output, which then needs the last answer of each run. */
  looksInside: boolean
  readonly answers: Map<string, string>
}

export interface Call {
  started: boolean
  idempotent: boolean
  approval: 'requested' | 'granted' | 'denied' | null
  settled: boolean
  /** How many questions the call asked, and whether the last one has an answer. */
  asked: number
  answered: boolean
  /** Whether the call is with the client, or the client has answered. */
  client: 'asked' | 'answered' | null
}

export interface Run {
  status: 'open' | 'completed' | 'failed' | 'cancelled'
  /** Whether the conversation waits for the model. */
  due: boolean
  /** Whether an answer was refused for its form, which happens once. */
  rejected: boolean
  skillsChosen: boolean
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
    ended: null,
    lastTime: '',
    steers: new Map(),
    runs: new Map(),
    teams: new Map(),
    teamCalls: new Set(),
    nodeRuns: new Map(),
    looksInside: false,
    answers: new Map(),
  }
}

export const newRun = (): Run => ({
  status: 'open',
  due: false,
  rejected: false,
  skillsChosen: false,
  calls: new Map(),
})
export const newCall = (): Call => ({
  started: false,
  idempotent: false,
  approval: null,
  settled: false,
  asked: 0,
  answered: true,
  client: null,
})
export const newNode = ({ depends_on, quorum }: GraphNode): Node => ({
  status: 'waiting',
  dependsOn: new Set(depends_on),
  quorum,
  runId: null,
})
