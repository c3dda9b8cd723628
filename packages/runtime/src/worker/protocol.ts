// The messages between the main thread and a worker thread: plain data, several messages in one post. A shard
// has one port, which all of its loops share.
import type { MessagePort } from 'node:worker_threads'
import { isOn } from '@beaver/core'
import type {
  Draft,
  ExecutionGraph,
  KnownSecret,
  LiveDelta,
  LogLine,
  MemoryAnswer,
  MemoryChange,
  Question,
  SessionSearchHit,
  SessionSearchRequest,
  SharedStateResult,
  Taint,
} from '@beaver/core'
import type {
  AgentTexts,
  AskPerson,
  ApprovalDecision,
  CallDescription,
  ExternalCall,
  ExternalResult,
  ExternalTool,
  LoopEnd,
  LoopHost,
  LoopSpec,
  PauseRequest,
  AskedOfPerson,
  QuestionSettled,
  SharedStateAccess,
  Steer,
  TeamRefusal,
  TeamResult,
} from '@beaver/agent'

/** What an external call asks a person before it goes on. */
export interface ExternalQuestion {
  readonly asks: Question
}
/** What the person answered, or why the call may not ask. */
export type ExternalAnswer =
  | Awaited<ReturnType<AskPerson>>
  | { readonly refused: { readonly code: string; readonly message: string } }

/** What a call of the host gives back. */
export type HostAnswer =
  | number
  | null
  | TeamResult
  | TeamRefusal
  | SharedStateResult
  | ApprovalDecision
  | MemoryAnswer
  | readonly SessionSearchHit[]
  | ExternalResult
  | ExternalQuestion
  | QuestionSettled
  | CallDescription
  | Uint8Array

/** A call of the host that has an answer. */
export type HostCall =
  | { readonly of: 'append'; readonly drafts: readonly Draft[]; readonly end: LoopEnd | null }
  | { readonly of: 'still_ours' }
  | {
      readonly of: 'team'
      readonly callId: string
      readonly graph: ExecutionGraph | null
      readonly taint: Taint
    }
  | { readonly of: 'team_of'; readonly callId: string }
  | { readonly of: 'shared_state'; readonly access: SharedStateAccess; readonly taint: Taint }
  | { readonly of: 'approval'; readonly callId: string }
  | { readonly of: 'answer'; readonly question: AskedOfPerson }
  | { readonly of: 'memory'; readonly change: MemoryChange }
  | { readonly of: 'search'; readonly request: SessionSearchRequest }
  | { readonly of: 'pause'; readonly request: PauseRequest }
  | { readonly of: 'store_blob'; readonly sha256: string; readonly bytes: Uint8Array }
  | { readonly of: 'load_blob'; readonly sha256: string }
  | { readonly of: 'external'; readonly external: ExternalCall }
  /**
   * The answer to the question of an external call that is under way. `null`: nobody waits for the call any
   * more.
   */
  | { readonly of: 'external_told'; readonly callId: string; readonly answer: ExternalAnswer | null }
  | { readonly of: 'describe'; readonly external: ExternalCall }

/**
 * Where a shard's two sides meet: messages go through the port, vitals are read without the thread's help.
 * `models`: where the thread asks the models of the program; absent: there are none.
 */
export interface ShardPlace {
  readonly port: MessagePort
  readonly vitals: SharedArrayBuffer
  readonly models?: MessagePort
}

export type ToShard =
  | { readonly kind: 'start'; readonly loop: number; readonly spec: LoopSpec }
  | { readonly kind: 'cancel'; readonly loop: number; readonly reason: string }
  /** The task of the loop was steered. */
  | { readonly kind: 'steer'; readonly loop: number; readonly steer: Steer }
  /** The loop is taken up again later, from the journal. Nothing more is heard of it here. */
  | { readonly kind: 'drop'; readonly loop: number; readonly reason: string }
  /** What the daemon's process offers from now on; loops that run keep what they have. */
  | { readonly kind: 'external_tools'; readonly tools: readonly ExternalTool[] }
  /** The skills, definitions and profiles from now on; loops that run keep what they have. */
  | { readonly kind: 'agent_texts'; readonly texts: AgentTexts }
  /** Tools that cost the daemon several threads: calls that begin from now on run in cells. */
  | { readonly kind: 'suspect_tools'; readonly tools: readonly string[] }
  /** What the daemon's process hides from now on. It comes before the result of any call that follows. */
  | { readonly kind: 'secrets'; readonly secrets: readonly KnownSecret[] }
  | { readonly kind: 'reply'; readonly call: number; readonly ok: true; readonly value: HostAnswer }
  | { readonly kind: 'reply'; readonly call: number; readonly ok: false; readonly message: string }

export type FromShard =
  /** `tools`: by the numbers under which the thread lists them in its vitals. */
  | { readonly kind: 'ready'; readonly thread: number; readonly tools: readonly string[] }
  /** A fact for the log, which the main thread writes: it knows the secrets no line may show. */
  | { readonly kind: 'log'; readonly line: LogLine }
  | { readonly kind: 'call'; readonly loop: number; readonly call: number; readonly ask: HostCall }
  /** The answer of the call is not waited for any more. */
  | { readonly kind: 'abandon'; readonly loop: number; readonly call: number }
  | {
      readonly kind: 'delta'
      readonly loop: number
      readonly delta: Pick<LiveDelta, 'call' | 'offset' | 'text'>
    }
  | {
      readonly kind: 'progress'
      readonly loop: number
      readonly update: Parameters<NonNullable<LoopHost['progress']>>[0]
    }
  | { readonly kind: 'ended'; readonly loop: number; readonly end: LoopEnd }
  /** The loop broke (a defect) or its task is no longer ours. */
  | { readonly kind: 'broke'; readonly loop: number; readonly message: string }

interface Postable {
  postMessage(value: unknown): void
}

/**
 * Collects what one callback of the event loop and what it leads to send, and posts it as one array; with the
 * switch `batched_posts` off, one by one.
 */
export function batchedPost<Message>(port: Postable): (message: Message) => void {
  if (!isOn('batched_posts')) return (message) => port.postMessage([message])
  let outbox: Message[] = []
  return (message) => {
    outbox.push(message)
    if (outbox.length > 1) return
    process.nextTick(() => {
      const messages = outbox
      outbox = []
      port.postMessage(messages)
    })
  }
}
