// Calls, questions and budgets that wait for a person, as interrupts of a run, and the answers to them.
// - The id of an interrupt contains a key of the call or question, the id of its task, and the place in the
//   task's log where the run stopped. So the run that resumes can continue there without stored state.
// - An answer to an interrupt about a call is a decision. It needs the role `approve`, and it holds for the
//   call exactly as it was shown. answer-question.ts decides who may answer a question.
// - An answer to an interrupt about a budget gives more, and needs the role `approve`. The status `cancelled`
//   cancels the task.
// - If one answer of a request is not valid, none of them takes effect.
// - Resuming a run that another caller began also needs the role `read`.
import type { Interrupt } from '@ag-ui/core'
import { createHash } from 'node:crypto'
import { BeaverError, type JsonObject } from '@beaver/core'
import { amountIn, budgetLimits, type BudgetLimits, budgetMeasures, budgetOffers } from '@beaver/core/budget'
import {
  alreadySettled,
  answerFault,
  answerInForm,
  answerInText,
  type QuestionAnswer,
  questionForm,
  questionLines,
  readAnswer,
  type Said,
  saysTheSame,
} from '@beaver/core/question'
import {
  type AskedCall,
  type BudgetAsk,
  budgetAsks,
  type OpenQuestion,
  operatorGives,
  readTaskView,
  type SeenTask,
  type TaskView,
} from '@beaver/core/task-view'
import { z } from 'zod'
import { type Caller, doneFor, hasRole, reaches, mustHave } from '../access.ts'
import { agentOf } from '../agents.ts'
import { answerQuestion, mustAnswer } from '../answer-question.ts'
import { clientCallId } from '../client-calls.ts'
import type { Asker } from '../host.ts'
import { keyedId } from '../idempotency.ts'
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

const budgetSchema = {
  type: 'object',
  properties: Object.fromEntries(budgetMeasures.map((measure) => [measure, { type: 'number' }])),
  minProperties: 1,
  additionalProperties: false,
}

/** A call, a question or a budget that waits for a person. */
export type Waiting = AskedCall | OpenQuestion | BudgetAsk

const isQuestion = (each: Waiting): each is OpenQuestion => 'question' in each
const isBudget = (each: Waiting): each is BudgetAsk => 'exceeded' in each

const everythingIn = (view: TaskView): readonly Waiting[] => [
  ...view.askedCalls,
  ...view.openQuestions,
  ...budgetAsks(view),
]

function keyOf(each: Waiting): string {
  const named = isBudget(each)
    ? ['budget', each.key]
    : isQuestion(each)
      ? [each.runId ?? null, each.callId, 'question', each.index]
      : [each.runId ?? null, each.callId, each.asked.call_hash ?? null]
  return createHash('sha256').update(JSON.stringify(named)).digest('hex').slice(0, 32)
}

/**
 * What the log of a task said when the run was requested. With this, a run does not stop at a call in the log
 * whose decision already existed at that time.
 */
export interface Known {
  /** The place in the log up to which the task was read. 0: nothing was read. */
  readonly taskseq: number
  /** The keys of the calls and questions that waited then. A call of the client has its id as key. */
  readonly waiting: ReadonlySet<string>
  /** The keys of the calls and questions that the request of the run answers. */
  readonly answered: ReadonlySet<string>
}

export const nothingKnown: Known = { taskseq: 0, waiting: new Set(), answered: new Set() }

export const knownOf = (view: TaskView, answered: readonly string[] = []): Known => ({
  taskseq: view.taskseq,
  waiting: new Set([...everythingIn(view).map(keyOf), ...clientIds(view)]),
  answered: new Set(answered),
})

/**
 * The calls and questions that wait at this place in the log, without those that had an answer when the run
 * was requested, and without those that the run itself answers.
 */
export const unanswered = (view: TaskView, known: Known): readonly Waiting[] =>
  everythingIn(view).filter(
    (each) =>
      !known.answered.has(keyOf(each)) && (view.taskseq > known.taskseq || known.waiting.has(keyOf(each))),
  )

/** The ids of the calls that wait for the client. @param until only calls before this place in the log */
export const clientIds = (
  { submitted, clientCalls }: TaskView,
  until: number = Infinity,
): readonly string[] =>
  clientCalls
    .filter(({ taskseq }) => taskseq < until)
    .map(({ taskseq }) => clientCallId(submitted?.task_id ?? '', { requestedAt: taskseq }))

/** The same as `unanswered` for the calls that wait for the client. */
export const callsOfClient = (view: TaskView, known: Known): readonly string[] =>
  clientIds(view).filter(
    (id) => !known.answered.has(id) && (view.taskseq > known.taskseq || known.waiting.has(id)),
  )

