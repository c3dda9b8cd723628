// From a message to its task, and from the task to the answer.
// B1. A message becomes one task, whose id follows from the message: if it is taken again, it meets the same task, and its result.
// B2. A message is done when its answer is in the queue of answers. Every message gets one: a result or an error.
// B3. Only an approver of the channel decides, and only about calls of its own chat.
import type { BeaverClient } from '@beaver/client'
import {
  type Handled,
  type InboundMessage,
  type MessageBus,
  outboundMessage,
  type OutboundMessage,
  type SubmittedTask,
  type SubmitTask,
} from '@beaver/contracts'
import { BeaverError, type Clock, type ErrorCode, isTerminalTaskEvent, messageOf, type RecordedEvent, type TaskResult } from '@beaver/core'
import { failed, noticed, question, resultAnswer } from './answers.ts'
import type { ChannelSettings } from './channel.ts'
import { type AskedCall, type ChatDecision, codeOf, decisionIn, sessionIdOf, taskIdOf } from './message-ids.ts'
import { persist, type Tried } from './persist.ts'

export type TaskClient = Pick<BeaverClient, 'submit' | 'watch' | 'decide' | 'query'>

export interface BridgeParts {
  readonly client: TaskClient
  readonly bus: Pick<MessageBus, 'publish'>
  /** The channels by their names. */
  readonly settings: ReadonlyMap<string, ChannelSettings>
  readonly clock: Clock
}

/** The message is at fault, so that no other try can succeed. */
const lasting: ReadonlySet<ErrorCode> = new Set([
  'invalid_arguments',
  'not_allowed',
  'conflict',
  'workspace_missing',
  'workspace_refused',
  'unknown_skill',
  'unknown_workflow',
  'unknown_profile',
  'too_large',
])

const waitingMax = 200
/** How long a message that is under way may take to settle after a stop, in milliseconds. */
const settleMsMax = 1_000

export class Bridge {
  readonly #parts: BridgeParts
  readonly #signal: AbortSignal
  /** The calls that this process has asked about, by their codes, and the session of each. */
  readonly #asked = new Map<string, AskedCall & { readonly session: string }>()

  /** @param signal lets go of what is under way */
  constructor(parts: BridgeParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
  }

