// The task of A2A, made from the view of a task. Nothing else is stored.
// - The id is the id of the task, and the context is the session.
// - The answer is the artifact `answer`. All other texts of the agent are messages.
// - If a call waits for an approval, or for more in a budget, the state is TASK_STATE_AUTH_REQUIRED, which
//   section 7.6 of the specification defines for human approvals.
// - If a call asks a question, the state is TASK_STATE_INPUT_REQUIRED, and the next text of the client
//   answers it. If other calls wait for an approval at the same time, the message of the status has both.
// - If calls wait for the client that brought their tools, the state is the same, and the message of the status
//   says who makes them. A text steers the task then.
// - An incomplete task has failed for the client, because it gave less than was requested. Its artifact is
//   the partial result.
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type Task,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk'
import type { DataOf } from '@beaver/core'
import { budgetOffers, typedAmount } from '@beaver/core/budget'
import { questionLines } from '@beaver/core/question'
import {
  type AskedCall,
  askingCall,
  type BudgetAsk,
  budgetAsks,
  type ClientCall,
  type OpenQuestion,
  operatorGives,
  type SeenTask,
  type TaskView,
  type TaskViewEnd,
} from '@beaver/core/task-view'
import { type Caller, hasRole } from '../access.ts'

const answerId = 'answer'

/** What a caller may see of a task besides its state. */
export interface Sight {
  /** Which calls wait for a person, with their arguments. */
  readonly calls: boolean
  /** The messages and the answer. */
  readonly texts: boolean
}

/**
 * What the roles of the caller allow it to see.
 *
 * @param own whether the caller itself sent the message that began the task, and so may see its texts without
 * the role `read`. Default: false
 */
export const sightOf = (caller: Caller, { own = false }: { readonly own?: boolean } = {}): Sight => ({
  calls: hasRole(caller, 'read') || hasRole(caller, 'approve'),
  texts: own || hasRole(caller, 'read'),
})

export const isOver = (state: TaskState): boolean =>
  state === TaskState.TASK_STATE_COMPLETED ||
  state === TaskState.TASK_STATE_FAILED ||
  state === TaskState.TASK_STATE_CANCELED

const ends = {
  task_completed: TaskState.TASK_STATE_COMPLETED,
  task_cancelled: TaskState.TASK_STATE_CANCELED,
  task_failed: TaskState.TASK_STATE_FAILED,
  task_incomplete: TaskState.TASK_STATE_FAILED,
} as const

export function stateOf(view: TaskView): TaskState {
  const { end, askedCalls, openQuestions, clientCalls, claims } = view
  if (end !== null) return ends[end.type]
  if (openQuestions.length > 0) return TaskState.TASK_STATE_INPUT_REQUIRED
  if (askedCalls.length > 0 || budgetAsks(view).length > 0) return TaskState.TASK_STATE_AUTH_REQUIRED
  if (clientCalls.length > 0) return TaskState.TASK_STATE_INPUT_REQUIRED
  return claims > 0 ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED
}

/**
 * Makes the task of A2A.
 *
 * @param options `historyLength`: how many of the newest messages it contains. Default: all
 */
export function taskObject(
  seen: SeenTask,
  { sight, historyLength }: { readonly sight: Sight; readonly historyLength?: number | null | undefined },
): Task {
  const { submitted, view } = seen
  const history = sight.texts ? messagesOf(seen) : []
  const text = !sight.texts ? '' : view.end === null ? textUnderWay(view) : view.end.result.final_output
  return {
    id: submitted.task_id,
    contextId: submitted.session_id,
    status: statusOf(submitted, view, sight),
    artifacts: text === '' ? [] : [answerOf(text)],
    history:
      historyLength === undefined || historyLength === null
        ? history
        : historyLength === 0
          ? []
          : history.slice(-historyLength),
    metadata: undefined,
  }
}

/** The newest text, which may become the answer. Empty if it is already known not to be the answer. */
const textUnderWay = ({ output }: TaskView): string => {
  const last = output.items.at(-1)
  return last?.kind === 'text' && last.final !== false ? last.text : ''
}

export const answerOf = (text: string): Artifact => ({
  artifactId: answerId,
  name: '',
  description: '',
  parts: [textPart(text)],
  metadata: undefined,
  extensions: [],
})

export const textPart = (text: string): Part => ({
  content: { $case: 'text', value: text },
  mediaType: 'text/plain',
  filename: '',
  metadata: undefined,
})
const dataPart = (value: unknown): Part => ({
  content: { $case: 'data', value },
  mediaType: 'application/json',
  filename: '',
  metadata: undefined,
})

/** Makes a message. @param place makes its id unique in the task */
export function messageOf(
  { task_id, session_id }: DataOf<'task_submitted'>,
  {
    role,
    place,
    parts,
  }: { readonly role: Role; readonly place: number | string; readonly parts: readonly Part[] },
): Message {
  const ids = { messageId: `${task_id}.${place}`, taskId: task_id, contextId: session_id }
  return { ...ids, role, parts: [...parts], metadata: undefined, extensions: [], referenceTaskIds: [] }
}

