// The calls of one task that wait for a person or for its client, and the decisions and answers about them.
// Each is durable before the loop hears of it, and only the first one counts. If nobody can answer, or nobody
// answers in time, the call is refused or the question cancelled in the name of the configuration. If the
// client does not answer in time, the task is cancelled: to go on would cost money for nobody.
import { BeaverError, type Clock, type DomainEvent, event, type LogId } from '@beaver/core'
import { callAsks, callNeedsApproval, type OpenCall, runEnded, type TaskState } from '@beaver/core/fold'
import { type Draft, drafted, type RecordedEvent } from '@beaver/core/journal'
import {
  alreadySettled,
  type Answered,
  answerFault,
  type Decided,
  isAnswer,
  isDecision,
  type QuestionAnswer,
} from '@beaver/core/question'
import { maskedData } from '@beaver/core/secrets'
import { beaverItself } from '@beaver/core/task-view'
import type { ApprovalDecision, AskedOfPerson, ClientAnswered, QuestionSettled } from '@beaver/agent'
import {
  beingCancelled,
  clientAnswerEvents,
  type ClientAnswers,
  clientKey,
  mustSayTheSame,
} from './client-answers.ts'

/** What a person decides about a call. */
export interface Decision {
  readonly callId: string
  /** The hash of the call that the person saw. Absent: any call that waits under this id. */
  readonly callHash?: string | undefined
  readonly approved: boolean
  /** The person who decides. */
  readonly by: string
  /** The user for whom the caller decides. Absent: the caller itself. */
  readonly userId?: string | undefined
  readonly reason: string
  /** Changed arguments for the call: the text of a JSON object. Absent: the model's. */
  readonly arguments?: string | undefined
}

/** What a person answers to a question of a call. */
export interface Answer {
  readonly callId: string
  /** The question that the person saw. Absent: the one that waits. */
  readonly index?: number | undefined
  readonly answer: QuestionAnswer
  readonly by: string
  readonly userId?: string | undefined
  readonly reason?: string | undefined
}

/** Why a call of the tool may not have these arguments. `null`: nothing is known against them. */
export type ArgumentsJudge = (call: {
  readonly name: string
  readonly arguments: string
}) => Promise<string | null>

export interface ApprovalPorts {
  readonly clock: Clock
  /** What to do with a call that needs a person. */
  readonly unattended: 'wait' | 'refuse'
  readonly waitMsMax: number
  /** When calls asked, by the same clock: a wait continues after a takeover. */
  readonly askedAtMs: ReadonlyMap<string, number>
  append(drafts: readonly Draft[]): Promise<number>
  readonly judgeArguments: ArgumentsJudge
  /** Called when the client did not answer in time. */
  clientGone(reason: string): void
  /** Whether the loops have been told to stop, so that the results of calls may be on their way to the log. */
  cancelling(): boolean
  /** The task as it is in the journal. */
  load(): Promise<TaskSoFar>
}

/** A task as its log has it. */
export interface TaskSoFar {
  readonly state: TaskState
  /** They contain the decisions about calls that the state no longer has. */
  readonly events: readonly RecordedEvent[]
}

type BySomebody = ApprovalDecision | QuestionSettled
type Said = BySomebody | ClientAnswered

interface Wait extends PromiseWithResolvers<Said> {
  readonly runId: string
  readonly callId: string
  readonly atClient: boolean
  /** The time that a person or the client has, from when the call asked. */
  readonly waitMs: number
  deadline: { cancel(): void } | null
}

/** The key of a call that needs an approval, or of a question of a call. */
export const waitKey = (runId: string, callId: string, question: number | null = null): string =>
  question === null ? `${runId} ${callId}` : `${runId} ${callId} ${question}`

