// While a task is followed, asks the person at this terminal about waiting calls, for answers to questions and
// for more in budgets, one at a time. Only "y" or "yes" allows a call. An empty line declines a question, and
// leaves a budget as it is. An answer that does not fit is asked for again. If another person answers first,
// the question is withdrawn. After the end of the input nothing is asked, and the person must use the commands
// that the view shows.
import { BeaverError, messageOf } from '@beaver/core'
import { amountIn, amountText, type BudgetLimits, budgetOffers } from '@beaver/core/budget'
import type { RecordedEvent } from '@beaver/core/journal'
import { formFields, type QuestionAnswer, readAnswer } from '@beaver/core/question'
import {
  askingCall,
  type BudgetAsk,
  budgetAsks,
  type OpenQuestion,
  type TaskView,
} from '@beaver/core/task-view'
import type { Readable } from 'node:stream'
import { count } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { styleOf } from '../text/style.ts'
import { budgetQuestion, waitKey } from '../view/budget-lines.ts'
import { callsAsked, nameOf, previewLines, questionsAsked, type ShownCall } from '../view/render-asked.ts'
import { questionText } from '../view/render-question.ts'
import { discardTyped, readLine } from './read-line.ts'

/** Receives the events of the task after `view` has changed. Disposing it withdraws the open question. */
export interface ApprovalQuestions extends AsyncDisposable {
  onEvent(event: RecordedEvent): void
}

export interface ApprovalTerminal {
  readonly input: Readable
  write(text: string): void
  /** Removes the live view. The returned function draws it again. */
  pause(): () => void
}

/**
 * The state of the task, the terminal, and the functions that send what the person decides. `tell` receives
 * notices for the person.
 */
export interface ApprovalOptions {
  readonly view: TaskView
  readonly terminal: ApprovalTerminal
  decide(
    call: { readonly callId: string; readonly callHash: string | undefined },
    approved: boolean,
  ): Promise<void>
  answer(
    question: { readonly callId: string; readonly questionIndex: number },
    answer: QuestionAnswer,
  ): Promise<void>
  give(ask: BudgetAsk, more: BudgetLimits): Promise<void>
  cancel(): Promise<void>
  tell(notice: string): void
}

/**
 * Input that comes within this time after a request, in milliseconds, is not taken as the answer. A call that
 * is decided within this time is not asked about.
 */
const settleMs = 250
const subjectCharsMax = 4_000

const asking: ReadonlySet<RecordedEvent['type']> = new Set([
  'approval_requested',
  'question_asked',
  'budget_exceeded',
  // It may be less than the calls need.
  'budget_raised',
])

/** Asks about what waits for the person, one after the other, until it is disposed. */
export const askApprovals = (options: ApprovalOptions): ApprovalQuestions => new Asker(options)

class Asker implements ApprovalQuestions {
  readonly #options: ApprovalOptions
  readonly #over = new AbortController()
  readonly #answered = new Set<string>()
  #asking: Promise<void> | null = null
  #current: { readonly isAsked: () => boolean; readonly gone: AbortController } | null = null
  #inputEnded = false

  constructor(options: ApprovalOptions) {
    this.#options = options
  }

  onEvent(event: Parameters<ApprovalQuestions['onEvent']>[0]): void {
    if (this.#current !== null && !this.#current.isAsked()) this.#current.gone.abort()
    if (!asking.has(event.type) || this.#over.signal.aborted || this.#inputEnded) return
    this.#asking ??= this.#askAll().finally(() => (this.#asking = null))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#asking
  }

  async #askAll(): Promise<void> {
    while (!this.#over.signal.aborted && !this.#inputEnded) {
      const next = this.#waiting().find(({ key }) => !this.#answered.has(key))
      if (next === undefined) return
      await next.ask()
    }
  }

  /** What waits for a person now, in the order in which it is asked. */
  #waiting(): Asked[] {
    const { view } = this.#options
    return [
      ...callsAsked(view).map((each) => ({ key: callKey(each), ask: () => this.#ask(each) })),
      ...questionsAsked(view).map((each) => ({ key: questionKey(each), ask: () => this.#put(each) })),
      ...budgetAsks(view).map((each) => ({ key: waitKey(each), ask: () => this.#askForMore(each) })),
    ]
  }

  async #put(asked: OpenQuestion): Promise<void> {
    const { terminal, answer } = this.#options
    await this.#shown(questionKey(asked), async (signal, isGone) => {
      try {
        terminal.write(`${questionText(asked).join('\n')}\n`)
        const typedAnswer = await this.#typedAnswer(asked, signal)
        if (typedAnswer === null)
          return terminal.write(isGone() ? '\nSomebody else has answered it.\n' : '\n')
        await answer({ callId: askingCall(asked), questionIndex: asked.index }, typedAnswer)
        this.#answered.add(questionKey(asked))
      } catch (error) {
        // An answer that does not fit is asked for again. After any other error, the person must use the
        // commands that the view shows.
        if (!(error instanceof BeaverError && error.code === 'invalid_arguments'))
          this.#answered.add(questionKey(asked))
        terminal.write(`${messageOf(error)}\n`)
      }
    })
  }

  async #ask(call: ShownCall): Promise<void> {
    const { view, terminal, decide, tell } = this.#options
    await this.#shown(callKey(call), async (signal, isGone) => {
      try {
        const line = await this.#read(questionOf(call), signal)
        if (line === null) return terminal.write(isGone() ? '\nSomebody else has decided it.\n' : '\n')
        this.#answered.add(callKey(call))
        await decide(
          { callId: nameOf(call, callsAsked(view)), callHash: call.callHash ?? undefined },
          /^\s*y(es)?\s*$/i.test(line),
        )
      } catch (error) {
        tell(messageOf(error))
      }
    })
  }

  async #askForMore(ask: BudgetAsk): Promise<void> {
    const { terminal, give, cancel } = this.#options
    const { measure } = ask.exceeded
    await this.#shown(waitKey(ask), async (signal, isGone) => {
      terminal.write(`${budgetQuestion(ask).join('\n')}\n`)
      const line = await this.#read(moreQuestion(ask), signal)
      if (line === null) return terminal.write(isGone() ? '\nSomebody else has decided it.\n' : '\n')
      const typed = line.trim()
      const cancels = typed.toLowerCase() === 'cancel'
      const more = amountIn(typed, measure)
      if (typed !== '' && !cancels && more === null)
        return terminal.write(`${JSON.stringify(typed)} is no amount to give.\n`)
      this.#answered.add(waitKey(ask))
      try {
        if (cancels) await cancel()
        else if (more !== null) await give(ask, more)
      } catch (error) {
        terminal.write(`${messageOf(error)}\n`)
      }
    })
  }