/** The interrupts of a run that stops at the newest event of `view`. */
export function interruptsOf(waiting: readonly Waiting[], view: TaskView, caller: Caller): Interrupt[] {
  const taskId = view.submitted?.task_id ?? ''
  return waiting.map((each) => {
    const id = `${view.taskseq}.${keyOf(each)}.${taskId}`
    if (isBudget(each)) return { id, ...shownBudget(each, taskId, caller) }
    const { callId } = each
    const index =
      each.runId === view.output.root
        ? view.output.items.findLastIndex((item) => item.kind === 'call' && item.callId === callId)
        : -1
    return {
      id,
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

function shownBudget({ reason, shared, exceeded }: BudgetAsk, taskId: string, caller: Caller) {
  const { budget, measure, limit, used, needed } = exceeded
  const sees = hasRole(caller, 'read') || hasRole(caller, 'approve')
  const offers = budgetOffers(exceeded).map((amount) => ({ [measure]: amount }))
  const shown = sees ? { budget, measure, limit, used, needed, ...(shared ? {} : { offers }) } : {}
  const how = shared ? ` ${operatorGives(budget)}` : ''
  return {
    reason: 'input_required',
    message: sees ? `The task waits: ${reason}.${how}` : 'The task waits for more in a budget.',
    responseSchema: budgetSchema,
    metadata: { beaver: { task_id: taskId, ...shown } },
  }
}

const shownQuestion = ({ question, tool }: OpenQuestion, taskId: string) => ({
  reason: 'input_required',
  message: questionLines(question).join('\n'),
  responseSchema: questionForm(question),
  metadata: { beaver: { task_id: taskId, tool, question } },
})

/** The task that a run resumes, and the place in its log where the run before stopped. */
export interface Resumed {
  readonly taskId: string
  readonly after: number
  readonly known: Known
}

interface ResumeAnswer extends Omit<Resumed, 'known'> {
  readonly key: string
  readonly cancelled: boolean
  readonly payload: unknown
  /** The path of the payload in the request, for errors. */
  readonly at: string
}

const answersOf = ({ resume = [] }: RunInput): ResumeAnswer[] =>
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
 * Unknown members are refused, because one may be a person's edit of the call. Ignoring it would approve a
 * call that the person wanted to change.
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
function decisionIn({ cancelled, payload, at }: ResumeAnswer): Omit<Decided, 'taskId' | 'call'> {
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

const more = budgetLimits.refine((given) => Object.values(given).some((amount = 0) => amount > 0))

/** What is given more. `null`: the task is cancelled. @throws {HttpProblem} `invalid_arguments` */
function givenIn(
  { exceeded: { measure, budget }, shared }: BudgetAsk,
  { cancelled, payload, at }: ResumeAnswer,
): BudgetLimits | null {
  if (cancelled) return null
  if (shared) throw invalid(at, `cannot give more. ${operatorGives(budget).replace(/\.$/, '')}`)
  const read = more.safeParse(typeof payload === 'string' ? amountIn(payload, measure) : payload)
  if (read.success) return read.data
  throw invalid(
    at,
    `must say what is given more, such as {"${measure}": ${measure === 'usd' ? '0.5' : '50'}}`,
  )
}

const words = z.union([z.string(), z.array(z.string()), z.record(z.string(), z.json())])

/** @throws {HttpProblem} `invalid_arguments` */
function answerTo({ question }: OpenQuestion, { cancelled, payload, at }: ResumeAnswer): QuestionAnswer {
  if (cancelled) return { action: 'cancel' }
  const read = words.safeParse(payload)
  if (!read.success) throw invalid(at, 'must be an object as "responseSchema" says, or a text')
  const { data: content } = read
  const answer =
    typeof content === 'string'
      ? answerInText(question, content)
      : Array.isArray(content)
        ? readAnswer(question, content)
        : answerInForm(question, content as JsonObject)
  const fault = answerFault(question, answer)
  if (fault !== null) throw invalid(at, `is no answer. ${fault.replace(/\.$/, '')}`)
  return answer
}

/**
 * Applies the answers of a request that resumes a run. As the specification wants, answers to interrupts that
 * this caller cannot know are ignored. Answers that repeat an earlier one are ignored, too.
 *
 * @returns `null`: the request resumes no run
 * @throws {HttpProblem} `invalid_arguments`, `not_allowed`; {BeaverError} `conflict` if somebody has answered
 * differently
 */
export async function resumed(
  input: RunInput,
  { host, caller, agent }: Asker & { readonly agent: string },
): Promise<Resumed | null> {
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
  const answersToTask = answers.filter((each) => each.taskId === taskId)
  const found = answersToTask.map((answer) => ({ answer, about: askedOf(seen.view, answer) }))
  for (const { about } of found)
    if (about !== undefined && isQuestion(about)) mustAnswer(caller, about)
    else mustHave(caller, 'approve')
  if (seen.submitted.request.source !== sourceOf(caller)) mustHave(caller, 'read')
  const acts = found.flatMap(({ answer, about }): Act[] => {
    if (about === undefined) return []
    if (isBudget(about)) {
      const given = givenIn(about, answer)
      return [
        { answer, reply: null, act: () => give({ taskId, ask: about, given }, { host, caller, answer }) },
      ]
    }
    const reply = isQuestion(about) ? { answer: answerTo(about, answer) } : decisionIn(answer)
    if (isSettled(seen.view, { answer, reply })) return []
    const act = (): Promise<void> =>
      'answer' in reply && isQuestion(about)
        ? answerQuestion({ client: host.client(), caller, taskId }, about, reply)
        : decide(
            { taskId, call: about as AskedCall, ...(reply as ReturnType<typeof decisionIn>) },
            { host, caller },
          )
    return [{ answer, reply, act }]
  })
  for (const { act, answer, reply } of acts)
    if (reply === null) await act()
    else
      await unlessReplied(act(), { answer, reply }, () =>
        readTaskView(host.client().events(taskId), () => true),
      )
  const keys = answersToTask.map(({ key }) => key)
  return {
    taskId,
    after: Math.min(...answersToTask.map(({ after }) => after)),
    known: knownOf(seen.view, keys),
  }
}

/** What an answer does. `reply`: `null` if it is about a budget. */
interface Act {
  readonly answer: ResumeAnswer
  readonly reply: Said | null
  readonly act: () => Promise<void>
}

/** The call, question or budget of an answer, even if it no longer waits. `undefined`: there is none. */
const askedOf = (view: TaskView, { key }: Pick<ResumeAnswer, 'key'>): Waiting | undefined =>
  [...everythingIn(view), ...view.settled.map(({ asked }) => asked)].find((each) => keyOf(each) === key)

interface Replied {
  readonly answer: ResumeAnswer
  readonly reply: Said
}

/**
 * Whether the call or question already has an answer. Repeating that answer, or cancelling, changes nothing
 * and is no error.
 *
 * @throws {BeaverError} `conflict` if the existing answer is different
 */
function isSettled(view: TaskView, { answer, reply }: Replied): boolean {
  const first = view.settled.find(({ asked }) => keyOf(asked) === answer.key)?.event
  if (first === undefined) return false
  if (answer.cancelled || saysTheSame(first, reply)) return true
  const { message } = alreadySettled(first)
  throw new BeaverError(
    'conflict',
    `${message} Your answer does not count. To go on without it, resume with the status "cancelled".`,
  )
}

/**
 * Gives more to a budget, or cancels the task. A repeated request changes nothing, because the id of the raise
 * is computed from the interrupt.
 */
async function give(
  {
    taskId,
    ask,
    given,
  }: { readonly taskId: string; readonly ask: BudgetAsk; readonly given: BudgetLimits | null },
  { host, caller, answer }: Asker & { readonly answer: ResumeAnswer },
): Promise<void> {
  const { userId } = caller
  const reason = 'The user gave nothing more to a budget.'
  if (given === null)
    return host
      .client()
      .cancel(taskId, reason, { userId })
      .catch((error: unknown) => {
        // The task has ended, or somebody has cancelled it already.
        if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
      })
  const requestId = keyedId({ caller, userId }, 'ag-ui', taskId, String(answer.after), answer.key)
  await host.client().raise(taskId, given, { nodeId: ask.nodeId, requestId, userId })
}

interface Decided {
  readonly taskId: string
  readonly call: AskedCall
  readonly approved: boolean
  readonly reason?: string | undefined
  /** The changed arguments for the call, as JSON. Absent: the model's arguments. */
  readonly arguments?: string
}

function decide(
  { taskId, call: { runId, asked }, ...decided }: Decided,
  { host, caller }: Asker,
): Promise<void> {
  const callId = runId === undefined ? asked.call_id : `${runId}/${asked.call_id}`
  return host
    .client()
    .decide(taskId, { ...decided, callId, callHash: asked.call_hash, userId: doneFor(caller) })
}

/**
 * Ignores a failure of `act` if the same answer is in the log by now, because another person or a copy of
 * this request was faster.
 */
async function unlessReplied(
  act: Promise<void>,
  replied: Replied,
  readAgain: () => Promise<SeenTask | null>,
): Promise<void> {
  try {
    await act
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')))
      throw error
    const now = await readAgain()
    if (now !== null) isSettled(now.view, replied)
  }
}
