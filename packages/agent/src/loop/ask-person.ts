// Asks a person for a call that runs. A question is durable before anybody is asked, and an answer before the
// tool gets it. A call asks one question after the other; made again, it gets its recorded answers in order,
// and fails if it asks something else. Questions and their number are bounded. The recorded deadline counts:
// nobody waits longer than this daemon may.
import { canonicalJson, event, type JsonValue, type ToolCall } from '@beaver/core'
import { type Question, questionBounds, questionFault } from '@beaver/core/question'
import { maskedData } from '@beaver/core/secrets'
import type { AskPerson } from '../tools/tool.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import type { LoopWork } from './loop-work.ts'
import { unlessAborted } from './unless-aborted.ts'

/** @param over aborts when the call has its result */
export function asksOf(work: LoopWork, call: Pick<ToolCall, 'id' | 'name'>, over: AbortSignal): AskPerson {
  let asked = 0
  let before: Promise<unknown> = Promise.resolve()
  return (question) => {
    const index = asked++
    const answer = before.then(() => ask(work, { call, index, over }, question))
    before = answer.catch(() => {})
    return answer
  }
}

interface Asking {
  readonly call: Pick<ToolCall, 'id' | 'name'>
  readonly index: number
  readonly over: AbortSignal
}

async function ask(work: LoopWork, { call, index, over }: Asking, asked: Question): ReturnType<AskPerson> {
  const fault = questionFault(asked)
  if (fault !== null) throw new ToolFailure('invalid_question', fault)
  if (index >= questionBounds.ofCall)
    throw new ToolFailure(
      'too_many_questions',
      `A call may ask ${questionBounds.ofCall} questions, and this one asks more.`,
    )
  const question = maskedData(withinWait(asked, work.services.answerWaitMsMax))
  const known = openCall(work, call)?.questions.find((each) => each.index === index)
  if (known === undefined) {
    if (over.aborted || work.signal.aborted) throw cancelled()
    await work.record([
      event(
        'question_asked',
        { call_id: call.id, tool_name: call.name, question_index: index, question },
        work.start.run_id,
      ),
    ])
  } else if (wordsOf(known.question) !== wordsOf(question))
    throw new ToolFailure(
      'question_changed',
      `${call.name} asked something else when it ran again, so the recorded answer does not count.`,
    )
  else if (known.answer !== null) return answerOf(known.answer)
  const signal = AbortSignal.any([over, work.signal])
  const { timeout_ms: timeoutMs } = known?.question ?? question
  const settled = await unlessAborted(work.host.answer({ callId: call.id, index, timeoutMs }, signal), signal)
  if (settled === null) throw cancelled()
  work.receive(settled.event, settled.taskseq)
  return answerOf(settled.event.data)
}

const withinWait = ({ timeout_ms: timeoutMs, ...asked }: Question, mostMs = Infinity): Question =>
  timeoutMs === undefined ? asked : { ...asked, timeout_ms: Math.min(timeoutMs, mostMs) }

/** What is asked. The next daemon may wait for longer or shorter. */
const wordsOf = (asked: Question): string => canonicalJson({ ...asked, timeout_ms: 0 } as JsonValue)

const openCall = ({ run }: LoopWork, { id }: Pick<ToolCall, 'id'>) =>
  run().calls.find((each) => each.id === id)

const cancelled = (): ToolFailure => new ToolFailure('cancelled', 'The call ended before anybody answered.')

function answerOf({
  answer,
  reason,
}: {
  readonly answer: Awaited<ReturnType<AskPerson>>
  readonly reason?: string | undefined
}): Awaited<ReturnType<AskPerson>> {
  return reason === undefined ? answer : { ...answer, reason }
}
