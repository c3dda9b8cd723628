// One task as a turn in an editor's session: it submits the task, shows its progress to the editor, and ends
// with it.
// - The journal decides. Live pieces are only hints, and are dropped while the editor reads more slowly than
//   the model writes.
// - If the following of a turn stops, its task continues. Only a cancel by the editor cancels the task.
// - Only an option that the person chose decides about a call, and only an answer that the person gave
//   answers a question (put-question.ts). If the editor withdraws a request or cannot show it, the call or
//   the question keeps waiting. So does a task that waits for more in a budget.
// - A question that the editor can show only as text ends the turn. Its task waits, and the next prompt
//   answers it.
import type { PermissionOption } from '@agentclientprotocol/sdk'
import type { SubmitTask } from '@beaver/client'
import {
  BeaverError,
  canonicalJson,
  type Clock,
  type JsonObject,
  type JsonValue,
  messageOf,
} from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { amountText, budgetOffers } from '@beaver/core/budget'
import { questionLines } from '@beaver/core/question'
import { askingCall, operatorGives, type TaskViewEnd } from '@beaver/core/task-view'
import type { SystemLink } from './editor-system.ts'
import type { Editor } from './editor.ts'
import { putQuestion, type Putting, wayOf } from './put-question.ts'
import { askedContent } from './shown-call.ts'
import {
  agentText,
  type ShownBudget,
  type ShownCall,
  type ShownQuestion,
  type TurnChange,
  TurnUpdates,
} from './turn-updates.ts'

/** A task whose log was read up to the event `seen`. */
export interface ReadTask {
  readonly taskId: string
  readonly updates: TurnUpdates
  readonly seen: number
  readonly waiting: readonly ShownCall[]
}

/** A task whose question the next prompt answers. */
export interface AskingTask {
  readonly task: ReadTask
  readonly question: ShownQuestion
}

export interface TurnParts {
  readonly editor: Editor
  readonly clock: Clock
  readonly sessionId: string
  /** The user who decides about calls, answers questions and cancels the task. */
  readonly userId: string | undefined
  /**
   * Called as soon as a question is shown as text, which the next prompt must answer. After that, the turn
   * shows nothing more.
   */
  readonly asks: (asking: AskingTask) => void
}

const backlogMax = 1_000
/** How often a form is shown if its contents are not valid. */
const formsMax = 3
/** How long the turn waits for the end of a cancelled task, in milliseconds. */
const cancelMsMax = 20_000

const allow: PermissionOption = { optionId: 'allow', name: 'Allow', kind: 'allow_once' }
const edit: PermissionOption = { optionId: 'edit', name: 'Change the arguments', kind: 'allow_once' }
const refuse: PermissionOption = { optionId: 'refuse', name: 'Refuse', kind: 'reject_once' }
const giveNothing: PermissionOption = {
  optionId: 'stop',
  name: 'Give nothing: stop the task',
  kind: 'reject_once',
}

/** Whether another person decided or answered first. */
const isConflict = (error: unknown): error is BeaverError =>
  error instanceof BeaverError && error.code === 'conflict'

export const newTask = (taskId: string): ReadTask => ({
  taskId,
  updates: new TurnUpdates(taskId),
  seen: 0,
  waiting: [],
})

export class Turn {
  readonly taskId: string
  readonly #parts: TurnParts
  readonly #task: ReadTask
  /**
   * The requests that the editor shows now, by the id of the call or the key of the question. Aborting one
   * withdraws it.
   */
  readonly #asking = new Map<string, AbortController>()
  /** The calls that wait for a decision, by their ids in the editor. */
  readonly #waiting = new Map<string, ShownCall>()
  readonly #stop = new AbortController()
  /**
   * The connection on which the task can be cancelled. It resolves when the task is in the journal. `null`:
   * there is no task to cancel.
   */
  readonly #submitted = Promise.withResolvers<SystemLink | null>()
  #end: TaskViewEnd | null = null
  #asks: AskingTask | null = null
  /** The place of the newest event that was applied. */
  #seen: number
  #cancelling: Promise<void> | null = null

  constructor(parts: TurnParts, task: ReadTask) {
    this.#parts = parts
    this.#task = task
    this.#seen = task.seen
    this.taskId = task.taskId
  }

  /** Whether the editor cancelled the turn. */
  get cancelled(): boolean {
    return this.#cancelling !== null
  }

