// The worker's side of a shard: many AgentLoops in one thread. Each loop is a promise that waits most of the
// time. A loop that breaks does not harm the others. The shard ends when its port closes. A loop keeps the
// external tools and the texts that were offered when it began. If a tool leaves something behind that throws
// later, its call fails, not the thread (thread-guard.ts).
import { threadId } from 'node:worker_threads'
import {
  type AskPerson,
  type ExternalCall,
  type ExternalResult,
  externalTool,
  LoopDropped,
  type LoopHost,
  type LoopServices,
  type LoopSpec,
  runAgentLoop,
  type Steer,
  ToolFailure,
  withTexts,
  withWorkspaceSkills,
} from '@beaver/agent'
import { type KnownSecret, loggerOver, messageOf, protectSecrets, TransientMap } from '@beaver/core'
import { AskedCalls } from './asked-calls.ts'
import { ownership } from './ownership.ts'
import {
  batchedPost,
  type ExternalAnswer,
  type ExternalQuestion,
  type FromShard,
  type HostAnswer,
  type HostCall,
  type ShardPlace,
  type ToShard,
} from './protocol.ts'
import { guardThread } from './thread-guard.ts'
import { writeVitals } from './thread-vitals.ts'

type Ask = <Value extends HostAnswer>(what: HostCall, signal?: AbortSignal) => Promise<Value>

/** The teams of a loop are in the main thread. */
const teamsOf = (ask: Ask): Pick<LoopHost, 'runTeam' | 'teamOf' | 'sharedState'> => ({
  runTeam: (callId, graph, taint) => ask({ of: 'team', callId, graph, taint }),
  teamOf: (callId) => ask({ of: 'team_of', callId }),
  sharedState: (access, taint) => ask({ of: 'shared_state', access, taint }),
})

/** The host as a loop sees it, in the main thread. */
function hostOf(ask: Ask): Omit<LoopHost, 'delta' | 'progress' | 'works' | 'steers'> {
  const { told, stillOurs } = ownership(ask)
  return {
    append: (drafts, end) => told({ of: 'append', drafts, end }),
    stillOurs,
    ...teamsOf(ask),
    approval: (callId) => ask({ of: 'approval', callId }),
    memory: (change) => ask({ of: 'memory', change }),
    searchSessions: (request) => ask({ of: 'search', request }),
    pause: async (request, signal) => void (await ask<null>({ of: 'pause', request }, signal)),
    storeBlob: async (sha256, bytes) => void (await ask<null>({ of: 'store_blob', sha256, bytes })),
    loadBlob: (sha256) => ask({ of: 'load_blob', sha256 }),
    describeExternal: (external) => ask({ of: 'describe', external }),
    answer: (question, signal) => ask({ of: 'answer', question }, signal),
    callExternal: (external, signal, person) => callExternal(ask, { external, signal, person }),
  }
}

interface ExternalAsked {
  readonly external: ExternalCall
  readonly signal: AbortSignal
  readonly person: AskPerson
}

/** Makes an external call, and asks the person for it as often as it asks. */
async function callExternal(ask: Ask, { external, signal, person }: ExternalAsked): Promise<ExternalResult> {
  const { callId } = external
  let next = await ask<ExternalResult | ExternalQuestion>({ of: 'external', external }, signal)
  while ('asks' in next) {
    const answer = await person(next.asks).catch((error: unknown): ExternalAnswer => {
      const { code, message } =
        error instanceof ToolFailure ? error : { code: 'cannot_ask', message: messageOf(error) }
      return { refused: { code, message } }
    })
    next = await ask<ExternalResult | ExternalQuestion>(
      { of: 'external_told', callId, answer: signal.aborted ? null : answer },
      signal,
    )
  }
  return next
}

const liveOf = (loop: number, post: (message: FromShard) => void): Pick<LoopHost, 'delta' | 'progress'> => ({
  delta: (delta) => post({ kind: 'delta', loop, delta }),
  progress: (update) => post({ kind: 'progress', loop, update }),
})

const steersOf = ({ steers = [] }: LoopSpec): Map<string, Steer> =>
  new Map(steers.map((each) => [each.requestId, each]))

/** Hides what the main thread sends, instead of what it sent before. */
function secretsOfProcess(): (secrets: readonly KnownSecret[]) => void {
  let forget = (): void => {}
  return (secrets) => {
    const before = forget
    forget = protectSecrets(secrets)
    before()
  }
}

/** Serves loops until the port closes. */
export function serveShard(
  { port, vitals }: ShardPlace,
  services: Omit<LoopServices, 'suspectTools' | 'logger'>,
): Promise<void> {
  guardThread()
  const tools = services.tools.map(({ name }) => name)
  const watched = writeVitals(new Int32Array(vitals), tools)
  const post = batchedPost<FromShard>(port)
  const running = new TransientMap<
    number,
    { readonly cancel: AbortController; readonly steers: Map<string, Steer> }
  >()
  const calls = new AskedCalls(post)
  const suspectTools = new Set<string>()
  const logger = loggerOver((line) => post({ kind: 'log', line }))
  const hide = secretsOfProcess()
  let offered: LoopServices = { ...services, suspectTools, logger }

  function start({ loop, spec }: Extract<ToShard, { kind: 'start' }>): void {
    const own = { cancel: new AbortController(), steers: steersOf(spec) }
    running.set(loop, own)
    calls.begin(loop)
    const ask: Ask = (what, signal) => calls.ask(loop, what, signal)
    const host: LoopHost = {
      ...hostOf(ask),
      steers: () => [...own.steers.values()],
      ...liveOf(loop, post),
      works: (work) => watched.begin(loop, work),
    }
    runAgentLoop(
      spec,
      withWorkspaceSkills(offered, spec.workspaceSkills, spec.skills),
      host,
      own.cancel.signal,
    )
      .then(
        (end) => post({ kind: 'ended', loop, end }),
        (error: unknown) => post({ kind: 'broke', loop, message: messageOf(error) }),
      )
      .finally(() => {
        running.delete(loop)
        calls.forget(loop)
      })
  }

  function receive(message: ToShard): void {
    switch (message.kind) {
      case 'start':
        return start(message)
      case 'cancel':
        return running.get(message.loop)?.cancel.abort(message.reason)
      case 'steer':
        return void running.get(message.loop)?.steers.set(message.steer.requestId, message.steer)
      case 'drop':
        return running.get(message.loop)?.cancel.abort(new LoopDropped(message.reason))
      case 'external_tools':
        offered = { ...offered, tools: [...services.tools, ...message.tools.map(externalTool)] }
        return
      case 'agent_texts':
        offered = withTexts(offered, message.texts)
        return
      case 'suspect_tools':
        suspectTools.clear()
        for (const tool of message.tools) suspectTools.add(tool)
        return
      case 'secrets':
        return hide(message.secrets)
      case 'reply':
        return calls.answered(message)
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
