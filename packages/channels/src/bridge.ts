// The bridge turns the messages of chats into tasks, and the ends of tasks into answers.
// - A message becomes one task. The id of the task is computed from the message, so a message that is taken
//   again finds the same task and its result.
// - A message is done when its answer is in the queue `outbound`. Every message gets an answer: a result or
//   an error.
// - While a call of a chat waits for a person, a message in this chat is a decision or an answer. If it is
//   neither, the bridge refuses it with a text that says what the chat waits for.
// - Only an approver of the channel may decide, and only about calls of the chat in which they write.
//   chat-waits.ts says who may answer a question.
// - If a task waits for more in a budget, its chat is asked in the same way, and an approver gives more or
//   cancels the task.
import type { BeaverClient } from '@beaver/client'
import {
  type Handled,
  type InboundMessage,
  type MessageBus,
  outboundMessage,
  type OutboundMessage,
  type SubmitTask,
  type SubmittedTask,
} from '@beaver/contracts'
import { BeaverError, type Clock, type ErrorCode, messageOf } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { amountIn, type BudgetLimits, budgetText, limitsText } from '@beaver/core/budget'
import { alreadySettled, isSettled, type QuestionAnswer } from '@beaver/core/question'
import { agentAsks, type AskedCall, budgetAsks, evolveTaskView } from '@beaver/core/task-view'
import {
  approval,
  budgetAsked,
  type ChatBudget,
  failed,
  noticed,
  ofAnother,
  question,
  refusalFor,
  resultAnswer,
  type Waiting,
  waitLines,
  waitsFirst,
  worksOn,
} from './answers.ts'
import type { ChannelSettings, ShownWork } from './channel.ts'
import { answerIn, answerTo, chatQuestion, questionMeant } from './chat-questions.ts'
import { ChatWaits } from './chat-waits.ts'
import {
  type BudgetReply,
  budgetReplyIn,
  changedArguments,
  type ChatDecision,
  codesIn,
  decisionIn,
} from './decision.ts'
import {
  answerIdOf,
  budgetCodeOf,
  codeOf,
  type NamedCall,
  namedCall,
  questionCodeOf,
  sessionIdOf,
  taskIdOf,
} from './message-ids.ts'
import { persist, type Tried } from './persist.ts'
import { WorkShown } from './show-work.ts'

export type TaskClient = Pick<
  BeaverClient,
  'submit' | 'watch' | 'events' | 'decide' | 'answer' | 'raise' | 'cancel' | 'query'
>

export interface BridgeParts {
  readonly client: TaskClient
  readonly bus: Pick<MessageBus, 'publish'>
  /** The settings of the channels by name. */
  readonly settings: ReadonlyMap<string, ChannelSettings>
  /** How each channel shows that Beaver works, by its name. `undefined`: it cannot. */
  readonly shownWork: ReadonlyMap<string, ShownWork | undefined>
  readonly clock: Clock
}

/** The codes of errors that the message itself causes, so that another try cannot succeed. */
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

/** How long a message that is being handled may continue after a stop, in milliseconds. */
const settleMsMax = 1_000

export class Bridge {
  readonly #parts: BridgeParts
  readonly #signal: AbortSignal
  /** The calls about which this process asked their chats, by code, each with its session. */
  readonly #asked = new Map<string, NamedCall & { readonly session: string }>()
  readonly #waits: ChatWaits
  readonly #work = new WorkShown()

  /**
   * @param signal aborts when the gateway stops: messages that have no answer by then go back to the queue
   */
  constructor(parts: BridgeParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
    this.#waits = new ChatWaits(parts.client)
  }