  /**
   * Submits the task and follows it. The following starts before the submission, so that no piece of the
   * answer is missed. If the turn was cancelled before, nothing is submitted.
   *
   * @returns the end of the task, or the question that ended the turn. `null`: `signal` aborted, or the task
   * did not end in time after a cancel
   * @throws {BeaverError} the codes of `BeaverClient.submit`, of `SystemLink.follow` and, if the cancel
   * failed, of `BeaverClient.cancel`
   */
  async run(
    link: SystemLink,
    task: SubmitTask,
    signal: AbortSignal,
  ): Promise<TaskViewEnd | AskingTask | null> {
    if (this.cancelled) return null
    const following = this.#follow(link, signal)
    following.catch(() => {})
    try {
      await link.client.submit({ ...task, task_id: this.taskId })
      this.#submitted.resolve(link)
    } catch (error) {
      this.abandon()
      this.#stop.abort()
      await following.catch(() => {})
      throw error
    }
    return this.#ended(following)
  }

  /** Follows an existing task. It returns and throws as `run` does. */
  async resume(link: SystemLink, signal: AbortSignal): Promise<TaskViewEnd | AskingTask | null> {
    this.#submitted.resolve(link)
    for (const call of this.#task.waiting) this.#waiting.set(call.toolCallId, call)
    await this.#catchUp(link)
    for (const call of this.#waiting.values()) if (!this.#asking.has(call.toolCallId)) this.#begin(call, link)
    for (const question of this.#task.updates.questions) this.#put(question, link)
    for (const short of this.#task.updates.budgets) this.#askForMore(short, link)
    return this.#ended(this.#follow(link, signal))
  }

  /** Records that there is no task to cancel, or that it can no longer be cancelled. */
  abandon(): void {
    this.#submitted.resolve(null)
  }

  cancel(): void {
    this.#cancelling ??= this.#cancel()
    this.#cancelling.catch(() => {})
  }

  async #ended(following: Promise<void>): Promise<TaskViewEnd | AskingTask | null> {
    try {
      await following
      if (this.#asks !== null && !this.cancelled) return this.#asks
      if (this.#end === null) await this.#cancelling
      return this.#end
    } finally {
      this.#stop.abort()
    }
  }

  async #follow(link: SystemLink, signal: AbortSignal): Promise<void> {
    const { editor, sessionId } = this.#parts
    const { updates } = this.#task
    try {
      await link.follow(this.taskId, {
        signal: AbortSignal.any([signal, this.#stop.signal]),
        onEvent: (event) => this.#show(this.#folded(event), link),
        onLive: (update) =>
          editor.backlog < backlogMax && this.#asks === null
            ? this.#show(updates.live(update), link)
            : undefined,
        onNotice: (notice) => (notice === null ? undefined : editor.notice(sessionId, notice)),
      })
    } finally {
      for (const asking of this.#asking.values()) asking.abort()
    }
  }

  /**
   * Shows what happened since the task was read. Requests to the person are shown only afterwards, because
   * they may have been answered by then.
   */
  async #catchUp(link: SystemLink): Promise<void> {
    for await (const event of link.client.events(this.taskId)) {
      const changes = this.#folded(event)
      for (const each of changes) if ('asked' in each) this.#waiting.set(each.asked.toolCallId, each.asked)
      this.#show(
        changes.filter((each) => !('asked' in each || 'question' in each || 'short' in each)),
        link,
      )
    }
  }

  #folded(event: RecordedEvent): readonly TurnChange[] {
    if (event.taskseq <= this.#seen || this.#asks !== null) return []
    this.#seen = event.taskseq
    return this.#task.updates.event(event)
  }

  #show(changes: readonly TurnChange[], link: SystemLink): void {
    const { editor, sessionId } = this.#parts
    for (const each of changes) {
      if ('update' in each) void editor.update(sessionId, each.update)
      else if ('asked' in each) this.#begin(each.asked, link)
      else if ('decided' in each) this.#over(each.decided.toolCallId)
      else if ('question' in each) this.#put(each.question, link)
      else if ('settled' in each) this.#asking.get(questionKey(each.settled))?.abort()
      else if ('short' in each) this.#askForMore(each.short, link)
      else if ('placed' in each) this.#asking.get(each.placed.toolCallId)?.abort()
      else this.#end = each.end
    }
  }

  #over(toolCallId: string): void {
    this.#waiting.delete(toolCallId)
    this.#asking.get(toolCallId)?.abort()
  }

  #put(question: ShownQuestion, link: SystemLink): void {
    if (wayOf(question, this.#parts.editor) === 'prompt') return this.#tellQuestion(question)
    const key = questionKey(question)
    if (this.#asking.has(key)) return
    const over = new AbortController()
    this.#asking.set(key, over)
    void this.#putTo(question, link, over.signal).finally(() => this.#asking.delete(key))
  }

  #tellQuestion(question: ShownQuestion): void {
    const { editor, sessionId, asks } = this.#parts
    if (this.#asks !== null) return
    this.#asks = {
      task: {
        taskId: this.taskId,
        updates: this.#task.updates,
        seen: this.#seen,
        waiting: [...this.#waiting.values()],
      },
      question,
    }
    const text = `${questionLines(question.question).join('\n\n')} Write it as the next prompt. To give no answer: beaver answer ${this.taskId} --decline`
    void editor.update(sessionId, agentText(`\n\n${text}`, `${this.taskId}.question.${question.taskseq}`))
    asks(this.#asks)
    this.#stop.abort()
  }

  async #putTo(question: ShownQuestion, link: SystemLink, signal: AbortSignal): Promise<void> {
    const { editor, sessionId, userId } = this.#parts
    const elsewhere = `Answer it with: beaver answer ${this.taskId}`
    for (let shown = 1; shown <= formsMax; shown++) {
      try {
        const answer = await putQuestion(question, { editor, sessionId }, signal)
        if (signal.aborted) return
        if (answer === null) return editor.notice(sessionId, `The question waits. ${elsewhere}`)
        await link.client.answer(this.taskId, {
          callId: askingCall(question),
          questionIndex: question.index,
          answer,
          userId,
        })
        return
      } catch (error) {
        if (signal.aborted) return
        if (isConflict(error)) return editor.notice(sessionId, error.message)
        editor.notice(sessionId, `${messageOf(error)} ${elsewhere}`)
        if (!(error instanceof BeaverError && error.code === 'invalid_arguments')) return
      }
    }
  }

  /** Asks for more in a budget. Of a budget that tasks share, it only says who can give more. */
  #askForMore(short: ShownBudget, link: SystemLink): void {
    const { editor, sessionId } = this.#parts
    const { toolCallId, title, shared, exceeded } = short
    if (shared) return editor.notice(sessionId, `${title}. ${operatorGives(exceeded.budget)}`)
    if (this.#asking.has(toolCallId)) return
    const over = new AbortController()
    this.#asking.set(toolCallId, over)
    void this.#offerMore(short, link, over.signal).finally(() => this.#asking.delete(toolCallId))
  }

  async #offerMore(short: ShownBudget, link: SystemLink, signal: AbortSignal): Promise<void> {
    const { editor, sessionId, userId } = this.#parts
    const { toolCallId, title, nodeId, exceeded } = short
    const { measure } = exceeded
    const elsewhere = `${title}. Give more with: beaver budget raise ${this.taskId}`
    const offers = budgetOffers(exceeded)
    try {
      const options = [
        ...offers.map((amount, i): PermissionOption => {
          const name = `Give ${amountText(measure, amount)} more`
          return { optionId: `more-${i}`, name, kind: 'allow_once' }
        }),
        giveNothing,
      ]
      const toolCall = { toolCallId, title, status: 'pending' as const }
      const { outcome } = await editor.ask({ sessionId, toolCall, options }, signal)
      if (signal.aborted) return
      const chosen = outcome.outcome === 'selected' ? outcome.optionId : null
      const amount = offers.find((_, i) => chosen === `more-${i}`)
      if (amount !== undefined)
        await link.client.raise(
          this.taskId,
          { [measure]: amount },
          { nodeId, userId, reason: 'Given in the editor.' },
        )
      else if (chosen === giveNothing.optionId) this.cancel()
      else editor.notice(sessionId, elsewhere)
    } catch (error) {
      if (!signal.aborted)
        editor.notice(sessionId, isConflict(error) ? error.message : `${messageOf(error)} ${elsewhere}`)
    }
  }

  #begin(call: ShownCall, link: SystemLink): void {
    this.#waiting.set(call.toolCallId, call)
    const over = new AbortController()
    this.#asking.set(call.toolCallId, over)
    void this.#ask(call, link, over.signal).finally(() => this.#asking.delete(call.toolCallId))
  }

  async #ask(call: ShownCall, link: SystemLink, signal: AbortSignal): Promise<void> {
    const { editor, sessionId, userId } = this.#parts
    const { toolCallId, title, asked } = call
    const elsewhere = `The call waits: ${title}. Answer it with: beaver approve ${this.taskId}`
    const decide = (
      approved: boolean,
      more: { readonly arguments?: string; readonly reason?: string } = {},
    ): Promise<void> =>
      link.client.decide(this.taskId, {
        callId: askingCall(call),
        callHash: asked.call_hash,
        approved,
        userId,
        ...more,
      })
    try {
      const toolCall = {
        toolCallId,
        title,
        status: 'pending' as const,
        content: askedContent(asked, this.taskId),
      }
      const options = editor.takesForms ? [allow, edit, refuse] : [allow, refuse]
      const { outcome } = await editor.ask({ sessionId, toolCall, options }, signal)
      const chosen = outcome.outcome === 'selected' ? outcome.optionId : null
      if (signal.aborted) return
      if (chosen === allow.optionId) await decide(true)
      else if (chosen === refuse.optionId) await decide(false, { reason: 'Refused in the editor.' })
      else if (
        chosen === edit.optionId &&
        !(await this.#edit(
          call,
          (args) => decide(true, args === undefined ? {} : { arguments: args }),
          signal,
        ))
      )
        editor.notice(sessionId, elsewhere)
    } catch (error) {
      if (!signal.aborted)
        editor.notice(sessionId, isConflict(error) ? error.message : `${messageOf(error)} ${elsewhere}`)
    }
  }

  /**
   * Asks for changed arguments and decides with them. If they do not fit the tool, it asks again.
   *
   * @returns whether the call was decided or needs no decision any more
   */
  async #edit(
    call: ShownCall,
    decide: (args: string | undefined) => Promise<void>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { editor, sessionId } = this.#parts
    let written = call.written ?? ''
    for (let shown = 1; shown <= formsMax; shown++) {
      const args = await putArguments({ ...call, written }, { editor, sessionId }, signal)
      if (signal.aborted) return true
      if (args === null) return false
      try {
        // A form without changes approves the call as it is.
        await decide(isSame(args, call.written ?? '') ? undefined : args)
        return true
      } catch (error) {
        if (!(error instanceof BeaverError && error.code === 'invalid_arguments')) throw error
        editor.notice(sessionId, error.message)
        written = args
      }
    }
    return false
  }