export class TaskApprovals {
  readonly #log: LogId
  readonly #ports: ApprovalPorts
  readonly #waiting = new Map<string, Wait>()
  readonly #decided = new Map<string, Said>()
  readonly #ended = new Set<string>()
  /** When calls asked, by the task's clock. */
  readonly #askedAtMs: Map<string, number>
  /** The last decision in line. */
  #turn: Promise<unknown> = Promise.resolve()
  #acting = 0
  #reading: Promise<unknown> = Promise.resolve()
  /** A read of the log that has not begun. */
  #next: Promise<TaskSoFar> | null = null

  constructor(log: LogId, ports: ApprovalPorts) {
    this.#log = log
    this.#ports = ports
    this.#askedAtMs = new Map(ports.askedAtMs)
  }

  /** Resolves with the decision about a call of the run. */
  wait(runId: string, callId: string): Promise<ApprovalDecision> {
    const refused = (reason: string): DomainEvent =>
      decisionEvent(runId, { callId, approved: false, by: beaverItself, reason })
    return this.#wait({ runId, callId, key: waitKey(runId, callId) }, refused) as Promise<ApprovalDecision>
  }

  /** Resolves with the answer to a question of a call of the run. Aborting `signal` ends the wait. */
  waitForAnswer(
    runId: string,
    { callId, index, timeoutMs }: AskedOfPerson,
    signal: AbortSignal,
  ): Promise<QuestionSettled> {
    const key = waitKey(runId, callId, index)
    const cancelled = (reason: string): DomainEvent =>
      answerEvent(runId, index, { callId, answer: { action: 'cancel' }, by: beaverItself, reason })
    signal.addEventListener('abort', () => this.#forget(key), { once: true })
    return this.#wait({ runId, callId, key, timeoutMs }, cancelled) as Promise<QuestionSettled>
  }

  /** Resolves with the client's answer to a call of the run. Aborting `signal` ends the wait. */
  waitForClient(runId: string, callId: string, signal: AbortSignal): Promise<ClientAnswered> {
    const key = clientKey(runId, callId)
    signal.addEventListener('abort', () => this.#forget(key), { once: true })
    return this.#wait({ runId, callId, key }, null) as Promise<ClientAnswered>
  }

  /** @param refusal `null`: the client is waited for */
  #wait(
    {
      runId,
      callId,
      key,
      timeoutMs = Infinity,
    }: Pick<AskedOfPerson, 'callId'> &
      Partial<AskedOfPerson> & { readonly runId: string; readonly key: string },
    refusal: ((reason: string) => DomainEvent) | null,
  ): Promise<Said> {
    const known = this.#decided.get(key)
    if (known !== undefined) return Promise.resolve(known)
    const asked = this.#waiting.get(key)
    if (asked !== undefined) return asked.promise
    const { clock, unattended, waitMsMax } = this.#ports
    const waitMs = Math.min(waitMsMax, timeoutMs)
    const atClient = refusal === null
    const wait: Wait = { ...Promise.withResolvers<Said>(), runId, callId, atClient, waitMs, deadline: null }
    this.#waiting.set(key, wait)
    if (!this.#askedAtMs.has(key)) this.#askedAtMs.set(key, clock.now())
    if (refusal === null) {
      const late = `Its client did not answer within ${waitMs / 1000} s.`
      wait.deadline = clock.after(this.#leftMs(key, waitMs), () => this.#ports.clientGone(late))
      return wait.promise
    }
    const refuse = (reason: string): void =>
      void this.#inTurn(async () => {
        if (this.#waiting.get(key) === wait) await this.#record(key, refusal(reason))
      }).catch((error: unknown) => wait.reject(error as Error))
    if (unattended === 'refuse') refuse('Nobody is there to answer.')
    else
      wait.deadline = clock.after(this.#leftMs(key, waitMs), () =>
        refuse(`Nobody answered within ${waitMs / 1000} s.`),
      )
    return wait.promise
  }

  /** @throws {BeaverError} `not_found`, `conflict`, `invalid_arguments` */
  async decide(decision: Decision): Promise<void> {
    const task = await this.#readAgain()
    await mustFit(
      callWaiting(this.#log, task, decision.callId, decision.callHash).call,
      decision,
      this.#ports.judgeArguments,
    )
    return this.#inTurn(async () => {
      const { runId, call } = callWaiting(this.#log, task, decision.callId, decision.callHash)
      const key = waitKey(runId, call.id)
      this.#mustBeFirst(key)
      await this.#record(
        key,
        decisionEvent(runId, { ...decision, callId: call.id, callHash: call.callHash ?? undefined }),
      )
    })
  }

  /** @throws {BeaverError} `not_found`, `conflict`, `invalid_arguments` */
  async answer(answer: Answer): Promise<void> {
    const task = await this.#readAgain()
    return this.#inTurn(async () => {
      const { runId, callId, index } = questionWaiting(this.#log, task, answer)
      const key = waitKey(runId, callId, index)
      this.#mustBeFirst(key)
      await this.#record(key, answerEvent(runId, index, { ...answer, callId }))
    })
  }

