// Answers, in the main thread, what a loop in a worker thread asks of its host. Each call is answered once,
// unless its thread is gone. A call that may be abandoned ends when its loop says so, or when its loop is
// lost.
import type { LoopHost } from '@beaver/agent'
import { messageOf } from '@beaver/core'
import type { ExternalCalls } from './external-calls.ts'
import type { HostAnswer, HostCall, ToShard } from './protocol.ts'

/** A loop's side of its calls. */
export interface Asking {
  readonly host: LoopHost
  /** Calls that may be abandoned. */
  readonly open: Map<number, AbortController>
  readonly external: ExternalCalls
}

export function answerCall(
  asking: Asking,
  { call, ask }: { call: number; ask: HostCall },
  send: (message: ToShard) => void,
): void {
  hostCall(asking, call, ask).then(
    (value) => send({ kind: 'reply', call, ok: true, value }),
    (error: unknown) => send({ kind: 'reply', call, ok: false, message: messageOf(error) }),
  )
}

export function abandonAll({ open, external }: Asking): void {
  external.stopAll()
  for (const call of open.values()) call.abort()
}

function hostCall({ host, open, external }: Asking, call: number, ask: HostCall): Promise<HostAnswer> {
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
    case 'answer':
      return abandonable((signal) => host.answer(ask.question, signal))
    case 'memory':
      return host.memory(ask.change)
    case 'search':
      return host.searchSessions(ask.request)
    case 'pause':
      return abandonable((signal) => host.pause(ask.request, signal).then(() => null))
    case 'store_blob':
      return (
        host.storeBlob?.(ask.sha256, ask.bytes) ?? Promise.reject(new Error('This daemon stores no images.'))
      ).then(() => null)
    case 'load_blob':
      return host.loadBlob?.(ask.sha256) ?? Promise.resolve(null)
    case 'describe':
      return host.describeExternal?.(ask.external) ?? Promise.resolve(null)
    case 'external':
      return abandonable((signal) => stopped(ask.external.callId, signal, external.begin(host, ask.external)))
    case 'external_told':
      return abandonable((signal) => stopped(ask.callId, signal, external.told(ask.callId, ask.answer)))
    default:
      return ask satisfies never
  }

  function stopped(callId: string, signal: AbortSignal, next: Promise<HostAnswer>): Promise<HostAnswer> {
    signal.addEventListener('abort', () => external.stop(callId), { once: true })
    return next
  }

  function abandonable(begin: (signal: AbortSignal) => Promise<HostAnswer>): Promise<HostAnswer> {
    const stop = new AbortController()
    open.set(call, stop)
    return begin(stop.signal).finally(() => open.delete(call))
  }
}
