// The services of the daemon's process for the loops of a task, besides their log, teams and shared state. If
// a service is unavailable, the model is told so; the run does not fail.
import {
  BeaverError,
  type BlobStore,
  type Clock,
  emptyMemory,
  type LiveProgress,
  type LiveUpdate,
  type LogId,
  type MemoryOwner,
  type MemoryStore,
  messageOf,
  type SessionSearch,
} from '@beaver/core'
import type { Draft } from '@beaver/core/journal'
import { maskedData } from '@beaver/core/secrets'
import type { FailurePolicies } from '@beaver/core/supervision'
import { callProgress, type ExternalTools, type LoopEnd, type LoopHost, type LoopSpec } from '@beaver/agent'

/** Services of the daemon; `null`: there is none. */
export interface LoopServicePorts {
  readonly blobs: BlobStore
  readonly memory: MemoryStore | null
  readonly sessions: SessionSearch | null
  readonly external: ExternalTools | null
  readonly live: ((log: LogId, update: LiveUpdate) => void) | null
  readonly clock: Clock
  /** What a loop does about each class of failure; absent: the defaults. */
  readonly failurePolicies?: FailurePolicies
}

/** What a run's own supervisor serves. */
export interface OwnHost extends Pick<LoopHost, 'runTeam' | 'teamOf' | 'sharedState'> {
  /** Resolves with the `taskseq` of the first event, or with `null` as `LoopHost.append` does. */
  append(drafts: readonly Draft[], end: LoopEnd | null): Promise<number | null>
}

/** What the task itself serves. */
interface OfTask extends Pick<
  LoopHost,
  'append' | 'reserve' | 'approval' | 'answer' | 'clientAnswer' | 'pause' | 'stillOurs'
> {
  /** The owner of the memory and sessions that its runs see. */
  readonly owner: MemoryOwner
  readonly ports: LoopServicePorts
}

export function loopHost(log: LogId, { start }: LoopSpec, own: OwnHost, of: OfTask): LoopHost {
  const { memory, sessions, external, live, clock } = of.ports
  const { owner } = of
  const ofRun = { run_id: start.run_id, agent_name: start.agent_name, node_id: start.node_id }
  const progress = (update: Omit<LiveProgress, keyof typeof ofRun>): void =>
    live?.(log, { ...ofRun, ...update })
  return {
    ...own,
    append: of.append,
    reserve: of.reserve,
    approval: of.approval,
    answer: of.answer,
    clientAnswer: of.clientAnswer,
    pause: of.pause,
    stillOurs: of.stillOurs,
    memory: async (change) =>
      memory === null
        ? { ok: false, code: 'memory_unavailable', message: 'This daemon has no memory.' }
        : await memory.change(owner, maskedData(change)),
    searchSessions: (request) =>
      sessions === null
        ? Promise.reject(new Error('This daemon cannot search sessions.'))
        : sessions.search(owner, request),
    describeExternal: async (call) => (await external?.describe?.(call)) ?? null,
    async callExternal(call, signal, ask) {
      if (external === null)
        return {
          success: false,
          error: 'tool_not_available',
          content: `There is no tool ${call.name} any more.`,
        }
      const told = callProgress(clock, (update) =>
        progress({ call_id: call.callId, tool_name: call.name, ...update }),
      )
      return external.call(call, signal, ask, told.tell).finally(told.end)
    },
    storeBlob: (sha256, bytes) => of.ports.blobs.put(sha256, bytes),
    loadBlob: (sha256) => of.ports.blobs.get(sha256).catch(removed),
    delta: (delta) => live?.(log, { ...ofRun, ...delta }),
    progress,
  }
}

/** `null`: an operator removed the content of the image. */
function removed(error: unknown): null {
  if (error instanceof BeaverError && (error.code === 'blob_missing' || error.code === 'blob_corrupt'))
    return null
  throw error
}

export async function memoryOf(owner: MemoryOwner, memory: MemoryStore | null): Promise<LoopSpec['memory']> {
  try {
    return memory === null ? emptyMemory : await memory.read(owner)
  } catch (error) {
    return { unreadable: messageOf(error) }
  }
}