  /** @throws {BeaverError} `not_found`, `conflict` */
  async answerForClient(answers: ClientAnswers): Promise<void> {
    const task = await this.#readAgain()
    return this.#inTurn(async () => {
      const said = clientAnswerEvents(this.#log, task, answers).filter((each) => {
        const first = this.#decided.get(clientKey(each.runId ?? '', each.data.call_id))
        if (first?.event.type === 'client_call_answered') mustSayTheSame(first.event, each.data)
        return first === undefined
      })
      // The log was read before: since then, the call may have its end.
      if (said.length > 0 && this.#ports.cancelling()) throw beingCancelled(this.#log)
      if (said.some(({ runId = '' }) => this.#ended.has(runId)))
        throw new BeaverError('conflict', `The run of the calls has ended before their client answered.`)
      await this.#recordAll(
        said.map((each) => ({ key: clientKey(each.runId ?? '', each.data.call_id), said: each })),
      )
    })
  }

  /** Ends the waits of a run that has ended. */
  ended(runId: string): void {
    this.#ended.add(runId)
    for (const [key, wait] of this.#waiting) {
      if (wait.runId !== runId) continue
      wait.deadline?.cancel()
      this.#waiting.delete(key)
    }
  }

  /** The calls of a run that wait, with the time that is left to answer. */
  waiting(
    runId: string,
  ): { readonly callId: string; readonly leftMs: number; readonly atClient?: boolean }[] {
    const ofRun = [...this.#waiting].filter(([key, wait]) => wait.runId === runId && !this.#decided.has(key))
    return ofRun.map(([key, { callId, atClient, waitMs }]) => ({
      callId,
      ...(atClient ? { atClient } : {}),
      leftMs: this.#leftMs(key, waitMs),
    }))
  }

  /** How many calls wait. */
  count(): number {
    return this.#waiting.size
  }

  /** Whether a decision is being recorded. */
  busy(): boolean {
    return this.#acting > 0
  }

  /** Ends all waits, because this daemon releases the task. */
  close(): void {
    for (const { deadline } of this.#waiting.values()) deadline?.cancel()
    this.#waiting.clear()
  }

  /** The time that is left to answer. It began when the call asked, whichever daemon drove the task then. */
  #leftMs(key: string, waitMs: number): number {
    const nowMs = this.#ports.clock.now()
    const begunMs = this.#askedAtMs.get(key) ?? nowMs
    return Math.max(0, Math.min(waitMs, begunMs + waitMs - nowMs))
  }

  #forget(key: string): void {
    this.#waiting.get(key)?.deadline?.cancel()
    this.#waiting.delete(key)
  }

  /** @throws {BeaverError} `conflict` if somebody decided since the log was read */
  #mustBeFirst(key: string): void {
    const first = this.#decided.get(key)
    if (first !== undefined) throw alreadySettled((first as BySomebody).event)
  }

  async #record(key: string, said: DomainEvent): Promise<void> {
    if (!this.#decided.has(key)) await this.#recordAll([{ key, said }])
  }

  /** Records them in one entry. */
  async #recordAll(all: readonly { readonly key: string; readonly said: DomainEvent }[]): Promise<void> {
    if (all.length === 0) return
    const made = all.map(({ said }) => drafted(said))
    const first = await this.#ports.append(made.map(({ draft }) => draft))
    for (const [i, { key }] of all.entries()) {
      const settled = { event: made[i]?.event, taskseq: first + i } as Said
      this.#decided.set(key, settled)
      const wait = this.#waiting.get(key)
      wait?.deadline?.cancel()
      wait?.resolve(settled)
      this.#waiting.delete(key)
    }
  }

  /** Records one decision after the other, because two people may answer at once. */
  #inTurn(act: () => Promise<void>): Promise<void> {
    this.#acting++
    const acted = this.#turn.then(act).finally(() => this.#acting--)
    this.#turn = acted.catch(() => {})
    return acted
  }

  /**
   * Reads the log, beginning after now. All who ask before the read begins share it, so that hundreds of
   * decisions do not read the log each.
   */
  #readAgain(): Promise<TaskSoFar> {
    this.#next ??= this.#reading.then(() => {
      this.#next = null
      const task = this.#ports.load()
      this.#reading = task.catch(() => {})
      return task
    })
    return this.#next
  }
}

