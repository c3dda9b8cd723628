// The calls of one task that wait for a person, and the decisions about them.
// A1. A decision is durable before the loop hears of it, and each call has one decision.
// A2. If nobody can answer, the call is refused at once, in the name of the configuration. If nobody answers in time, it is refused then.
import {
  BeaverError,
  callWaits,
  type Clock,
  type DomainEvent,
  type Draft,
  drafted,
  event,
  type LogId,
  type OpenCall,
  runEnded,
  type TaskState,
} from '@beaver/core'
import type { ApprovalDecision } from '@beaver/agent'

/** What a person decides about a call. */
export interface Decision {
  readonly callId: string
  /** The hash of what the person was shown. Absent: whatever waits under this id. */
  readonly callHash?: string | undefined
  readonly approved: boolean
  /** Who. */
  readonly by: string
  /** The user for whom it is decided. Absent: the caller decides for itself. */
  readonly userId?: string | undefined
  readonly reason: string
}

export interface ApprovalPorts {
  readonly clock: Clock
  /** Whether somebody can be waited for. */
  readonly unattended: 'wait' | 'refuse'
  readonly waitMsMax: number
  /** When calls asked, by the same clock: a wait goes on where it was. */
  readonly askedAtMs: ReadonlyMap<string, number>
  append(drafts: readonly Draft[]): Promise<number>
  /** The task as it stands in the journal. */
  load(): Promise<TaskState>
}

export interface TaskApprovals {
  /** Resolves with the decision about a call of the run. */
  wait(runId: string, callId: string): Promise<ApprovalDecision>
  /** @throws {BeaverError} `not_found`, `conflict` */
  decide(decision: Decision): Promise<void>
  /** The run has ended: what it waited for is not waited for any more. */
  ended(runId: string): void
  /** The calls of a run that wait, and how much longer they may. */
  waiting(runId: string): { readonly callId: string; readonly leftMs: number }[]
  /** How many calls wait. */
  count(): number
  /** A decision is being recorded. */
  busy(): boolean
  /** Nobody waits any more: the task is let go of. */
  close(): void
}

const approver = 'beaver'

interface Wait extends PromiseWithResolvers<ApprovalDecision> {
  readonly runId: string
  readonly callId: string
  deadline: { cancel(): void } | null
}

const keyOf = (runId: string, callId: string): string => `${runId} ${callId}`

export function taskApprovals(log: LogId, ports: ApprovalPorts): TaskApprovals {
  return new CallsThatWait(log, ports)
}

class CallsThatWait implements TaskApprovals {
  readonly #log: LogId
  readonly #ports: ApprovalPorts
  readonly #waiting = new Map<string, Wait>()
  readonly #decided = new Map<string, ApprovalDecision>()
  /** When calls asked, by the task's clock. */
  readonly #askedAtMs: Map<string, number>
  /** The decision that is recorded last, of those begun. */
  #turn: Promise<unknown> = Promise.resolve()
  #acting = 0
  #reading: Promise<unknown> = Promise.resolve()
  /** A reading that has not begun. */
  #next: Promise<TaskState> | null = null

  constructor(log: LogId, ports: ApprovalPorts) {
    this.#log = log
    this.#ports = ports
    this.#askedAtMs = new Map(ports.askedAtMs)
  }

