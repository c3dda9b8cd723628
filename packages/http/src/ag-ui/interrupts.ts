// Calls and questions that wait for a person, as interrupts of a run, and the answers to them. The id of an
// interrupt says which call or question it is about, of which task, and where in its log the run stopped. So
// the run that resumes goes on there, although nothing was stored. An answer about a call is a decision. It
// needs the role `approve`, and it is about the call as it was shown. Who may answer a question is in
// answer-question.ts. Nothing is decided or answered if one of the answers does not fit. Who resumes a run
// that somebody else began needs the role `read`, too.
import type { Interrupt } from '@ag-ui/core'
import { createHash } from 'node:crypto'
import {
  alreadySettled,
  answerFault,
  answerInForm,
  answerInText,
  BeaverError,
  type JsonObject,
  type AskedCall,
  type OpenQuestion,
  type QuestionAnswer,
  questionForm,
  questionLines,
  readAnswer,
  type Said,
  saysTheSame,
  readTaskView,
  type SeenTask,
  type TaskView,
} from '@beaver/core'
import { z } from 'zod'
import { type Caller, hasRole, reaches, mustHave } from '../access.ts'
import { agentOf } from '../agents.ts'
import { answerQuestion, mustAnswer } from '../answer-question.ts'
import type { TaskHost } from '../host.ts'
import { invalid, type RunInput, sourceOf, tellsId } from './run-input.ts'

const responseSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why the call is refused. The model reads it.' },
    editedArgs: {
      type: 'object',
      description: 'The arguments with which the call is made instead, if it is approved.',
    },
  },
  required: ['approved'],
  additionalProperties: false,
}

/** What waits for a person. */
export type Waiting = AskedCall | OpenQuestion

const isQuestion = (each: Waiting): each is OpenQuestion => 'question' in each

const everythingIn = ({ askedCalls, openQuestions }: TaskView): readonly Waiting[] => [
  ...askedCalls,
  ...openQuestions,
]

function keyOf(each: Waiting): string {
  const named = isQuestion(each)
    ? [each.callId, 'question', each.index]
    : [each.callId, each.asked.call_hash ?? null]
  return createHash('sha256')
    .update(JSON.stringify([each.runId ?? null, ...named]))
    .digest('hex')
    .slice(0, 32)
}

/**
 * What is known of a task when a run is asked for. A run does not stop for calls that have been decided since
 * they asked.
 */
export interface Known {
  /** How much of the log was read. 0: nothing. */
  readonly taskseq: number
  /** What waited then. */
  readonly waiting: ReadonlySet<string>
  /** What the run answers. */
  readonly answered: ReadonlySet<string>
}

export const nothingKnown: Known = { taskseq: 0, waiting: new Set(), answered: new Set() }

export const knownOf = (view: TaskView, answered: readonly string[] = []): Known => ({
  taskseq: view.taskseq,
  waiting: new Set(everythingIn(view).map(keyOf)),
  answered: new Set(answered),
})

/** What waits for an answer at a place in the log, and what nobody has answered so far. */
export const unanswered = (view: TaskView, known: Known): readonly Waiting[] =>
  everythingIn(view).filter(
    (each) =>
      !known.answered.has(keyOf(each)) && (view.taskseq > known.taskseq || known.waiting.has(keyOf(each))),
  )

/** What a run asks that stops at the newest event of the task. */
export function interruptsOf(waiting: readonly Waiting[], view: TaskView, caller: Caller): Interrupt[] {
  const taskId = view.submitted?.task_id ?? ''
  return waiting.map((each) => {
    const { callId } = each
    const index =
      each.runId === view.output.root
        ? view.output.items.findLastIndex((item) => item.kind === 'call' && item.callId === callId)
        : -1
    return {
      id: `${view.taskseq}.${keyOf(each)}.${taskId}`,
      ...(index === -1 ? {} : { toolCallId: tellsId(taskId, String(index)) }),
      ...(isQuestion(each) ? shownQuestion(each, taskId) : shownCall(each, taskId, caller)),
    }
  })
}