export function decisionEvent(
  runId: string,
  { callId, callHash, approved, by, userId, reason, arguments: args }: Decision,
): DomainEvent {
  const decided = {
    call_id: callId,
    by,
    ...(callHash === undefined ? {} : { call_hash: callHash }),
    ...(userId === undefined ? {} : { user_id: userId }),
  }
  if (!approved) return event('approval_denied', { ...decided, reason }, runId)
  return event('approval_granted', args === undefined ? decided : { ...decided, arguments: args }, runId)
}

export function answerEvent(
  runId: string,
  index: number,
  { callId, answer, by, userId, reason }: Answer,
): DomainEvent {
  const why = reason === undefined ? {} : { reason }
  return event(
    'question_answered',
    {
      call_id: callId,
      question_index: index,
      answer,
      by,
      ...why,
      ...(userId === undefined ? {} : { user_id: userId }),
    },
    runId,
  )
}

/**
 * Checks arguments that a person changed; the tool stays the same.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
export async function mustFit(
  call: Pick<OpenCall, 'id' | 'name'>,
  { approved, arguments: args }: Decision,
  judge: ArgumentsJudge,
): Promise<void> {
  if (args === undefined) return
  const refused = (message: string): BeaverError =>
    new BeaverError('invalid_arguments', message, { problems: [{ path: 'arguments', message }] })
  if (!approved) throw refused('A call that is refused has no arguments. Leave them out, or allow the call.')
  if (maskedData({ args }).args !== args)
    throw refused('The arguments contain a secret, which the journal does not keep. Leave it out.')
  const fault = await judge({ name: call.name, arguments: args })
  if (fault !== null)
    throw refused(`The call ${call.id} still waits, because it cannot be made with these arguments: ${fault}`)
}

/**
 * The call of the task that waits for a decision. `callId` is the id in the events, or `<run>/<call>` if
 * several runs have a call with that id.
 * @throws {BeaverError} `conflict` if the call was decided already, or no longer needs a decision;
 * `not_found` if it never asked
 */
