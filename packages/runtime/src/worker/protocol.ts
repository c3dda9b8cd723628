// What the main thread and a worker thread ask of each other, by core's port-calls.ts. A shard has one port,
// which all of its loops share, so what is sent arrives in order. Number 0 of the port is the shard itself,
// and each loop has a number of its own: there its thread calls the host of the loop.
import type { MessagePort } from 'node:worker_threads'
import { isOn, type KnownSecret, type LogLine } from '@beaver/core'
import type { Port } from '@beaver/core/port-calls'
import type { AgentTexts, ExternalTool, LoopEnd, LoopHost, LoopSpec, Steer } from '@beaver/agent'

/**
 * Where a shard's two sides meet: messages go through the port, vitals are read without the thread's help.
 * `models`: where the thread asks the models of the program; absent: there are none.
 */
export interface ShardPlace {
  readonly port: MessagePort
  readonly vitals: SharedArrayBuffer
  readonly models?: MessagePort
}

/** The number of the shard itself. */
export const shardItself = 0

/** What the thread does. */
export interface ShardThread {
  /** Runs a loop to its end. Rejects if it broke (a defect) or if its task is no longer ours. */
  run(loop: number, spec: LoopSpec): Promise<LoopEnd>
  cancel(loop: number, reason: string): void
  /** The task of the loop was steered. */
  steer(loop: number, steer: Steer): void
  /** The loop is taken up again later, from the journal. Nothing more is heard of it here. */
  drop(loop: number, reason: string): void
  /** What the daemon's process offers from now on; loops that run keep what they have. */
  setExternalTools(tools: readonly ExternalTool[]): void
  /** The skills, definitions and profiles from now on; loops that run keep what they have. */
  setAgentTexts(texts: AgentTexts): void
  /** Tools that cost the daemon several threads: calls that begin from now on run in cells. */
  setSuspectTools(tools: readonly string[]): void
  /** What the daemon's process hides from now on. It arrives before the result of any call that follows. */
  setSecrets(secrets: readonly KnownSecret[]): void
}

/** What the main thread does for the thread as a whole. */
export interface ShardHome {
  /** @param tools by the numbers under which the thread lists them in its vitals */
  ready(thread: number, tools: readonly string[]): void
  /** A fact for the log, which the main thread writes: it knows the secrets no line may show. */
  log(line: LogLine): void
}

/** What the main thread does for a loop. */
export type LoopHome = Omit<LoopHost, 'steers' | 'works'>

/**
 * Collects what one callback of the event loop and what it leads to send, and posts it as one array; with the
 * switch `batched_posts` off, one by one.
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