  /**
   * Whether a message without a code is handled before earlier messages of its chat, because the chat waits
   * for a person.
   *
   * @throws {BeaverError} the codes of a query
   */
  async overtakes(
    message: Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id' | 'user'>,
    settings: ChannelSettings,
  ): Promise<boolean> {
    if (this.#waits.followsTask(message)) return false
    if (this.#waits.expectsAnswer(message, settings)) return true
    return (await this.#waits.anywhere(sessionIdOf(message))).some(
      ({ task_id }) => task_id !== taskIdOf(message),
    )
  }

  /**
   * Whether the writer may decide and the text has the code of a call that waits in the chat.
   *
   * @throws {BeaverError} the codes of a query
   */
  async namesCall(
    { text, user, ...chat }: Pick<InboundMessage, 'channel' | 'chat_id' | 'text' | 'user'>,
    { approvers }: ChannelSettings,
  ): Promise<boolean> {
    if (!approvers.includes(user.name) || codesIn(text).length === 0) return false
    return namesOneOf(await this.#waits.anywhere(sessionIdOf(chat)), text)
  }

  async handle(message: InboundMessage): Promise<Handled> {
    const { settings, clock } = this.#parts
    const channelSettings = settings.get(message.channel)
    if (channelSettings === undefined) return { kind: 'back' }
    const persistence = { triesMax: channelSettings.tries_max, clock, signal: this.#signal }
    const handled = await this.#unlessStopped(
      persist(persistence, () => this.#attempt(message, channelSettings)),
    )
    if (handled.kind === 'dead')
      await this.#tell(
        failed(
          message,
          { code: 'given_up', message: `Beaver could not handle it: ${handled.reason}` },
          this.#now(),
        ),
      ).catch(() => {})
    return handled
  }

  async #attempt(message: InboundMessage, settings: ChannelSettings): Promise<Tried> {
    try {
      if (message.user.user_id === null)
        throw new BeaverError(
          'not_allowed',
          `${JSON.stringify(message.user.name)} is not among the users of the channel ${message.channel}.`,
        )
      return await (message.kind === 'control'
        ? this.#control(message, settings)
        : this.#run(message, settings))
    } catch (error) {
      if (!(error instanceof BeaverError) || !lasting.has(error.code))
        return { kind: 'later', reason: messageOf(error) }
      await this.#tell(failed(message, { code: error.code, message: refusalFor(error) }, this.#now()))
      return { kind: 'done' }
    }
  }

  async #run(message: InboundMessage, settings: ChannelSettings): Promise<Tried> {
    const { client } = this.#parts
    const task = taskOf(message, settings)
    const refusal = await submitted(client, task)
    const codes: string[] = []
    const view = this.#waits.followTask(message, settings)
    const workEnds = this.#showWork(message, task.task_id)
    try {
      for await (const event of client.watch(task.task_id, { signal: this.#signal })) {
        // The id of the task is in use. That is no error if an earlier try for this message submitted the
        // task, perhaps with other settings.
        if (refusal !== null && event.type === 'task_submitted' && !isOwn(event, task)) throw refusal
        evolveTaskView(view, event)
        const open = event.type === 'question_asked' ? view.openQuestions.at(-1) : undefined
        if (open !== undefined) {
          const asked = chatQuestion(task.task_id, open)
          const approvers = agentAsks(open) ? null : settings.approvers
          codes.push(asked.code)
          this.#waits.follow(asked.code)
          await this.#tell(question(message, { asked, approvers }, this.#now()))
        }
        const call = event.type === 'approval_requested' ? view.askedCalls.at(-1) : undefined
        if (call !== undefined) codes.push(await this.#ask(message, call, settings))
        for (const ask of budgetAsks(view)) {
          const code = budgetCodeOf(task.task_id, ask.key)
          if (codes.includes(code)) continue
          codes.push(code)
          this.#waits.follow(code)
          const budget = { task_id: task.task_id, code, ask }
          await this.#tell(budgetAsked(message, { budget, approvers: settings.approvers }, this.#now()))
        }
        if (view.end !== null) {
          await workEnds()
          await this.#tell(resultAnswer(message, task.task_id, view.end, this.#now()))
          return { kind: 'done' }
        }
      }
    } finally {
      void workEnds()
      for (const code of codes) {
        this.#asked.delete(code)
        if (view.end === null) this.#waits.lose(code)
      }
      this.#waits.forgetTask(message)
    }
    return this.#signal.aborted
      ? { kind: 'back' }
      : { kind: 'later', reason: 'The task could not be followed to its end.' }
  }

  async #ask(
    message: InboundMessage,
    { written: args, ...call }: AskedCall,
    { approvers }: ChannelSettings,
  ): Promise<string> {
    const task_id = taskIdOf(message)
    const named = namedCall(task_id, call)
    const code = codeOf(named)
    this.#asked.set(code, { ...named, session: sessionIdOf(message) })
    this.#waits.follow(code)
    await this.#tell(approval(message, { task_id, code, asked: call.asked, approvers, args }, this.#now()))
    return code
  }

  #control(message: InboundMessage, settings: ChannelSettings): Promise<Tried> {
    const decision = decisionIn(message.text)
    switch (decision?.verb) {
      case 'approve':
      case 'deny':
        return this.#decide(message, decision, settings)
      case 'answer':
        return this.#answer(message, settings, { code: decision.code, text: decision.text })
      case 'decline':
        return this.#answer(message, settings, { code: decision.code, reason: decision.reason })
      default:
        return this.#reply(message, settings)
    }
  }

  /** Handles a message without a code that came while the chat waited for a person. */
  async #reply(message: InboundMessage, settings: ChannelSettings): Promise<Tried> {
    const session = sessionIdOf(message)
    const waiting = await this.#waits.anywhere(session)
    const isExpected =
      this.#waits.expectsAnswer(message, settings) ||
      (this.#waits.here(session).length === 0 && (await this.#waits.questions(message, settings)).length > 0)
    const given = givenIn(message.text, waiting, { isExpected })
    if (given !== null) return this.#give(message, given, settings)
    if (waiting.length === 0 || (isExpected && !namesOneOf(waiting, message.text)))
      return this.#answer(message, settings, { code: null, text: message.text })
    const { name, user_id } = message.user
    const owner = this.#waits.userIn(session)
    const isOfAnother = settings.user_id === undefined && owner !== null && owner !== user_id
    if (isOfAnother && !settings.approvers.includes(name)) throw ofAnother()
    await this.#tell(
      waitsFirst(message, { waiting, approvers: settings.approvers, who: name, isOfAnother }, this.#now()),
    )
    return { kind: 'done' }
  }

  /** Gives more to a budget, or cancels the task that waits for it. */
  async #give(
    message: InboundMessage,
    { reply, budget: { task_id, code, ask }, more }: Given,
    { approvers }: ChannelSettings,
  ): Promise<Tried> {
    const { name, user_id } = message.user
    const { client } = this.#parts
    const userId = user_id ?? undefined
    if (!approvers.includes(name))
      throw new BeaverError(
        'not_allowed',
        `${JSON.stringify(name)} may not decide about budgets in the channel ${message.channel}.`,
      )
    const reason = reply.verb === 'more' ? 'Given in the chat.' : 'Cancelled in the chat.'
    const done =
      more === null
        ? client.cancel(task_id, reason, { userId })
        : client.raise(task_id, more, {
            ...{ nodeId: ask.nodeId, reason, userId },
            requestId: answerIdOf(message, 'raise'),
          })
    await done.catch(lastingIfGone)
    this.#waits.follow(code)
    const { budget } = ask.exceeded
    const notice =
      more === null ? 'The task is cancelled.' : `Given: ${limitsText(more)} more to ${budgetText(budget)}.`
    await this.#tell(noticed(message, notice, task_id, this.#now()))
    return { kind: 'done' }
  }

  async #answer(
    message: InboundMessage,
    settings: ChannelSettings,
    reply:
      | { readonly code: string; readonly reason: string }
      | { readonly code: string | null; readonly text: string },
  ): Promise<Tried> {
    const waiting = await this.#waits.questions(message, settings)
    if (reply.code !== null && !waiting.some(({ code }) => code === reply.code))
      throw await this.#nothingWith(message, reply.code, { settings, wanted: 'question' })
    const asked = questionMeant(waiting, reply.code)
    const answer: QuestionAnswer = 'text' in reply ? answerIn(asked, reply.text) : { action: 'decline' }
    const reason = 'reason' in reply && reply.reason !== '' ? { reason: reply.reason } : {}
    const request = answerTo(asked, answer, { ...reason, userId: message.user.user_id ?? undefined })
    await this.#parts.client
      .answer(asked.task_id, request)
      .catch((error: unknown) => lastingIfGone(withCode(error, asked.open.callId, asked.code)))
    this.#waits.follow(asked.code)
    const notice =
      answer.action === 'accept'
        ? `Answered: ${(answer.answers ?? Object.values(answer.content ?? {}).map(String)).join(', ')}`
        : 'Declined to answer.'
    await this.#tell(noticed(message, notice, asked.task_id, this.#now()))
    return { kind: 'done' }
  }

  async #decide(
    message: InboundMessage,
    chatDecision: Extract<ChatDecision, { verb: 'approve' | 'deny' }>,
    settings: ChannelSettings,
  ): Promise<Tried> {
    const { name, user_id } = message.user
    const { code } = chatDecision
    if (!settings.approvers.includes(name))
      throw new BeaverError(
        'not_allowed',
        `${JSON.stringify(name)} may not decide about calls in the channel ${message.channel}.`,
      )
    const changed = chatDecision.verb === 'approve' ? changedArguments(code, chatDecision.rest) : null
    const call = await this.#callOf(code, sessionIdOf(message))
    if (call === null) throw await this.#nothingWith(message, code, { settings, wanted: 'call' })
    const { task_id, run_id, call_id, call_hash } = call
    const approved = chatDecision.verb === 'approve'
    const decision = {
      callId: run_id === null ? call_id : `${run_id}/${call_id}`,
      callHash: call_hash ?? undefined,
      approved,
      userId: user_id ?? undefined,
      ...(chatDecision.verb === 'deny' ? { reason: chatDecision.reason } : {}),
      ...(changed === null ? {} : { arguments: changed }),
    }
    await this.#parts.client
      .decide(task_id, decision)
      .catch((error: unknown) => lastingIfGone(withCode(error, call_id, code)))
    this.#waits.follow(code)
    const outcome = approved ? (changed === null ? 'Allowed' : 'Allowed with your arguments') : 'Refused'
    await this.#tell(noticed(message, `${outcome}: ${code}`, task_id, this.#now()))
    return { kind: 'done' }
  }