export function callWaiting(
  log: LogId,
  { state, events }: TaskSoFar,
  callId: string,
  callHash?: string,
): { readonly runId: string; readonly call: OpenCall } {
  const decided = events.findLast((each): each is RecordedEvent & Decided => isDecision(each, callId))
  if (state.ended !== null) throw decided === undefined ? hasEnded(log, state) : alreadySettled(decided)
  // A provider's id may contain a slash, so it is compared, not split.
  const isNamed = ({ runId, call }: { runId: string; call: { id: string } }): boolean =>
    call.id === callId || `${runId}/${call.id}` === callId
  const calls = [...state.runs.values()]
    .filter((run) => !runEnded(run))
    .flatMap((run) => run.calls.map((call) => ({ runId: run.start.run_id as string, call })))
  const waiting = calls.filter(({ call }) => callNeedsApproval(call))
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
  if (decided !== undefined) throw alreadySettled(decided)
  if (
    events.some(
      (each) =>
        each.type === 'approval_requested' &&
        isNamed({ runId: each.runId ?? '', call: { id: each.data.call_id } }),
    )
  )
    throw new BeaverError(
      'conflict',
      `The call ${callId} of the task ${log.task} does not wait any more: it ended before anybody decided.`,
    )
  const others = waiting.map(({ call }) => call.id).join(', ')
  throw new BeaverError(
    'not_found',
    `No call ${callId} of the task ${log.task} waits for an approval. ${others === '' ? 'None does.' : `These do: ${others}.`}`,
  )
}

const hasEnded = (log: LogId, state: TaskState): BeaverError =>
  new BeaverError('conflict', `The task ${log.task} has ended already: ${state.status}.`)

/**
 * The question of the task that waits for an answer.
 * @throws {BeaverError} `conflict` if the question was answered already, or no longer needs an answer;
 * `not_found` if it was never asked; `invalid_arguments` if the answer does not fit the question
 */
export function questionWaiting(
  log: LogId,
  { state, events }: TaskSoFar,
  { callId, index, answer }: Answer,
): { runId: string; callId: string; index: number } {
  const answered = events.findLast((each): each is RecordedEvent & Answered =>
    isAnswer(each, { callId, index }),
  )
  if (state.ended !== null) throw answered === undefined ? hasEnded(log, state) : alreadySettled(answered)
  const isNamed = ({ runId, call }: { runId: string; call: { id: string } }): boolean =>
    call.id === callId || `${runId}/${call.id}` === callId
  const calls = [...state.runs.values()]
    .filter((run) => !runEnded(run))
    .flatMap((run) => run.calls.map((call) => ({ runId: run.start.run_id as string, call })))
  const asking = calls.filter(({ call }) => callAsks(call))
  const found = asking.filter(isNamed)
  const [only] = found
  if (found.length > 1) {
    const names = found.map(({ runId, call }) => `${runId}/${call.id}`).join(', ')
    throw new BeaverError(
      'conflict',
      `Several runs of the task ${log.task} ask with a call ${callId}. Name one of them: ${names}.`,
    )
  }
  const waits = only?.call.questions.find((one) => one.answer === null)
  if (only === undefined || waits === undefined) {
    if (answered !== undefined) throw alreadySettled(answered)
    if (
      events.some(
        (each) =>
          each.type === 'question_asked' &&
          isNamed({ runId: each.runId ?? '', call: { id: each.data.call_id } }),
      )
    )
      throw new BeaverError(
        'conflict',
        `The question of the call ${callId} does not wait any more: the call ended before anybody answered.`,
      )
    const others = asking.map(({ call }) => call.id).join(', ')
    throw new BeaverError(
      'not_found',
      `No call ${callId} of the task ${log.task} asks a question. ${others === '' ? 'None does.' : `These do: ${others}.`}`,
    )
  }
  if (index !== undefined && index !== waits.index)
    throw answered === undefined
      ? new BeaverError('not_found', `The call ${callId} asks its question ${waits.index}, not ${index}.`)
      : alreadySettled(answered)
  const fault = answerFault(waits.question, answer)
  if (fault !== null)
    throw new BeaverError('invalid_arguments', `The question still waits. ${fault}`, {
      problems: [{ path: 'answer', message: fault }],
    })
  return { runId: only.runId, callId: only.call.id, index: waits.index }
}
