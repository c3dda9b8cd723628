// The worker's side of a shard: many AgentLoops in one thread. Each loop is a promise that waits most of the
// time. A loop that breaks does not harm the others. The shard ends when its port closes. A loop keeps the
// external tools and the texts that were offered when it began. If a tool leaves something behind that throws
// later, its call fails, not the thread (thread-guard.ts).
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread, threadId } from 'node:worker_threads'
import {
  type AskPerson,
  callScope,
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
import {
  type KnownSecret,
  loggerOver,
  messageOf,
  protectSecrets,
  threadFacts,
  TransientMap,
} from '@beaver/core'
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
  const calls = new SentCalls(post)
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

// Checks whether the task of a loop still belongs to this daemon (docs/decisions/0032). The host is asked
// only if none of its answers has said so recently.

/** An answer that takes longer is late: the task may belong to another daemon by the time it is read. */
const lateMs = 500
/**
 * On a slow machine every answer is late. Then an answer counts that is not slower than others were: at most
 * so late.
 */
const slowMsMax = 2_000
const looksMax = 20

type AskHost = <Value extends HostAnswer>(what: HostCall) => Promise<Value>

interface Ownership {
  /** Asks the host something whose answer says that the task is ours. */
  readonly told: AskHost
  /**
   * @returns `null` when it is known; else resolves when the host was asked, and rejects when the task is not
   * ours
   */
  stillOurs(): Promise<void> | null
}

/** @param nowMs a clock that goes on while the process is stopped */
export function ownership(ask: AskHost, nowMs: () => number = () => performance.now()): Ownership {
  let knownAt = -Infinity
  const told: AskHost = async (what) => {
    const askedAt = nowMs()
    const value = await ask<never>(what)
    knownAt = askedAt
    return value
  }
  const isKnown = (): boolean => nowMs() - knownAt <= lateMs
  const look = async (): Promise<void> => {
    let fastestMs = Infinity
    for (let looks = 1; looks <= looksMax; looks++) {
      const askedAt = nowMs()
      await told<null>({ of: 'still_ours' })
      const tookMs = nowMs() - askedAt
      // A process that was stopped reads one answer late, and the next one in time. A slow machine reads all
      // of them late.
      if (tookMs <= Math.max(lateMs, fastestMs === Infinity ? 0 : Math.min(2 * fastestMs, slowMsMax))) return
      fastestMs = Math.min(fastestMs, tookMs)
    }
  }
  return { told, stillOurs: () => (isKnown() ? null : look()) }
}

// The calls that the loops of this thread have sent to the main thread, and the promises that wait for the
// answers. An answer settles its call once. An answer that nobody waits for is dropped. Nothing is kept of a
// loop that has ended.

interface SentCall {
  readonly loop: number
  resolve(value: never): void
  reject(error: Error): void
}

class SentCalls {
  readonly #post: (message: FromShard) => void
  readonly #calls = new TransientMap<number, SentCall>()
  /** The open calls of each loop. */
  readonly #ofLoop = new TransientMap<number, Set<number>>()
  #last = 0

  constructor(post: (message: FromShard) => void) {
    this.#post = post
  }

  begin(loop: number): void {
    this.#ofLoop.set(loop, new Set())
  }

  ask<Value extends HostAnswer>(loop: number, what: HostCall, signal?: AbortSignal): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      const call = ++this.#last
      this.#calls.set(call, { loop, resolve: resolve as (value: never) => void, reject })
      this.#ofLoop.get(loop)?.add(call)
      this.#post({ kind: 'call', loop, call, ask: what })
      signal?.addEventListener(
        'abort',
        () => this.#calls.has(call) && this.#post({ kind: 'abandon', loop, call }),
        { once: true },
      )
    })
  }

  answered(reply: Extract<ToShard, { kind: 'reply' }>): void {
    const call = this.#calls.get(reply.call)
    this.#calls.delete(reply.call)
    if (call !== undefined) this.#ofLoop.get(call.loop)?.delete(reply.call)
    if (reply.ok) call?.resolve(reply.value as never)
    else call?.reject(new Error(reply.message))
  }

  /** The loop has ended: what it asked for and does not wait for any more would stay here otherwise. */
  forget(loop: number): void {
    for (const call of this.#ofLoop.get(loop) ?? []) this.#calls.delete(call)
    this.#ofLoop.delete(loop)
  }
}

// Keeps a shared thread alive when the code of a tool would end it, by a late error or by process.exit. If
// the thread dies all the same (a full heap, a crash), the pool deals with it. An error that nobody catches
// ends the call that it belongs to, if that call has no result yet. Otherwise it becomes a line of the log.
// An error that belongs to no call is a defect of Beaver, or of a module while it loads: it ends the thread
// as usual. The code of a call cannot end the thread or the daemon through the functions of `process`: it
// gets an error instead.

let guarded = false

/**
 * Call it before any module of a user is loaded. In a main thread, which belongs to a program, it does
 * nothing.
 */
export function guardThread(): void {
  if (guarded || isMainThread) return
  guarded = true
  const stray = (error: unknown): void => {
    if (belongsToCall(error)) return
    process.off('uncaughtException', stray).off('unhandledRejection', stray)
    // Without a listener it ends the thread, and the pool is told why.
    setImmediate(() => {
      throw error
    })
  }
  process.on('uncaughtException', stray).on('unhandledRejection', stray)
  const { exit, kill } = process
  process.exit = (code) => {
    refuseInCall(`process.exit(${code ?? ''})`)
    return exit.call(process, code)
  }
  process.kill = (pid, signal) => {
    if (pid === process.pid && signal !== 0) refuseInCall(`process.kill of the daemon's own process`)
    return kill.call(process, pid, signal)
  }
  syncBuiltinESMExports()
}

/** Whether the error came from a call of a tool. */
function belongsToCall(error: unknown): boolean {
  const scope = callScope.current()
  if (scope === null) return false
  const ended = scope.fail(error)
  if (!ended) threadFacts.threwLate(scope.logger, { error })
  return true
}

function refuseInCall(what: string): void {
  const scope = callScope.current()
  if (scope === null) return
  const refused = new Error(`${scope.tool} called ${what}, which would end other agents too. It was stopped.`)
  scope.fail(refused)
  throw refused
}