  async handle(message: InboundMessage): Promise<Handled> {
    const { settings, clock } = this.#parts
    const of = settings.get(message.channel)
    if (of === undefined) return { kind: 'back' }
    const persistence = { triesMax: of.tries_max, clock, signal: this.#signal }
    const handled = await this.#unlessStopped(persist(persistence, () => this.#attempt(message, of)))
    if (handled.kind === 'dead')
      await this.#tell(failed(message, { code: 'given_up', message: `Beaver could not handle it: ${handled.reason}` }, this.#now())).catch(() => {})
    return handled
  }

  async #attempt(message: InboundMessage, of: ChannelSettings): Promise<Tried> {
    try {
      if (message.user.user_id === null)
        throw new BeaverError('not_allowed', `${JSON.stringify(message.user.name)} is not among the users of the channel ${message.channel}.`)
      const decision = message.kind === 'control' ? decisionIn(message.text) : null
      return await (decision === null ? this.#run(message, of) : this.#decide(message, decision, of))
    } catch (error) {
      if (!(error instanceof BeaverError) || !lasting.has(error.code)) return { kind: 'later', reason: messageOf(error) }
      await this.#tell(failed(message, { code: error.code, message: error.message }, this.#now()))
      return { kind: 'done' }
    }
  }

  async #run(message: InboundMessage, of: ChannelSettings): Promise<Tried> {
    const { client } = this.#parts
    const task = taskOf(message, of)
    const refusal = await submitted(client, task)
    const codes: string[] = []
    try {
      for await (const event of client.watch(task.task_id, { signal: this.#signal })) {
        // The id is taken. It is the message's own task if an earlier try submitted it, although with other settings.
        if (refusal !== null && event.type === 'task_submitted' && !isOwn(event, task)) throw refusal
        if (event.type === 'approval_requested') codes.push(await this.#ask(message, event, of))
        if (isTerminalTaskEvent(event.type)) {
          const end = { type: event.type, data: event.data as TaskResult }
          await this.#tell(resultAnswer(message, task.task_id, end, this.#now()))
          return { kind: 'done' }
        }
      }
    } finally {
      for (const code of codes) this.#asked.delete(code)
    }
    return this.#signal.aborted ? { kind: 'back' } : { kind: 'later', reason: 'The task could not be followed to its end.' }
  }

  async #ask(message: InboundMessage, event: Extract<RecordedEvent, { type: 'approval_requested' }>, of: ChannelSettings): Promise<string> {
    const task_id = taskIdOf(message)
    const call = { task_id, run_id: event.runId ?? null, call_id: event.data.call_id, call_hash: event.data.call_hash ?? null }
    const code = codeOf(call)
    this.#asked.set(code, { ...call, session: sessionIdOf(message) })
    await this.#tell(question(message, { task_id, code, approvers: of.approvers, asked: event.data }, this.#now()))
    return code
  }

  async #decide(message: InboundMessage, { code, approved, reason }: ChatDecision, { approvers }: ChannelSettings): Promise<Tried> {
    const { name, user_id } = message.user
    if (!approvers.includes(name)) throw new BeaverError('not_allowed', `${JSON.stringify(name)} may not decide about calls in the channel ${message.channel}.`)
    const call = await this.#callOf(code, sessionIdOf(message))
    if (call === null) throw new BeaverError('invalid_arguments', `No call with the code ${code} waits in this chat. It may have been decided already.`)
    const { task_id, run_id, call_id, call_hash } = call
    const named = run_id === null ? call_id : `${run_id}/${call_id}`
    await this.#parts.client.decide(task_id, { callId: named, callHash: call_hash ?? undefined, approved, reason, userId: user_id ?? undefined })
    await this.#tell(noticed(message, `${approved ? 'Allowed' : 'Refused'}: ${code}`, task_id, this.#now()))
    return { kind: 'done' }
  }

  async #callOf(code: string, session: string): Promise<AskedCall | null> {
    const known = this.#asked.get(code)
    if (known !== undefined) return known.session === session ? known : null
    // Another gateway asked. The read model knows what waits.
    const { calls } = await this.#parts.client.query('approvals', { limit: waitingMax })
    return calls.find((call) => call.session_id === session && codeOf(call) === code) ?? null
  }

  async #tell(message: OutboundMessage): Promise<void> {
    await this.#parts.bus.publish('outbound', outboundMessage.parse(message))
  }

  /** After a stop, what is under way has a moment to settle. It may even end later: its ids make that harmless. */
  #unlessStopped(work: Promise<Handled>): Promise<Handled> {
    const { promise, resolve } = Promise.withResolvers<Handled>()
    let timer = { cancel: (): void => {} }
    const stop = (): void => void (timer = this.#parts.clock.after(settleMsMax, () => resolve({ kind: 'back' })))
    this.#signal.addEventListener('abort', stop, { once: true })
    if (this.#signal.aborted) stop()
    return Promise.race([work, promise]).finally(() => {
      timer.cancel()
      this.#signal.removeEventListener('abort', stop)
    })
  }

  #now(): string {
    return new Date(this.#parts.clock.now()).toISOString()
  }
}

type NamedTask = SubmitTask & Pick<SubmittedTask, 'task_id' | 'session_id'>

function taskOf(message: InboundMessage, { user_id, profile, workspace }: ChannelSettings): NamedTask {
  return {
    task: message.text,
    task_id: taskIdOf(message),
    session_id: sessionIdOf(message),
    user_id: user_id ?? message.user.user_id ?? undefined,
    source: `channel:${message.channel}`,
    approvals: 'wait',
    ...(profile === undefined ? {} : { profile }),
    ...(workspace === undefined ? {} : { workspace }),
  }
}

/** Submits a task. @returns the refusal, if the id of the task is taken */
async function submitted(client: TaskClient, task: SubmitTask): Promise<BeaverError | null> {
  try {
    await client.submit(task)
    return null
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'conflict') return error
    throw error
  }
}

/** Whether a task is the one that a message became. */
const isOwn = ({ data }: Extract<RecordedEvent, { type: 'task_submitted' }>, task: NamedTask): boolean =>
  data.session_id === task.session_id && data.request.source === task.source