  /** The error for a code for which nothing waits. @throws {BeaverError} the codes of a query */
  async #nothingWith(
    message: InboundMessage,
    code: string,
    {
      settings: { approvers },
      wanted,
    }: { readonly settings: ChannelSettings; readonly wanted: Waiting['kind'] },
  ): Promise<BeaverError> {
    const session = sessionIdOf(message)
    const settled = await settledCode(this.#parts.client, session, code)
    if (settled !== null) return settled
    const waiting = await this.#waits.anywhere(session)
    const same = waiting.filter((each) => each.code === code)
    if (same.some(({ kind }) => kind !== wanted))
      return new BeaverError('invalid_arguments', waitLines(same, approvers))
    const others = same.length > 0 || waiting.length === 0 ? '' : ` ${waitLines(waiting, approvers)}`
    const fault =
      wanted === 'call'
        ? `No call with the code ${code} waits`
        : `No question with the code ${code} waits for you`
    return new BeaverError('invalid_arguments', `${fault} in this chat.${others}`)
  }

  async #callOf(code: string, session: string): Promise<NamedCall | null> {
    const known = this.#asked.get(code)
    if (known !== undefined) return known.session === session ? known : null
    return (await this.#waits.calls(session)).find((call) => codeOf(call) === code) ?? null
  }

  /** Shows the chat that Beaver works on the message. @returns a function that stops showing it */
  #showWork(message: InboundMessage, task_id: string): () => Promise<void> {
    const { clock, shownWork } = this.#parts
    return this.#work.begin({
      chat_id: message.chat_id,
      shown: shownWork.get(message.channel),
      clock,
      waits: () => this.#waits.waits(message),
      line: () => this.#tell(worksOn(message, task_id, this.#now())),
    })
  }

  async #tell(message: OutboundMessage): Promise<void> {
    await this.#parts.bus.publish('outbound', outboundMessage.parse(message))
  }

  /**
   * Waits for `work`, but after a stop only for a moment longer; then the message goes back to the queue. If
   * `work` ends later, this is harmless, because a repeated message has the same ids.
   */
  #unlessStopped(work: Promise<Handled>): Promise<Handled> {
    const { promise, resolve } = Promise.withResolvers<Handled>()
    let timer = { cancel: (): void => {} }
    const stop = (): void =>
      void (timer = this.#parts.clock.after(settleMsMax, () => resolve({ kind: 'back' })))
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

/** Whether the text has the code of one of these calls or budgets. */
function namesOneOf(waiting: readonly Waiting[], text: string): boolean {
  const codes = codesIn(text)
  return waiting.some(({ kind, code }) => kind !== 'question' && codes.includes(code))
}

/** What a message gives. `more`: `null` if it cancels the task. */
interface Given {
  readonly reply: BudgetReply
  readonly budget: ChatBudget
  readonly more: BudgetLimits | null
}

/**
 * Reads what a message gives to a budget that waits. `null`: nothing, so the text may be an answer.
 *
 * @param options `isExpected`: whether a question waits for this person. Then "cancel" is its answer
 * @throws {BeaverError} `invalid_arguments` if the text does not say which of several budgets it means
 */
function givenIn(
  text: string,
  waiting: readonly Waiting[],
  { isExpected }: { readonly isExpected: boolean },
): Given | null {
  const budgets = waiting.flatMap(({ budget }) => (budget === undefined || budget.ask.shared ? [] : [budget]))
  const reply = budgetReplyIn(text)
  if (reply === null || (isExpected && reply.verb === 'cancel' && reply.code === null)) return null
  const meant = budgets.filter(({ code }) => reply.code === null || reply.code === code)
  const [budget] = meant
  if (budget === undefined) return null
  const more = reply.verb === 'more' ? amountIn(reply.amount, budget.ask.exceeded.measure) : null
  if (reply.verb === 'more' && more === null) return null
  const isOne =
    meant.length === 1 || (more === null && new Set(meant.map(({ task_id }) => task_id)).size === 1)
  if (isOne) return { reply, budget, more }
  const names = meant.map(({ code, ask }) => `"more ${code} …" for: ${ask.reason}`)
  throw new BeaverError(
    'invalid_arguments',
    `${meant.length} budgets wait. Say which one you mean:\n${names.join('\n')}`,
  )
}

/**
 * The error with the code of the call in place of its id, because the people in a chat know only the code.
 */
function withCode(error: unknown, callId: string, code: string): unknown {
  if (!(error instanceof BeaverError)) return error
  return new BeaverError(error.code, error.message.replaceAll(`call ${callId} `, `call ${code} `), {
    cause: error,
    problems: error.problems,
  })
}

/** Turns `not_found` into `conflict`: the call or question no longer waits, so another try cannot succeed. */
function lastingIfGone(error: unknown): never {
  throw error instanceof BeaverError && error.code === 'not_found'
    ? new BeaverError('conflict', error.message)
    : error
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

/** Submits a task. @returns the error if a task has this id already, else `null` */
async function submitted(client: TaskClient, task: SubmitTask): Promise<BeaverError | null> {
  try {
    await client.submit(task)
    return null
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'conflict') return error
    throw error
  }
}

/** Whether the existing task came from the same message. */
const isOwn = ({ data }: Extract<RecordedEvent, { type: 'task_submitted' }>, task: NamedTask): boolean =>
  data.session_id === task.session_id && data.request.source === task.source

// Finds the earlier decision or answer if a person names a code that no longer waits. Like a waiting code, an
// old code counts only in its own chat.

/** How many of the newest tasks of a chat are searched for a code. */
const tasksMax = 10

/**
 * The error that names the earlier decision or answer, according to the read model.
 *
 * @returns `null` if the newest tasks of the chat have no such code with a decision or an answer
 * @throws {BeaverError} the codes of a query
 */
async function settledCode(
  client: Pick<BeaverClient, 'query'>,
  session: string,
  code: string,
): Promise<BeaverError | null> {
  const { tasks } = await client.query('tasks', { session_id: session, limit: tasksMax })
  for (const { task_id } of tasks) {
    const { approvals, questions = [] } = await client.query('task', { task_id })
    const call = approvals.find((each) => codeOf(each) === code)
    if (call !== undefined)
      return isSettled(call.state)
        ? alreadySettled({ ...call, call_id: code, state: call.state, time: call.decided_at })
        : null
    const asked = questions.find((each) => questionCodeOf({ ...each, index: each.question_index }) === code)
    if (asked !== undefined)
      return isSettled(asked.state)
        ? alreadySettled({ ...asked, call_id: code, state: asked.state, time: asked.answered_at })
        : null
  }
  return null
}