  async #cancel(): Promise<void> {
    const { clock, userId } = this.#parts
    const link = await this.#submitted.promise
    if (link === null) return
    try {
      await link.client.cancel(this.taskId, 'Cancelled in the editor.', { userId })
      if (this.#stop.signal.aborted) return
      const late = clock.after(cancelMsMax, () => this.#stop.abort())
      this.#stop.signal.addEventListener('abort', () => late.cancel(), { once: true })
    } catch (error) {
      // The task has ended, or somebody has cancelled it already.
      if (error instanceof BeaverError && error.code === 'conflict') return
      this.#stop.abort()
      throw error
    }
  }
}

const questionKey = ({ taskseq }: Pick<ShownQuestion, 'taskseq'>): string => `question ${taskseq}`

/** Whether two texts have the same JSON value, or are equal if they are not JSON. */
function isSame(one: string, other: string): boolean {
  try {
    return canonicalJson(JSON.parse(one) as JsonValue) === canonicalJson(JSON.parse(other) as JsonValue)
  } catch {
    return one === other
  }
}

// Lets the person change the arguments of a call, if the editor can show forms.

/**
 * The arguments that the person wrote. `null`: the person closed the form. Rejects if the editor cannot show
 * the form.
 */
async function putArguments(
  { toolCallId, written, title }: ShownCall & { readonly written: string },
  { editor, sessionId }: Putting,
  signal: AbortSignal,
): Promise<string | null> {
  const requestedSchema = {
    type: 'object' as const,
    properties: {
      arguments: {
        type: 'string' as const,
        title: 'Arguments',
        description: 'A JSON object.',
        default: written,
      },
    },
    required: ['arguments'],
  }
  const message = `With which arguments is the call made? ${title}`
  const { action, ...form } = await editor.askForm(
    { mode: 'form', sessionId, toolCallId, message, requestedSchema },
    signal,
  )
  if (action !== 'accept') return null
  const { content } = form as { readonly content?: JsonObject | null }
  const text = content?.['arguments']
  return typeof text === 'string' ? text : ''
}
