// One task as a turn of an editor's session: it is submitted, told to the editor while it runs, and ended.
// T1. The journal decides. Live pieces are hints, and are left out while the editor reads slower than the model writes.
// T2. A turn that is left goes on as a task: only a cancel cancels it.
// T3. Only a chosen option decides about a call. A question that the editor withdraws, or cannot show, leaves the call waiting.
import type { PermissionOption } from '@agentclientprotocol/sdk'
import type { SubmitTask } from '@beaver/client'
import { BeaverError, type Clock, messageOf } from '@beaver/core'
import type { Editor } from './editor.ts'
import type { SystemLink } from './editor-system.ts'
import { askedContent } from './shown-call.ts'
import { type AskedCall, type Told, type TurnEnd, TurnUpdates } from './turn-updates.ts'

/** A task that was read from the journal up to the event `seen`. */
export interface ReadTask {
  readonly taskId: string
  readonly updates: TurnUpdates
  readonly seen: number
  readonly waiting: readonly AskedCall[]
}

export interface TurnParts {
  readonly editor: Editor
  readonly clock: Clock
  readonly sessionId: string
  /** On whose behalf calls are decided and the task is cancelled. */
  readonly userId: string | undefined
}

const backlogMax = 1_000
/** How long the end of a cancelled task is waited for, in milliseconds. */
const cancelMsMax = 20_000

const options: PermissionOption[] = [
  { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
  { optionId: 'refuse', name: 'Refuse', kind: 'reject_once' },
]

export const newTask = (taskId: string): ReadTask => ({ taskId, updates: new TurnUpdates(taskId), seen: 0, waiting: [] })

export class Turn {
  readonly taskId: string
  readonly #parts: TurnParts
  readonly #task: ReadTask
  readonly #asking = new Map<string, AbortController>()
  readonly #stop = new AbortController()
  /** The connection, as soon as the task is in the journal. `null`: there is no task. */
  readonly #submitted = Promise.withResolvers<SystemLink | null>()
  #end: TurnEnd | null = null
  #cancelling: Promise<void> | null = null

  constructor(parts: TurnParts, task: ReadTask) {
    this.#parts = parts
    this.#task = task
    this.taskId = task.taskId
  }

  /** Whether the editor asked to cancel the turn. */
  get cancelled(): boolean {
    return this.#cancelling !== null
  }

  /**
   * Submits the task and follows it. It follows first, so that no piece of the answer is missed. A turn that was cancelled before has no task.
   *
   * @returns `null` if `signal` aborted, or if the task did not end in time after a cancel
   * @throws {BeaverError} the codes of `BeaverClient.submit` and `SystemLink.follow`; of the cancel if it was not possible
   */
  async run(link: SystemLink, task: SubmitTask, signal: AbortSignal): Promise<TurnEnd | null> {
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

  /** Follows a task that exists. */
  async resume(link: SystemLink, signal: AbortSignal): Promise<TurnEnd | null> {
    this.#submitted.resolve(link)
    for (const call of this.#task.waiting) this.#begin(call, link)
    return this.#ended(this.#follow(link, signal))
  }

  /** The turn has no task, or none any more that could be cancelled. */
  abandon(): void {
    this.#submitted.resolve(null)
  }

  cancel(): void {
    this.#cancelling ??= this.#cancel()
    this.#cancelling.catch(() => {})
  }

  async #ended(following: Promise<void>): Promise<TurnEnd | null> {
    try {
      await following
      if (this.#end === null) await this.#cancelling
      return this.#end
    } finally {
      this.#stop.abort()
    }
  }

  async #follow(link: SystemLink, signal: AbortSignal): Promise<void> {
    const { editor, sessionId } = this.#parts
    const { updates, seen } = this.#task
    try {
      await link.follow(this.taskId, {
        signal: AbortSignal.any([signal, this.#stop.signal]),
        onEvent: (event) => (event.taskseq > seen ? this.#tell(updates.event(event), link) : undefined),
        onDelta: (piece) => (editor.backlog < backlogMax ? this.#tell(updates.piece(piece), link) : undefined),
        onNotice: (notice) => (notice === null ? undefined : editor.notice(sessionId, notice)),
      })
    } finally {
      for (const asking of this.#asking.values()) asking.abort()
    }
  }

  #tell(told: readonly Told[], link: SystemLink): void {
    const { editor, sessionId } = this.#parts
    for (const each of told) {
      if ('update' in each) void editor.update(sessionId, each.update)
      else if ('asked' in each) this.#begin(each.asked, link)
      else if ('decided' in each) this.#asking.get(each.decided.toolCallId)?.abort()
      else this.#end = each.end
    }
  }

  #begin(call: AskedCall, link: SystemLink): void {
    const over = new AbortController()
    this.#asking.set(call.toolCallId, over)
    void this.#ask(call, link, over.signal).finally(() => this.#asking.delete(call.toolCallId))
  }

  async #ask({ toolCallId, title, callId, asked }: AskedCall, link: SystemLink, signal: AbortSignal): Promise<void> {
    const { editor, sessionId, userId } = this.#parts
    try {
      const toolCall = { toolCallId, title, status: 'pending' as const, content: askedContent(asked) }
      const { outcome } = await editor.ask({ sessionId, toolCall, options }, signal)
      const chosen = outcome.outcome === 'selected' ? outcome.optionId : null
      if (signal.aborted || (chosen !== 'allow' && chosen !== 'refuse')) return
      const approved = chosen === 'allow'
      await link.client.decide(this.taskId, { callId, callHash: asked.call_hash, approved, userId, ...(approved ? {} : { reason: 'Refused in the editor.' }) })
    } catch (error) {
      // Another person was faster.
      if (signal.aborted || (error instanceof BeaverError && error.code === 'conflict')) return
      editor.notice(sessionId, `${messageOf(error)} The call waits: ${title}. Answer it with: beaver approve ${this.taskId}`)
    }
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
      // It has ended, or is being cancelled already.
      if (error instanceof BeaverError && error.code === 'conflict') return
      this.#stop.abort()
      throw error
    }
  }
}
