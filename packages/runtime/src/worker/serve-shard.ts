// The worker's side of a shard: many AgentLoops in one thread, each a promise that mostly waits. A loop that
// breaks does not harm the others. A loop keeps the external tools and texts with which it began.
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread, threadId } from 'node:worker_threads'
import {
  callScope,
  externalTool,
  LoopDropped,
  type LoopHost,
  type LoopServices,
  runAgentLoop,
  type Skill,
  type Steer,
  ToolFailure,
  withTexts,
  withWorkspaceSkills,
} from '@beaver/agent'
import { loggerOver, messageOf, threadFacts } from '@beaver/core'
import type { RunStatus } from '@beaver/core/fold'
import { type KnownSecret, protectSecrets } from '@beaver/core/secrets'
import { PortCalls } from '@beaver/core/port-calls'
import {
  batchedPort,
  type LoopHome,
  type ShardHome,
  shardItself,
  type SentSpec,
  type ShardPlace,
  type ShardThread,
} from './protocol.ts'
import { writeVitals } from './thread-vitals.ts'

const steersOf = ({ steers = [] }: SentSpec): Map<string, Steer> =>
  new Map(steers.map((each) => [each.requestId, each]))

/** Replaces the secrets that this process hides. */
function secretsOfProcess(): (secrets: readonly KnownSecret[]) => void {
  let forget = (): void => {}
  return (secrets) => {
    const before = forget
    forget = protectSecrets(secrets)
    before()
  }
}

/** A loop that runs in this thread. */
interface ServedLoop {
  readonly cancel: AbortController
  readonly steers: Map<string, Steer>
  status: () => RunStatus
}

/** Serves loops until the port closes. */
export function serveShard(
  { port, vitals }: ShardPlace,
  services: Omit<LoopServices, 'suspectTools' | 'logger'>,
): Promise<void> {
  guardThread()
  const tools = services.tools.map(({ name }) => name)
  const watched = writeVitals(new Int32Array(vitals), tools)
  const calls = new PortCalls(batchedPort(port), {
    served: (target) => (target === shardItself ? thread : undefined),
  })
  const home = calls.remote<ShardHome>(shardItself, { ready: 'note', log: 'note' })
  const running = new Map<number, ServedLoop>()
  const suspectTools = new Set<string>()
  const skillsOfWorkspaces = new Map<number, readonly Skill[]>()
  let offered: LoopServices = { ...services, suspectTools, logger: loggerOver(home.log) }

  const thread: ShardThread = {
    async run(loop, { skillsNumber, ...spec }) {
      const own: ServedLoop = {
        cancel: new AbortController(),
        steers: steersOf(spec),
        status: () => 'assembling',
      }
      running.set(loop, own)
      const host: LoopHost = Object.assign(hostOf(calls, loop), {
        steers: () => [...own.steers.values()],
        works: (work: Parameters<typeof watched.begin>[1]) => watched.begin(loop, work),
        shows: (status: ServedLoop['status']) => void (own.status = status),
      })
      try {
        const skills = skillsNumber === undefined ? undefined : skillsOfWorkspaces.get(skillsNumber)
        const given = withWorkspaceSkills(offered, skills, spec.skills)
        return await runAgentLoop(spec, given, host, own.cancel.signal)
      } finally {
        running.delete(loop)
        calls.abandon(loop)
      }
    },
    cancel: (loop, reason) => running.get(loop)?.cancel.abort(reason),
    steer: (loop, steer) => void running.get(loop)?.steers.set(steer.requestId, steer),
    drop: (loop, reason) => running.get(loop)?.cancel.abort(new LoopDropped(reason)),
    setExternalTools(external) {
      offered = { ...offered, tools: [...services.tools, ...external.map(externalTool)] }
    },
    setAgentTexts(texts) {
      offered = withTexts(offered, texts)
    },
    setSuspectTools(names) {
      suspectTools.clear()
      for (const name of names) suspectTools.add(name)
    },
    keepSkills: (number, skills) => void skillsOfWorkspaces.set(number, skills),
    forgetSkills: (number) => void skillsOfWorkspaces.delete(number),
    setSecrets: secretsOfProcess(),
    statuses: async () => new Map([...running].map(([loop, { status }]) => [loop, status()])),
  }

  return new Promise((resolve) => {
    port.once('close', () => resolve())
    home.ready(threadId, tools)
  })
}

/** The host of a loop is in the main thread. */
function hostOf(calls: PortCalls, loop: number): LoopHome {
  const home = calls.remote<LoopHome>(loop, { delta: 'note', progress: 'note' })
  const { callExternal } = home
  return Object.assign(home, ownership(home), {
    callExternal: (...[call, signal, person]: Parameters<LoopHome['callExternal']>) =>
      callExternal(call, signal, (question) => person(question).catch(refuse)),
  })
}

function refuse(error: unknown): never {
  throw error instanceof ToolFailure ? error : new ToolFailure('cannot_ask', messageOf(error))
}

// Ownership (docs/decisions/0032): whether the task of a loop still belongs to this daemon. The host is asked
// only if none of its recent answers shows it.

/** A slower answer is late: another daemon may own the task by the time it is read. */
const lateMs = 500
/**
 * On a slow machine every answer is late. There, an answer counts up to this time if it is no slower than
 * others were.
 */
const slowMsMax = 2_000
const looksMax = 20

type Owned = Pick<LoopHome, 'append' | 'stillOurs'>

/**
 * @returns the host's methods whose answers show that the task is ours. `stillOurs` returns `null` if that is
 * known; else it resolves once the host confirms it, and rejects if the task is not ours.
 * @param nowMs a clock that continues while the process is stopped
 */
export function ownership(
  { append, stillOurs }: Owned,
  nowMs: () => number = () => performance.now(),
): Owned {
  let knownAt = -Infinity
  const told = async <Value>(ask: () => Promise<Value> | null): Promise<Value | null> => {
    const askedAt = nowMs()
    const value = await ask()
    knownAt = askedAt
    return value
  }
  const isKnown = (): boolean => nowMs() - knownAt <= lateMs
  const look = async (): Promise<void> => {
    let fastestMs = Infinity
    for (let looks = 1; looks <= looksMax; looks++) {
      const askedAt = nowMs()
      await told(stillOurs)
      const tookMs = nowMs() - askedAt
      // A stopped process reads one late answer, and then timely ones. A slow machine reads only late ones.
      if (tookMs <= Math.max(lateMs, fastestMs === Infinity ? 0 : Math.min(2 * fastestMs, slowMsMax))) return
      fastestMs = Math.min(fastestMs, tookMs)
    }
  }
  return {
    append: (drafts, end, next) => told(() => append(drafts, end, next)),
    stillOurs: () => (isKnown() ? null : look()),
  }
}

// The guard keeps a shared thread alive if a tool's code would end it by a late error or by `process.exit`.
// An uncaught error ends the call that it belongs to or, if that call has its result, becomes a line of the
// log. An error of no call is a defect of Beaver, or of a module while it loads: it ends the thread. The pool
// deals with every other death (a full heap, a crash).

let guarded = false

/**
 * Call it before any user's module is loaded. It does nothing in a main thread, which belongs to a program.
 */
export function guardThread(): void {
  if (guarded || isMainThread) return
  guarded = true
  const stray = (error: unknown): void => {
    if (belongsToCall(error)) return
    process.off('uncaughtException', stray).off('unhandledRejection', stray)
    // Without a listener the error ends the thread, and the pool gets the reason.
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
