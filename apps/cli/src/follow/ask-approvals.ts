// Asks the person at this terminal about the calls that wait, one after the other, while the task is followed.
// Q1. Only "y" or "yes" allows a call.
// Q2. There is one question at a time. If another person answers it meanwhile, the question is withdrawn.
// Q3. After the end of the input no question is asked. The commands beside the view are then the way to answer.
import { messageOf, type RecordedEvent } from '@beaver/core'
import type { Readable } from 'node:stream'
import { count } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import type { AskedCall } from '../view/agent-view.ts'
import { styleOf } from '../text/style.ts'
import { nameOf, previewLines } from '../view/render-asked.ts'
import { askedCalls, type TaskView } from '../view/task-view.ts'
import { discardTyped, readLine } from './read-line.ts'

export interface ApprovalQuestions extends AsyncDisposable {
  onEvent(event: RecordedEvent): void
}

export interface ApprovalTerminal {
  readonly input: Readable
  write(text: string): void
  /** Removes the live view. The returned function brings it back. */
  pause(): () => void
}

export interface ApprovalOptions {
  readonly view: TaskView
  readonly terminal: ApprovalTerminal
  decide(call: { readonly callId: string; readonly callHash: string | undefined }, approved: boolean): Promise<void>
  tell(notice: string): void
}

/** Input within this time after the request is no answer, and a call that is decided within this time is not asked about. */
const settleMs = 250
const subjectCharsMax = 4_000

export function askApprovals({ view, terminal, decide, tell }: ApprovalOptions): ApprovalQuestions {
  const over = new AbortController()
  const answered = new Set<string>()
  let asking: Promise<void> | null = null
  let current: { readonly call: AskedCall; readonly gone: AbortController } | null = null
  let inputEnded = false
  const keyOf = (call: AskedCall): string => `${call.runId} ${call.callId}`
  const waiting = (): AskedCall | undefined => askedCalls(view).find((call) => !answered.has(keyOf(call)))
  const stillAsked = (call: AskedCall): boolean => askedCalls(view).some((each) => keyOf(each) === keyOf(call))

  async function askAll(): Promise<void> {
    for (let call = waiting(); call !== undefined && !over.signal.aborted && !inputEnded; call = waiting()) await ask(call)
  }

  async function ask(call: AskedCall): Promise<void> {
    const gone = new AbortController()
    const signal = AbortSignal.any([over.signal, gone.signal])
    current = { call, gone }
    await discardTyped(terminal.input, settleMs, signal)
    if (signal.aborted || !stillAsked(call)) return
    const resume = terminal.pause()
    try {
      terminal.write(questionOf(call))
      const { line, ended } = await readLine(terminal.input, signal)
      inputEnded = ended
      if (line === null) return terminal.write(gone.signal.aborted ? '\nSomebody else has decided it.\n' : '\n')
      answered.add(keyOf(call))
      await decide({ callId: nameOf(call, askedCalls(view)), callHash: call.callHash ?? undefined }, /^\s*y(es)?\s*$/i.test(line))
    } catch (error) {
      tell(messageOf(error))
    } finally {
      current = null
      resume()
    }
  }

  return {
    onEvent(event) {
      if (current !== null && !stillAsked(current.call)) current.gone.abort()
      if (event.type !== 'approval_requested' || over.signal.aborted || inputEnded) return
      asking ??= askAll().finally(() => (asking = null))
    },
    async [Symbol.asyncDispose]() {
      over.abort()
      await asking
    },
  }
}

function questionOf({ agent, tool, subject, reason, callHash, preview }: AskedCall): string {
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