function shownCall(
  { asked: { tool_name: tool, subject, reason, preview } }: AskedCall,
  taskId: string,
  caller: Caller,
) {
  const shown = hasRole(caller, 'read') || hasRole(caller, 'approve') ? { preview } : {}
  const about = { task_id: taskId, tool, subject, ...(reason === undefined ? {} : { reason }), ...shown }
  return {
    reason: 'tool_call',
    message: `An agent asks to call ${tool}: ${subject}`,
    responseSchema,
    metadata: { beaver: about },
  }
}

const shownQuestion = ({ question, tool }: OpenQuestion, taskId: string) => ({
  reason: 'input_required',
  message: questionLines(question).join('\n'),
  responseSchema: questionForm(question),
  metadata: { beaver: { task_id: taskId, tool, question } },
})

/** The task that goes on, and the place in its log where the run before stopped. */
export interface Resumed {
  readonly taskId: string
  readonly after: number
  readonly known: Known
}

interface Answer extends Omit<Resumed, 'known'> {
  readonly key: string
  readonly cancelled: boolean
  readonly payload: unknown
  /** Where it is in the request. */
  readonly at: string
}

const answersOf = ({ resume = [] }: RunInput): Answer[] =>
  resume.flatMap(({ interruptId, status, payload }, i) => {
    const [, after, key = '', taskId = ''] =
      /^(\d{1,15})\.([0-9a-f]{32})\.(.{1,128})$/s.exec(interruptId) ?? []
    return after === undefined
      ? []
      : [
          {
            taskId,
            key,
            after: Number(after),
            cancelled: status === 'cancelled',
            payload,
            at: `resume.${i}.payload`,
          },
        ]
  })

/**
 * A member that is not known may be an edit, so it is refused: nobody approves a call that the person has
 * changed.
 */
const decision = z.union([
  z.boolean().transform((approved) => ({ approved, reason: undefined, editedArgs: undefined })),
  z.strictObject({
    approved: z.boolean(),
    reason: z.string().max(1_000).optional(),
    editedArgs: z.record(z.string(), z.json()).optional(),
  }),
])

/** @throws {HttpProblem} `invalid_arguments` */
function decisionIn({ cancelled, payload, at }: Answer): Omit<Decided, 'taskId' | 'call'> {
  if (cancelled) return { approved: false, reason: 'The user did not answer.' }
  const read = decision.safeParse(payload)
  if (!read.success)
    throw invalid(
      at,
      'must be {"approved": true}, {"approved": true, "editedArgs": {…}} or {"approved": false, "reason": "…"}',
    )
  const { approved, reason, editedArgs } = read.data
  if (!approved && editedArgs !== undefined)
    throw invalid(at, 'has "editedArgs", but does not approve the call')
  return { approved, reason, ...(editedArgs === undefined ? {} : { arguments: JSON.stringify(editedArgs) }) }
}

const words = z.union([z.string(), z.array(z.string()), z.record(z.string(), z.json())])

/** @throws {HttpProblem} `invalid_arguments` */
function answerTo({ question }: OpenQuestion, { cancelled, payload, at }: Answer): QuestionAnswer {
  if (cancelled) return { action: 'cancel' }
  const read = words.safeParse(payload)
  if (!read.success) throw invalid(at, 'must be an object as "responseSchema" says, or a text')
  const { data: given } = read
  const answer =
    typeof given === 'string'
      ? answerInText(question, given)
      : Array.isArray(given)
        ? readAnswer(question, given)
        : answerInForm(question, given as JsonObject)
  const fault = answerFault(question, answer)
  if (fault !== null) throw invalid(at, `is no answer. ${fault.replace(/\.$/, '')}`)
  return answer
}

interface Asker {
  readonly host: TaskHost
  readonly caller: Caller
  readonly agent: string
}

