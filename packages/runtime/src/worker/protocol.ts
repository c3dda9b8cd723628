// The calls between the main thread and a worker thread, by core's port-calls.ts. A shard has one port, which
// all of its loops share, so messages arrive in order. Number 0 of the port is the shard itself, and each
// loop has its own number, under which its thread calls the loop's host.
import type { MessagePort } from 'node:worker_threads'
import { isOn, type LogLine } from '@beaver/core'
import type { RunStatus } from '@beaver/core/fold'
import type { KnownSecret } from '@beaver/core/secrets'
import type { Port } from '@beaver/core/port-calls'
import type { AgentTexts, ExternalTool, LoopEnd, LoopHost, LoopSpec, Skill, Steer } from '@beaver/agent'

/**
 * What a shard's two sides share: the port for messages, and the vitals, which the main thread reads without
 * the thread's help. `models`: a port to the program's models; absent: there are none.
 */
export interface ShardPlace {
  readonly port: MessagePort
  readonly vitals: SharedArrayBuffer
  readonly models?: MessagePort
}

/** The number of the shard itself. */
export const shardItself = 0

/** What a loop is started with, as it crosses: the skills of its workspace have crossed before. */
export type SentSpec = Omit<LoopSpec, 'workspaceSkills'> & {
  /** The number under which the thread keeps the skills of the workspace. Absent: there are none. */
  readonly skillsNumber?: number
}

/** What the thread does. */
export interface ShardThread {
  /** Runs a loop to its end. Rejects if it broke (a defect) or if its task is no longer ours. */
  run(loop: number, spec: SentSpec): Promise<LoopEnd>
  cancel(loop: number, reason: string): void
  /** Gives a loop a text with which its task was steered. */
  steer(loop: number, steer: Steer): void
  /** Drops a loop, which resumes later from the journal. Nothing more is sent for it. */
  drop(loop: number, reason: string): void
  /** Sets the external tools of later loops; running loops keep theirs. */
  setExternalTools(tools: readonly ExternalTool[]): void
  /** Sets the skills, definitions and profiles of later loops; running loops keep theirs. */
  setAgentTexts(texts: AgentTexts): void
  /** Sets the tools that cost the daemon several threads: their later calls run in cells. */
  setSuspectTools(tools: readonly string[]): void
  /** Keeps the skills of a workspace for later loops. */
  keepSkills(number: number, skills: readonly Skill[]): void
  forgetSkills(number: number): void
  /** Sets the secrets to hide. It arrives before the result of any call that follows. */
  setSecrets(secrets: readonly KnownSecret[]): void
  /** What each loop is doing, by its number. */
  statuses(): Promise<ReadonlyMap<number, RunStatus>>
}

/** What the main thread does for the thread as a whole. */
export interface ShardHome {
  /** @param tools by the numbers under which the thread lists them in its vitals */
  ready(thread: number, tools: readonly string[]): void
  /** Logs a fact. The main thread writes it, because it knows the secrets to hide. */
  log(line: LogLine): void
}

/** What the main thread does for a loop. */
export type LoopHome = Omit<LoopHost, 'steers' | 'works' | 'shows'>

/**
 * Posts all messages of one callback of the event loop as one array; with the switch `batched_posts` off, one
 * by one.
 */
export function batchedPort(port: Port): Port {
  const isBatched = isOn('batched_posts')
  let outbox: unknown[] = []
  return {
    on: (event, listener) =>
      port.on(event, (messages) => {
        for (const message of messages as readonly unknown[]) listener(message)
      }),
    postMessage(message) {
      if (!isBatched) return port.postMessage([message], [])
      outbox.push(message)
      if (outbox.length > 1) return
      process.nextTick(() => {
        const messages = outbox
        outbox = []
        port.postMessage(messages, [])
      })
    },
  }
}