  /**
   * Runs `show`, unless somebody else answers within `settleMs`. `signal` aborts when somebody else answers.
   */
  async #shown(
    key: string,
    show: (signal: AbortSignal, isGone: () => boolean) => Promise<void>,
  ): Promise<void> {
    const { terminal } = this.#options
    const isAsked = (): boolean => this.#waiting().some((each) => each.key === key)
    const gone = new AbortController()
    const signal = AbortSignal.any([this.#over.signal, gone.signal])
    this.#current = { isAsked, gone }
    await discardTyped(terminal.input, settleMs, signal)
    if (signal.aborted || !isAsked()) return
    const resume = terminal.pause()
    try {
      await show(signal, () => gone.signal.aborted)
    } finally {
      this.#current = null
      resume()
    }
  }

  /** Reads a line; `null` if no line was typed. */
  async #read(prompt: string, signal: AbortSignal): Promise<string | null> {
    const { terminal } = this.#options
    terminal.write(prompt)
    const { line, ended } = await readLine(terminal.input, signal)
    this.#inputEnded = ended
    return line
  }

  /** Reads an answer; `null` if none was typed. */
  async #typedAnswer({ question }: OpenQuestion, signal: AbortSignal): Promise<QuestionAnswer | null> {
    if (question.form === undefined) {
      const several = question.several === true && (question.options ?? []).length > 0
      const line = await this.#read(
        several
          ? 'Your answers, with commas between them (empty: decline): '
          : 'Your answer (empty: decline): ',
        signal,
      )
      if (line === null) return null
      return line.trim() === ''
        ? { action: 'decline' }
        : readAnswer(question, several ? line.split(',').map((each) => each.trim()) : [line.trim()])
    }
    const fields: string[] = []
    for (const { name } of formFields(question)) {
      const line = await this.#read(`${name}: `, signal)
      if (line === null) return null
      if (line.trim() !== '') fields.push(`${name}=${line.trim()}`)
    }
    return fields.length === 0 ? { action: 'decline' } : readAnswer(question, fields)
  }
}

/** Something that waits for a person, under a name that stays the same while it waits. */
interface Asked {
  readonly key: string
  ask(): Promise<void>
}

const callKey = ({ runId, callId }: ShownCall): string => `${runId} ${callId}`
const questionKey = ({ runId, callId, index }: OpenQuestion): string => `${runId} ${callId} ${index}`

/** The offered amounts have their unit, so the person sees what a bare number means. */
function moreQuestion({ exceeded }: BudgetAsk): string {
  const offers = budgetOffers(exceeded).map((amount) => amountText(exceeded.measure, amount))
  return `Give how much more? (such as ${offers.join(' or ')}, or "cancel"; empty: wait) `
}

function questionOf({ agent, tool, subject, reason, callHash, preview }: ShownCall): string {
  const text = plainText(subject)
  const left = text.length - subjectCharsMax
  const lines = text
    .slice(0, subjectCharsMax)
    .split('\n')
    .map((line) => `  ${line}`)
  const more = left > 0 ? [`  … and ${count(left)} characters more: "beaver show" has the whole.`] : []
  return [
    `${oneLine(agent)} asks to call ${oneLine(tool)}${text.trim() === '' ? '' : ':'}`,
    ...(text.trim() === '' ? [] : lines),
    ...more,
    ...(reason === undefined ? [] : [`Why: ${oneLine(reason)}.`]),
    ...previewLines({ callHash, preview }, { columns: Infinity, style: styleOf(false) }),
    'Allow it? [y/N] ',
  ].join('\n')
}
