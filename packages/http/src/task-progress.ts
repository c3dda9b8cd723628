// How far a task is, as a client of another protocol is told: a fold of its events and its live pieces. The
// journal alone decides, so a gateway that was killed and started again says the same.
import {
  type Answered,
  type DataOf,
  type Decided,
  isAnswer,
  isDecision,
  type LiveDelta,
  type WaitingCall,
  waitingCalls,
  type OpenQuestion,
  openQuestions,
  type QuestionAnswer,
  questionLines,
  type RecordedEvent,
} from '@beaver/core'
import { type AgentRunResult, resultFold } from '@beaver/service'
import { AgentOutput, type Step } from './agent-output.ts'

/** What waited for a person, and what a person, or Beaver in place of one, said about it. */
export interface SettledByPerson {
  readonly asked: WaitingCall | OpenQuestion
  readonly event: (Decided | Answered) & { readonly time: string }
}

/**
 * What was said while the task ran: by a person who steered it or answered a question, by the root agent
 * before its answer, or by a call that asks.
 */
export interface SaidText {
  readonly by: 'user' | 'agent'
  readonly text: string
  /** The place in the log. */
  readonly taskseq: number
}

export class TaskProgress {
  readonly output = new AgentOutput()
  readonly #fold = resultFold()
  readonly #said: SaidText[] = []
  readonly #settled: SettledByPerson[] = []
  #waiting: readonly WaitingCall[] = []
  #asking: readonly OpenQuestion[] = []
  #submitted: DataOf<'task_submitted'> | null = null
  #newest: { readonly taskseq: number; readonly time: string } = { taskseq: 0, time: '' }
  #begun = false
  #root: string | null = null

  /** Takes the next event of the task, and says what it tells of the output of the root agent. */
  add(event: RecordedEvent): Step[] {
    this.#newest = { taskseq: event.taskseq, time: event.time }
    this.#fold.add(event)
    this.#settle(event)
    this.#waiting = waitingCalls(this.#waiting, event)
    this.#asking = openQuestions(this.#asking, event)
    this.#note(event)
    const steps = [...this.output.event(event), ...(this.result === null ? [] : this.output.end(this.result))]
    for (const { kind, item } of steps.filter((step) => step.kind !== 'text'))
      if (kind === 'ended' && item.kind === 'text' && item.final === false)
        this.#said.push({ by: 'agent', text: item.text, taskseq: event.taskseq })
    return steps
  }

  /** Takes a piece of an answer, which may be lost or come late. */
  piece(piece: LiveDelta): Step[] {
    return this.output.piece(piece)
  }

  /** `null`: there is no such task. */
  get submitted(): DataOf<'task_submitted'> | null {
    return this.#submitted
  }

  /** Whether a daemon has taken the task. */
  get begun(): boolean {
    return this.#begun
  }

  /** The run of the root agent. `null`: none has begun. */
  get root(): string | null {
    return this.#root
  }

  /** `null`: the task has not ended. */
  get result(): AgentRunResult | null {
    return this.#fold.result
  }

  /** The place of the newest event in the log, from 1. 0: there is none. */
  get taskseq(): number {
    return this.#newest.taskseq
  }

  /** The time of the newest event (RFC 3339). */
  get time(): string {
    return this.#newest.time
  }

  /** The questions that wait for an answer, in the order in which they were asked. */
  get asking(): readonly OpenQuestion[] {
    return this.#asking
  }

  /** The calls that wait for a decision, in the order in which they asked. */
  get waiting(): readonly WaitingCall[] {
    return this.#waiting
  }

  /** What was decided about calls and answered to questions, in order. */
  get settled(): readonly SettledByPerson[] {
    return this.#settled
  }

  /** In order. */
  get said(): readonly SaidText[] {
    return this.#said
  }

  #note({ type, data, taskseq }: RecordedEvent): void {
    if (type === 'task_submitted') this.#submitted ??= data
    else if (type === 'task_claimed') this.#begun = true
    else if (type === 'run_started' && data.team_run_id === null) this.#root ??= data.run_id
    else if (type === 'task_steer_requested') this.#said.push({ by: 'user', text: data.text, taskseq })
    else if (type === 'question_asked')
      this.#said.push({ by: 'agent', text: questionLines(data.question).join('\n'), taskseq })
    else if (type === 'question_answered') this.#answered(data.answer, taskseq)
  }

  #settle(event: RecordedEvent): void {
    if (!isDecision(event) && !isAnswer(event)) return
    const { runId, data } = event
    const waited = isAnswer(event) ? this.#asking : this.#waiting
    const asked = waited.find((each) => each.runId === runId && each.callId === data.call_id)
    if (asked !== undefined) this.#settled.push({ asked, event })
  }

  #answered({ action, answers = [], content }: QuestionAnswer, taskseq: number): void {
    if (action === 'accept')
      this.#said.push({
        by: 'user',
        text: content === undefined ? answers.join('\n') : JSON.stringify(content),
        taskseq,
      })
  }
}

/** A task that the caller may see. */
export interface SeenTask {
  readonly submitted: DataOf<'task_submitted'>
  readonly progress: TaskProgress
}

/**
 * Reads how far a task is now.
 *
 * @param may whether the caller may see a task with this beginning. If not, nothing else is read
 * @returns `null` if there is no such task, or if the caller may not see it
 */
export async function readProgress(
  events: AsyncIterable<RecordedEvent>,
  may: (submitted: DataOf<'task_submitted'>) => boolean,
): Promise<SeenTask | null> {
  const progress = new TaskProgress()
  for await (const event of events) {
    progress.add(event)
    if (progress.submitted === null || !may(progress.submitted)) return null
  }
  return progress.submitted === null ? null : { submitted: progress.submitted, progress }
}
