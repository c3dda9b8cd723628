// The worker's side of a shard: many AgentLoops in one thread, each a promise that mostly waits.
// S1. A loop that breaks takes no other with it. S2. The shard ends when its port closes.
import type { MessagePort } from 'node:worker_threads'
import { type LoopHost, type LoopServices, runAgentLoop, type TeamRefusal, type TeamResult } from '@beaver/agent'
import { messageOf, type SharedStateResult } from '@beaver/core'
import { batchedPost, type FromShard, type HostAnswer, type ToShard } from './protocol.ts'

/** Serves loops until the port closes. */
export function serveShard(port: MessagePort, services: LoopServices): Promise<void> {
  const post = batchedPost<FromShard>(port)
  const cancels = new Map<number, AbortController>()
  const calls = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  let lastCall = 0

  const ask = <Value extends HostAnswer>(message: (call: number) => FromShard): Promise<Value> =>
    new Promise<Value>((resolve, reject) => {
      const call = ++lastCall
      calls.set(call, { resolve: resolve as (value: never) => void, reject })
      post(message(call))
    })

  function start({ loop, spec }: Extract<ToShard, { kind: 'start' }>): void {
    const cancel = new AbortController()
    cancels.set(loop, cancel)
    const host: LoopHost = {
      append: (drafts, end) => ask<number>((call) => ({ kind: 'append', loop, call, drafts, end })),
      runTeam: (callId, graph) => ask<TeamResult | TeamRefusal>((call) => ({ kind: 'team', loop, call, callId, graph })),
      sharedState: (access) => ask<SharedStateResult>((call) => ({ kind: 'shared_state', loop, call, access })),
    }
    runAgentLoop(spec, services, host, cancel.signal)
      .then(
        (end) => post({ kind: 'ended', loop, end }),
        (error: unknown) => post({ kind: 'broke', loop, message: messageOf(error) }),
      )
      .finally(() => cancels.delete(loop))
  }

  function receive(message: ToShard): void {
    switch (message.kind) {
      case 'start':
        return start(message)
      case 'cancel':
        return cancels.get(message.loop)?.abort(message.reason)
      case 'reply': {
        const call = calls.get(message.call)
        calls.delete(message.call)
        if (message.ok) call?.resolve(message.value as never)
        else call?.reject(new Error(message.message))
        return
      }
      default:
        message satisfies never
    }
  }

  return new Promise((resolve) => {
    port.on('message', (messages: readonly ToShard[]) => messages.forEach(receive))
    port.once('close', () => resolve())
    port.start()
    port.postMessage([]) // ready
  })
}