  wait(runId: string, callId: string): Promise<ApprovalDecision> {
    const key = keyOf(runId, callId)
    const known = this.#decided.get(key)
    if (known !== undefined) return Promise.resolve(known)
    const asked = this.#waiting.get(key)
    if (asked !== undefined) return asked.promise
    const { clock, unattended, waitMsMax } = this.#ports
    const wait: Wait = { ...Promise.withResolvers<ApprovalDecision>(), runId, callId, deadline: null }
    this.#waiting.set(key, wait)
    if (!this.#askedAtMs.has(key)) this.#askedAtMs.set(key, clock.now())
    const refuse = (reason: string): void =>
      void this.#inTurn(() => this.#record(runId, { callId, approved: false, by: approver, reason })).catch((error: unknown) => wait.reject(error as Error))
    if (unattended === 'refuse') refuse('Nobody is there to approve it.')
    else wait.deadline = clock.after(this.#leftMs(key), () => refuse(`Nobody answered within ${waitMsMax / 1000} s.`))
    return wait.promise
  }

  async decide(decision: Decision): Promise<void> {
    const state = await this.#readAgain()
    return this.#inTurn(async () => {
      const { runId, call } = callWaiting(this.#log, state, decision.callId, decision.callHash)
      if (this.#decided.has(keyOf(runId, call.id))) throw alreadyDecided(call.id)
      await this.#record(runId, { ...decision, callId: call.id, callHash: call.callHash ?? undefined })
    })
  }

  ended(runId: string): void {
    for (const [key, wait] of this.#waiting) {
      if (wait.runId !== runId) continue
      wait.deadline?.cancel()
      this.#waiting.delete(key)
    }
  }

  waiting(runId: string): { readonly callId: string; readonly leftMs: number }[] {
    const ofRun = [...this.#waiting].filter(([key, wait]) => wait.runId === runId && !this.#decided.has(key))
    return ofRun.map(([key, { callId }]) => ({ callId, leftMs: this.#leftMs(key) }))
  }

  count(): number {
    return this.#waiting.size
  }

  busy(): boolean {
    return this.#acting > 0
  }

  close(): void {
    for (const { deadline } of this.#waiting.values()) deadline?.cancel()
    this.#waiting.clear()
  }

  /** Of the time a person has: it began when the call was asked for, whichever daemon drove the task then. */
  #leftMs(key: string): number {
    const { clock, waitMsMax } = this.#ports
    const begun = this.#askedAtMs.get(key) ?? clock.now()
    return Math.max(0, Math.min(waitMsMax, begun + waitMsMax - clock.now()))
  }

  async #record(runId: string, decision: Decision): Promise<void> {
    const key = keyOf(runId, decision.callId)
    if (this.#decided.has(key)) return
    const made = drafted(decisionEvent(runId, decision))
    const taskseq = await this.#ports.append([made.draft])
    const settled = { event: made.event as ApprovalDecision['event'], taskseq }
    this.#decided.set(key, settled)
    const wait = this.#waiting.get(key)
    wait?.deadline?.cancel()
    wait?.resolve(settled)
    this.#waiting.delete(key)
  }

  /** One decision after the other: two people may answer at once. */
  #inTurn(act: () => Promise<void>): Promise<void> {
    this.#acting++
    const acted = this.#turn.then(act).finally(() => this.#acting--)
    this.#turn = acted.catch(() => {})
    return acted
  }

  /** A reading that begins after now. All who ask before it begins share it: hundreds of decisions must not read the log each. */
  #readAgain(): Promise<TaskState> {
    this.#next ??= this.#reading.then(() => {
      this.#next = null
      const state = this.#ports.load()
      this.#reading = state.catch(() => {})
      return state
    })
    return this.#next
  }
}

export function decisionEvent(runId: string, { callId, callHash, approved, by, userId, reason }: Decision): DomainEvent {
  const decided = { call_id: callId, by, ...(callHash === undefined ? {} : { call_hash: callHash }), ...(userId === undefined ? {} : { user_id: userId }) }
  return approved ? event('approval_granted', decided, runId) : event('approval_denied', { ...decided, reason }, runId)
}

/**
 * The call of the task that waits for a decision. `callId` as in the events, or `<run>/<call>` where several runs have one of that id.
 * @throws {BeaverError} `not_found`, `conflict`
 */
export function callWaiting(log: LogId, state: TaskState, callId: string, callHash?: string): { readonly runId: string; readonly call: OpenCall } {
  if (state.ended !== null) throw new BeaverError('conflict', `The task ${log.task} has ended already: ${state.status}.`)
  // An id is the provider's and may hold a slash itself: it is compared, not taken apart.
  const isNamed = ({ runId, call }: { runId: string; call: OpenCall }): boolean => call.id === callId || `${runId}/${call.id}` === callId
  const calls = [...state.runs.values()]
    .filter((run) => !runEnded(run))
    .flatMap((run) => run.calls.map((call) => ({ runId: run.start.run_id as string, call })))
  const waiting = calls.filter(({ call }) => callWaits(call))
  const found = waiting.filter(isNamed)
  const [only] = found
  if (found.length > 1)
    throw new BeaverError(
      'conflict',
      `Several runs of the task ${log.task} wait for a call ${callId}. Name one of them: ${found.map(({ runId, call }) => `${runId}/${call.id}`).join(', ')}.`,
    )
  if (only !== undefined) {
    if (callHash !== undefined && callHash !== only.call.callHash)
      throw new BeaverError(
        'conflict',
        `The call ${only.call.id} of the task ${log.task} is not the call that the decision is about: its hash is ${only.call.callHash ?? 'unknown'}. Look at what waits, and decide again.`,
      )
    return only
  }
  const decided = calls.find((each) => isNamed(each) && each.call.approval !== null)
  if (decided !== undefined) throw alreadyDecided(decided.call.id)
  const others = waiting.map(({ call }) => call.id).join(', ')
  throw new BeaverError(
    'not_found',
    `No call ${callId} of the task ${log.task} waits for an approval. ${others === '' ? 'None does.' : `These do: ${others}.`}`,
  )
}

const alreadyDecided = (callId: string): BeaverError => new BeaverError('conflict', `The call ${callId} has been decided already.`)
