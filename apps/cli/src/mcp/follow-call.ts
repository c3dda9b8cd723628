// Follows the task of a call of the MCP server: tells how far it is and what it waits for, until it ends or
// asks its client. The client hears every few seconds what happens now, so that it does not take a long wait
// for a call that hangs. If the client cancels, the task is asked to stop, and is followed to its end for a
// bounded time.
import {
  agentAsks,
  type WaitingCall,
  waitingCalls,
  type OpenQuestion,
  openQuestions,
  type RecordedEvent,
} from '@beaver/core'
import type { AskingWorkflow, WorkflowCallOptions, WorkflowCallResult } from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import type { Connection } from '../connection.ts'
import { followTask } from '../follow/follow-task.ts'
import { type FoundSystem, hasEnded } from '../system/find-system.ts'
import type { PersonCommand } from './person-command.ts'
import { callWaits, personWaits, questionsFor, questionWaits } from './task-questions.ts'
import { afterEvent, happeningNow, noProgress, type TeamProgress } from './team-progress.ts'

export interface CalledTask extends WorkflowCallOptions {
  readonly taskId: string
  /** The place in its log up to which its questions are known. */
  readonly after: number
}

export interface CallPlace {
  readonly connection: Connection
  readonly system: FoundSystem
  readonly config: Config
  readonly command: PersonCommand
  /** Says what waits for a person. */
  readonly tell: (line: string) => void
}

const cancelMsMax = 5_000
const tellEveryMs = 3_000

/** @throws {BeaverError} the codes of `followTask` */
export const followCall = (place: CallPlace, called: CalledTask): Promise<WorkflowCallResult> =>
  new FollowedCall(place, called).result()

class FollowedCall {
  readonly #place: CallPlace
  readonly #called: CalledTask
  readonly #stop = new AbortController()
  #progress: TeamProgress = noProgress
  #open: readonly OpenQuestion[] = []
  #waiting: readonly WaitingCall[] = []
  #asking: AskingWorkflow | null = null
  #notice: string | null = null
  #last = ''

  constructor(place: CallPlace, called: CalledTask) {
    this.#place = place
    this.#called = called
  }

  async result(): Promise<WorkflowCallResult> {
    const { connection, system, config } = this.#place
    const { taskId, signal } = this.#called
    signal.addEventListener('abort', this.#cancel, { once: true })
    if (signal.aborted) this.#cancel()
    const telling = setInterval(() => this.#tellNow(), tellEveryMs)
    try {
      const followed = await followTask(connection, taskId, {
        signal: this.#stop.signal,
        onEvent: (event) => this.#event(event),
        onNotice: (notice) => {
          this.#notice = notice
          if (notice !== null) this.#report(notice)
        },
        systemGone: () => hasEnded(system, config),
      })
      if (followed.kind === 'ended') {
        const { status, result, session_id: sessionId } = followed.end
        const outcome = {
          taskId,
          sessionId,
          finalOutput: result.final_output,
          outputs: result.outputs,
          failure: result.failure?.message ?? null,
        }
        return {
          ok: true,
          result: { ...outcome, status: status as 'completed' | 'incomplete' | 'failed' | 'cancelled' },
        }
      }
      if (this.#asking !== null) return { ok: true, asks: this.#asking }
      return {
        ok: false,
        error: {
          code: 'cancelled',
          message: `The task ${taskId} was asked to stop, but did not stop in time.`,
        },
      }
    } finally {
      clearInterval(telling)
      signal.removeEventListener('abort', this.#cancel)
    }
  }

  readonly #cancel = (): void => {
    setTimeout(() => this.#stop.abort(), cancelMsMax).unref()
    this.#place.connection.client
      .cancel(this.#called.taskId, 'Cancelled by the MCP client.')
      .catch(() => this.#stop.abort())
  }

  #event(event: RecordedEvent): void {
    this.#open = openQuestions(this.#open, event)
    this.#waiting = waitingCalls(this.#waiting, event)
    if (event.taskseq > this.#called.after) this.#waits(event)
    if (event.type === 'task_submitted') this.#tell(this.#accepted())
    const step = afterEvent(this.#progress, event)
    if (step === null) return
    this.#progress = step.after
    this.#tell(step.message)
  }

  #accepted(): string {
    const { taskId } = this.#called
    return `The task ${taskId} was accepted. Look at it with: ${this.#place.command(`show ${taskId}`)}`
  }

  #tellNow(): void {
    const waits = personWaits(
      this.#called.taskId,
      { open: this.#open, waiting: this.#waiting },
      this.#place.command,
    )
    this.#report(this.#notice ?? waits ?? happeningNow(this.#progress, Date.now()) ?? this.#last)
  }

  /** Says what a person has to do. What an agent asks ends a call whose client may be asked. */
  #waits({ type }: RecordedEvent): void {
    const { taskId, asks } = this.#called
    const { command } = this.#place
    if (type === 'approval_requested')
      return this.#tellPerson(callWaits(taskId, this.#waiting, command) ?? '')
    const asked = type === 'question_asked' ? this.#open.at(-1) : undefined
    if (asked === undefined) return
    this.#tellPerson(questionWaits(taskId, asked, command))
    if (!asks || !agentAsks(asked)) return
    this.#asking = { taskId, questions: questionsFor([asked]) }
    this.#stop.abort()
  }

  #tellPerson(message: string): void {
    this.#place.tell(message)
    this.#called.onWaits(message)
    this.#tell(message)
  }

  /** What an event says holds until the next event. */
  #tell(message: string): void {
    this.#last = message
    this.#report(message)
  }

  #report(message: string): void {
    this.#called.onProgress({ done: this.#progress.ended.size, total: this.#progress.total || null, message })
  }
}