function messagesOf({ submitted, view }: SeenTask): Message[] {
  const { workflow, text } = submitted.request
  const asked = messageOf(submitted, {
    role: Role.ROLE_USER,
    place: 1,
    parts: [workflow === undefined ? textPart(text) : dataPart(workflow.arguments)],
  })
  const later = view.said.map(({ by, text: words, taskseq }) =>
    messageOf(submitted, {
      role: by === 'user' ? Role.ROLE_USER : Role.ROLE_AGENT,
      place: taskseq,
      parts: [textPart(words)],
    }),
  )
  return [asked, ...later]
}

export function statusOf(submitted: DataOf<'task_submitted'>, view: TaskView, sight: Sight): TaskStatus {
  const { end, askedCalls, openQuestions, taskseq, time } = view
  const statusMessage = (parts: readonly Part[]): Message =>
    messageOf(submitted, { role: Role.ROLE_AGENT, place: `${taskseq}.status`, parts })
  const why =
    end === null
      ? [
          ...askingParts(openQuestions, sight),
          ...waitingParts(askedCalls, sight),
          ...budgetParts(budgetAsks(view), sight),
          ...clientParts(submitted.task_id, view.clientCalls, sight),
        ]
      : endParts(end)
  return { state: stateOf(view), timestamp: time, message: why.length === 0 ? undefined : statusMessage(why) }
}

function endParts({ type, result: { failure } }: TaskViewEnd): Part[] {
  if (type === 'task_completed') return []
  const status = type.slice('task_'.length)
  return [textPart(failure === null ? `The task ended: ${status}.` : `${failure.class}: ${failure.message}`)]
}

/**
 * The questions as a text for people, and as data for clients that show them in their own way. A text of the
 * client answers the first question.
 */
function askingParts(asking: readonly OpenQuestion[], { calls, texts }: Sight): Part[] {
  const [first] = asking
  if (first === undefined) return []
  if (!calls && !texts) return [textPart('A call asks a question.')]
  const lines = asking.map(({ question }) => questionLines(question).join('\n'))
  const more = asking.length === 1 ? [] : ['A text answers the first of these questions.']
  const questions = asking.map((each) => ({
    call_id: askingCall(each),
    question_index: each.index,
    tool: each.tool,
    ...each.question,
  }))
  return [textPart([...lines, ...more].join('\n\n')), dataPart({ questions })]
}

function waitingParts(waiting: readonly AskedCall[], { calls }: Sight): Part[] {
  if (waiting.length === 0) return []
  const text =
    waiting.length === 1
      ? 'One call of a tool waits for an approval.'
      : `${waiting.length} calls of tools wait for an approval.`
  if (!calls) return [textPart(text)]
  const shown = waiting.map((each) => {
    const { call_hash, tool_name: tool, subject, reason, preview } = each.asked
    return Object.fromEntries(
      Object.entries({ call_id: askingCall(each), call_hash, tool, subject, reason, preview }).filter(
        ([, value]) => value !== undefined,
      ),
    )
  })
  return [
    textPart(`${text} ${waiting.map(({ asked }) => `${asked.tool_name}: ${asked.subject}`).join('; ')}`),
    dataPart({ calls: shown }),
  ]
}

/** The calls that wait for the client that brought their tools, which may be one of another protocol. */
function clientParts(taskId: string, waiting: readonly ClientCall[], { calls }: Sight): Part[] {
  if (waiting.length === 0) return []
  if (!calls) return [textPart('The task waits for the client that brought its tools.')]
  const names = waiting.map(({ tool }) => tool).join(', ')
  const shown = waiting.map(({ callId, tool, written }) => ({ call_id: callId, tool, arguments: written }))
  return [
    textPart(
      `The task waits for the client that brought its tools, which makes the calls: ${names}. Their results come by that client, or by POST /api/v1/tasks/${taskId}/client-answers.`,
    ),
    dataPart({ client_calls: shown }),
  ]
}

/** The budgets in which the task waits for more. A text of the client gives more to the first that can get it. */
function budgetParts(asks: readonly BudgetAsk[], { calls }: Sight): Part[] {
  if (asks.length === 0) return []
  if (!calls) return [textPart('The task waits for more in a budget.')]
  const lines = asks.map(({ reason, shared, exceeded }) => {
    const ways = budgetOffers(exceeded).map((amount) => `"more ${typedAmount(exceeded.measure, amount)}"`)
    const how = shared ? operatorGives(exceeded.budget) : `Answer ${ways.join(' or ')} to give more.`
    return `The task waits: ${reason}. ${how}`
  })
  const budgets = asks.map(({ exceeded: { budget, measure, limit, used, needed } }) => ({
    ...{ budget, measure, limit, used, needed },
  }))
  return [textPart(lines.join('\n')), dataPart({ budgets })]
}
