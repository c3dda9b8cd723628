// The worker's side of a shard: many AgentLoops in one thread, each a promise that mostly waits.
// S1. A loop that breaks takes no other with it. S2. The shard ends when its port closes. S3. A loop has the external tools there
//     were when it began. S4. What a tool leaves behind and throws later ends its call, not the thread (thread-guard.ts).
import { threadId } from 'node:worker_threads'
import { externalTool, LoopDropped, type LoopHost, type LoopServices, runAgentLoop } from '@beaver/agent'
import { loggerOver, messageOf, TransientMap } from '@beaver/core'
import { batchedPost, type FromShard, type HostAnswer, type HostCall, type ShardPlace, type ToShard } from './protocol.ts'
import { guardThread } from './thread-guard.ts'
import { writeVitals } from './thread-vitals.ts'

/** An answer that takes longer is late: the task may be somebody else's by the time it is read. */
const lateMs = 500
const lateLooksMax = 3

/** Serves loops until the port closes. */
export function serveShard({ port, vitals }: ShardPlace, services: Omit<LoopServices, 'suspectTools' | 'logger'>): Promise<void> {
  guardThread()
  const tools = services.tools.map(({ name }) => name)
  const watched = writeVitals(new Int32Array(vitals), tools)
  const post = batchedPost<FromShard>(port)
  const cancels = new TransientMap<number, AbortController>()
  const calls = new TransientMap<number, { readonly loop: number; resolve(value: never): void; reject(error: Error): void }>()
  /** The open calls of each loop. */
  const callsOf = new TransientMap<number, Set<number>>()
  let lastCall = 0

  const suspectTools = new Set<string>()
  const logger = loggerOver((line) => post({ kind: 'log', line }))
  let offered: LoopServices = { ...services, suspectTools, logger }

  const ask = <Value extends HostAnswer>(loop: number, what: HostCall, signal?: AbortSignal): Promise<Value> =>
    new Promise<Value>((resolve, reject) => {
      const call = ++lastCall
      calls.set(call, { loop, resolve: resolve as (value: never) => void, reject })
      callsOf.get(loop)?.add(call)
      post({ kind: 'call', loop, call, ask: what })
      signal?.addEventListener('abort', () => calls.has(call) && post({ kind: 'abandon', loop, call }), { once: true })
    })

  /** Whether the task of a loop is ours, asked only when no answer of its host says so since a moment. */
  function ownership(loop: number) {
    let knownAt = -Infinity
    const told = async <Value extends HostAnswer>(what: HostCall): Promise<Value> => {
      const askedAt = performance.now()
      const value = await ask<Value>(loop, what)
      knownAt = askedAt
      return value
    }
    const isKnown = (): boolean => performance.now() - knownAt <= lateMs
    // Answers that all come late say that the machine is slow, not that the process was stopped each time.
    const look = async (): Promise<void> => {
      for (let looks = 1; looks <= lateLooksMax && !isKnown(); looks++) await told<null>({ of: 'still_ours' })
    }
    return { told, stillOurs: () => (isKnown() ? null : look()) }
  }

  function start({ loop, spec }: Extract<ToShard, { kind: 'start' }>): void {
    const cancel = new AbortController()
    cancels.set(loop, cancel)
    callsOf.set(loop, new Set())
    const { told, stillOurs } = ownership(loop)
    const host: LoopHost = {
      append: (drafts, end) => told({ of: 'append', drafts, end }),
      stillOurs,
      runTeam: (callId, graph) => ask(loop, { of: 'team', callId, graph }),
      sharedState: (access) => ask(loop, { of: 'shared_state', access }),
      approval: (callId) => ask(loop, { of: 'approval', callId }),
      memory: (change) => ask(loop, { of: 'memory', change }),
      searchSessions: (request) => ask(loop, { of: 'search', request }),
      pause: async (request, signal) => void (await ask<null>(loop, { of: 'pause', request }, signal)),
      callExternal: (external, signal) => ask(loop, { of: 'external', external }, signal),
      delta: (delta) => post({ kind: 'delta', loop, delta }),
      works: (work) => watched.begin(loop, work),
    }
    runAgentLoop(spec, offered, host, cancel.signal)
      .then(
        (end) => post({ kind: 'ended', loop, end }),
        (error: unknown) => post({ kind: 'broke', loop, message: messageOf(error) }),
      )
      .finally(() => {
        cancels.delete(loop)
        // What a loop asked for and did not wait for any more would stay here for ever.
        for (const call of callsOf.get(loop) ?? []) calls.delete(call)
        callsOf.delete(loop)
      })
  }

  function receive(message: ToShard): void {
    switch (message.kind) {
      case 'start':
        return start(message)
      case 'cancel':
        return cancels.get(message.loop)?.abort(message.reason)
      case 'drop':
        return cancels.get(message.loop)?.abort(new LoopDropped(message.reason))
      case 'external_tools':
        offered = { ...offered, tools: [...services.tools, ...message.tools.map(externalTool)] }
        return
      case 'suspect_tools':
        suspectTools.clear()
        for (const tool of message.tools) suspectTools.add(tool)
        return
      case 'reply': {
        const call = calls.get(message.call)
        calls.delete(message.call)
        if (call !== undefined) callsOf.get(call.loop)?.delete(message.call)
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
    post({ kind: 'ready', thread: threadId, tools })
  })
}
