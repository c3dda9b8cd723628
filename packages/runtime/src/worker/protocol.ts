// What crosses the threads: plain data, several messages a post. One port per shard, all its loops on it.
import type { Draft, ExecutionGraph, SharedStateResult } from '@beaver/core'
import type { LoopEnd, LoopSpec, SharedStateAccess, TeamRefusal, TeamResult } from '@beaver/agent'

/** What a call of the host gives back. */
export type HostAnswer = number | TeamResult | TeamRefusal | SharedStateResult

export type ToShard =
  | { readonly kind: 'start'; readonly loop: number; readonly spec: LoopSpec }
  | { readonly kind: 'cancel'; readonly loop: number; readonly reason: string }
  | { readonly kind: 'reply'; readonly call: number; readonly ok: true; readonly value: HostAnswer }
  | { readonly kind: 'reply'; readonly call: number; readonly ok: false; readonly message: string }

export type FromShard =
  | { readonly kind: 'append'; readonly loop: number; readonly call: number; readonly drafts: readonly Draft[]; readonly end: LoopEnd | null }
  | { readonly kind: 'team'; readonly loop: number; readonly call: number; readonly callId: string; readonly graph: ExecutionGraph }
  | { readonly kind: 'shared_state'; readonly loop: number; readonly call: number; readonly access: SharedStateAccess }
  | { readonly kind: 'ended'; readonly loop: number; readonly end: LoopEnd }
  /** The loop broke (a defect) or its task is no longer ours. */
  | { readonly kind: 'broke'; readonly loop: number; readonly message: string }

interface Postable {
  postMessage(value: unknown): void
}

/** Collects what is sent within one turn of the event loop and posts it as one array. */
export function batchedPost<Message>(port: Postable): (message: Message) => void {
  let outbox: Message[] = []
  return (message) => {
    outbox.push(message)
    if (outbox.length > 1) return
    setImmediate(() => {
      const messages = outbox
      outbox = []
      port.postMessage(messages)
    })
  }
}
