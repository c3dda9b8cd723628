// The worker's side of a shard: many AgentLoops in one thread, each a promise that mostly waits.
// S1. A loop that breaks takes no other with it. S2. The shard ends when its port closes. S3. A loop has the external tools there
//     were when it began.
import type { MessagePort } from 'node:worker_threads'
import { externalTool, type LoopHost, type LoopServices, runAgentLoop } from '@beaver/agent'
import { messageOf, TransientMap } from '@beaver/core'
import { batchedPost, type FromShard, type HostAnswer, type HostCall, type ToShard } from './protocol.ts'

/** Serves loops until the port closes. */
export function serveShard(port: MessagePort, services: LoopServices): Promise<void> {
  const post = batchedPost<FromShard>(port)
  const cancels = new TransientMap<number, AbortController>()
  const calls = new TransientMap<number, { resolve(value: never): void; reject(error: Error): void }>()
  let lastCall = 0

  let offered = services

  const ask = <Value extends HostAnswer>(loop: number, what: HostCall, signal?: AbortSignal): Promise<Value> =>
    new Promise<Value>((resolve, reject) => {
      const call = ++lastCall
      calls.set(call, { resolve: resolve as (value: never) => void, reject })
      post({ kind: 'call', loop, call, ask: what })
      signal?.addEventListener('abort', () => calls.has(call) && post({ kind: 'abandon', loop, call }), { once: true })
    })

  function start({ loop, spec }: Extract<ToShard, { kind: 'start' }>): void {
    const cancel = new AbortController()
    cancels.set(loop, cancel)
    const host: LoopHost = {
      append: (drafts, end) => ask(loop, { of: 'append', drafts, end }),
      runTeam: (callId, graph) => ask(loop, { of: 'team', callId, graph }),
      sharedState: (access) => ask(loop, { of: 'shared_state', access }),
      approval: (callId) => ask(loop, { of: 'approval', callId }),
      memory: (change) => ask(loop, { of: 'memory', change }),
      searchSessions: (request) => ask(loop, { of: 'search', request }),
      callExternal: (external, signal) => ask(loop, { of: 'external', external }, signal),
      delta: (delta) => post({ kind: 'delta', loop, delta }),
    }
    runAgentLoop(spec, offered, host, cancel.signal)
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
      case 'external_tools':
        offered = { ...services, tools: [...services.tools, ...message.tools.map(externalTool)] }
        return
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