/**
 * Makes the decisions of a run that resumes. Answers about nothing that this caller was asked are left out,
 * as the specification wants, and so are those that say again what was said.
 *
 * @returns `null`: the run resumes no task
 * @throws {HttpProblem} `invalid_arguments`, `not_allowed`; {BeaverError} `conflict` if somebody has said
 * something else
 */
export async function resumed(input: RunInput, { host, caller, agent }: Asker): Promise<Resumed | null> {
  const answers = answersOf(input)
  const [first] = answers
  if (first === undefined) return null
  const { taskId } = first
  const seen = await readTaskView(
    host.client().events(taskId),
    ({ request, session_id }) =>
      session_id === input.threadId && agentOf(request) === agent && reaches(caller, request.user_id),
  )
  if (seen === null) return null
  const given = answers.filter((each) => each.taskId === taskId)
  const found = given.map((answer) => ({ answer, about: askedOf(seen.view, answer) }))
  for (const { about } of found)
    if (about !== undefined && isQuestion(about)) mustAnswer(caller, about)
    else mustHave(caller, 'approve')
  if (seen.submitted.request.source !== sourceOf(caller)) mustHave(caller, 'read')
  const acts = found.flatMap(({ answer, about }) => {
    if (about === undefined) return []
    const said = isQuestion(about) ? { answer: answerTo(about, answer) } : decisionIn(answer)
    if (isSettled(seen.view, { answer, said })) return []
    const act = (): Promise<void> =>
      'answer' in said && isQuestion(about)
        ? answerQuestion({ client: host.client(), caller, taskId }, about, said)
        : decide(
            { taskId, call: about as AskedCall, ...(said as ReturnType<typeof decisionIn>) },
            { host, caller },
          )
    return [{ answer, said, act }]
  })
  for (const { act, ...given } of acts)
    await unlessSaid(act(), given, () => readTaskView(host.client().events(taskId), () => true))
  const keys = given.map(({ key }) => key)
  return { taskId, after: Math.min(...given.map(({ after }) => after)), known: knownOf(seen.view, keys) }
}

/** What an answer is about, whether or not it still waits. */
const askedOf = (view: TaskView, { key }: Pick<Answer, 'key'>): Waiting | undefined =>
  [...everythingIn(view), ...view.settled.map(({ asked }) => asked)].find((each) => keyOf(each) === key)

interface Given {
  readonly answer: Answer
  readonly said: Said
}

/**
 * Whether it was decided or answered before. The same again is no second answer, and who gave none lets the
 * first one count.
 *
 * @throws {BeaverError} `conflict` if somebody said something else
 */
function isSettled(view: TaskView, { answer, said }: Given): boolean {
  const first = view.settled.find(({ asked }) => keyOf(asked) === answer.key)?.event
  if (first === undefined) return false
  if (answer.cancelled || saysTheSame(first, said)) return true
  const { message } = alreadySettled(first)
  throw new BeaverError(
    'conflict',
    `${message} Your answer does not count. To go on without it, resume with the status "cancelled".`,
  )
}

interface Decided {
  readonly taskId: string
  readonly call: AskedCall
  readonly approved: boolean
  readonly reason?: string | undefined
  /** With which the call is made instead. */
  readonly arguments?: string
}

function decide(
  { taskId, call: { runId, asked }, ...decided }: Decided,
  { host, caller }: Pick<Asker, 'host' | 'caller'>,
): Promise<void> {
  const callId = runId === undefined ? asked.call_id : `${runId}/${asked.call_id}`
  return host
    .client()
    .decide(taskId, { ...decided, callId, callHash: asked.call_hash, userId: caller.userId })
}

/** Somebody may have been faster since the log was read, or this request may have been sent twice. */
async function unlessSaid(
  act: Promise<void>,
  given: Given,
  readAgain: () => Promise<SeenTask | null>,
): Promise<void> {
  try {
    await act
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')))
      throw error
    const now = await readAgain()
    if (now !== null) isSettled(now.view, given)
  }
}
