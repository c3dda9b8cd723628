// Answers, in the main thread, what a loop in a worker thread asks of its host.
// C1. Each call is answered once, unless its thread is gone.
// C2. A call that may be abandoned ends when its loop says so, or when its loop is lost.
import type { LoopHost } from '@beaver/agent'
import { messageOf } from '@beaver/core'
import type { HostAnswer, HostCall, ToShard } from './protocol.ts'

/** A loop's side of its calls. */
export interface Asking {
  readonly host: LoopHost
  /** Calls that may be abandoned. */
  readonly open: Map<number, AbortController>
}

export function answerCall(asking: Asking, { call, ask }: { call: number; ask: HostCall }, send: (message: ToShard) => void): void {
  hostCall(asking, call, ask).then(
    (value) => send({ kind: 'reply', call, ok: true, value }),
    (error: unknown) => send({ kind: 'reply', call, ok: false, message: messageOf(error) }),
  )
}

export function abandonAll({ open }: Asking): void {
  for (const call of open.values()) call.abort()
}

function hostCall({ host, open }: Asking, call: number, ask: HostCall): Promise<HostAnswer> {
  switch (ask.of) {
    case 'append':
      return host.append(ask.drafts, ask.end)
    case 'still_ours':
      return Promise.resolve(host.stillOurs?.()).then(() => null)
    case 'team':
      return host.runTeam(ask.callId, ask.graph, ask.taint)
    case 'team_of':
      return host.teamOf(ask.callId)
    case 'shared_state':
      return host.sharedState(ask.access, ask.taint)
    case 'approval':
      return host.approval(ask.callId)
    case 'memory':
      return host.memory(ask.change)
    case 'search':
      return host.searchSessions(ask.request)
    case 'pause':
      return abandonable((signal) => host.pause(ask.request, signal).then(() => null))
    case 'describe':
      return host.describeExternal?.(ask.external) ?? Promise.resolve(null)
    case 'external':
      return abandonable((signal) => host.callExternal(ask.external, signal))
    default:
      return ask satisfies never
  }

  function abandonable(begin: (signal: AbortSignal) => Promise<HostAnswer>): Promise<HostAnswer> {
    const stop = new AbortController()
    open.set(call, stop)
    return begin(stop.signal).finally(() => open.delete(call))
  }
}
