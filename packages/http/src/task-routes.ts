// The routes for tasks: submit, show and control them. event-routes.ts has those for their events.
// - A submission with an `Idempotency-Key` gets its task id from the key. The same request again returns the
//   same task; a different request with the same key is refused.
// - A caller may choose the `source` of a task, except one that stands for another token or a channel.
// - A retry belongs to the user of the task that it retries, whoever requests it.
import type { BeaverClient } from '@beaver/client'
import {
  type AnswerRequest,
  requestContracts,
  type RequestInput,
  type RetriedTask,
  runNamed,
  submitRequest,
} from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { alreadySettled, type Answered, isAnswer } from '@beaver/core/question'
import { evolveTaskView, newTaskView } from '@beaver/core/task-view'
import { z } from 'zod'
import { type Caller, doneFor, hasRole, mustHave, userOf } from './access.ts'
import { mustAnswer, questionNamed } from './answer-question.ts'
import { eventRoutes, inPath, mustReach } from './event-routes.ts'
import { idempotencyKey, keyedId, mustBeOwnId } from './idempotency.ts'
import { HttpProblem } from './problem.ts'
import { fieldsOf, forUser, json, queryRoute, type ReadRequest, type Route, route } from './route.ts'

const control = { tag: 'tasks', role: 'submit' } as const

/** The contract of `task.submit`. Over HTTP, the token decides about the user and the source. */
const submission = submitRequest.safeExtend({
  user_id: forUser,
  source: submitRequest.shape.source.describe(
    'Who submits the task. The journal keeps this text. Absent: "http:" and the name of the token.',
  ),
  fresh: submitRequest.shape.fresh.describe('Has no effect over HTTP.'),
})

const submitting = route(
  {
    ...control,
    method: 'post',
    at: '/api/v1/tasks',
    name: 'submitTask',
    says: 'Submits a task. It is durable when the answer comes.',
    answer: {
      status: 202,
      says: 'The task is accepted. "Location" names it.',
      schema: requestContracts['task.submit'].output,
    },
  },
  { headers: idempotencyKey, body: submission },
  async ({ body, headers, caller, host }) => {
    const key = headers['idempotency-key']
    const { fresh: _, ...task } = body
    mustBeOwnId(task.task_id, 'body.task_id')
    const userId = userOf(caller, task.user_id)
    const submitted = await host.client().submit({
      ...task,
      user_id: userId,
      source: sourceOf(caller, task.source),
      ...(key === undefined || task.task_id !== undefined
        ? {}
        : { task_id: keyedId({ caller, userId }, 'key', key) }),
    })
    return json(submitted, {
      status: 202,
      headers: { location: `/api/v1/tasks/${encodeURIComponent(submitted.task_id)}` },
    })
  },
)

/** The sources that only Beaver writes: those of tokens and of channels. */
const ownSources = /^(http|channel):/i

/** @throws {HttpProblem} `invalid_arguments` */
function sourceOf({ name }: Pick<Caller, 'name'>, asked: string | undefined): string {
  const own = `http:${name}`
  if (asked === undefined || asked === own || !ownSources.test(asked)) return asked ?? own
  const message = `must not begin with "http:" or "channel:": Beaver names tokens and channels like this. Leave it out, or use another name`
  throw new HttpProblem('invalid_arguments', `The request is not valid: body.source ${message}.`, {
    problems: [{ path: 'body.source', message }],
  })
}

const listing = queryRoute('tasks', {
  tag: 'tasks',
  at: '/api/v1/tasks',
  name: 'listTasks',
  gives: 'A page of tasks.',
})

const counting = queryRoute('task_count', {
  tag: 'tasks',
  at: '/api/v1/tasks/count',
  name: 'countTasks',
  gives: 'The number of tasks.',
})

const showing = (
  [
    ['task', '', 'showTask', 'The task. It may be a moment old.'],
    ['graph', '/graph', 'showGraph', 'A page of nodes.'],
    ['timeline', '/timeline', 'showTimeline', 'A page of what happened.'],
    ['approvals', '/approvals', 'listTaskApprovals', 'A page of calls.'],
    ['questions', '/questions', 'listTaskQuestions', 'A page of questions.'],
    ['spans', '/spans', 'listSpans', 'A page of spans.'],
  ] as const
).map(([query, at, name, gives]) =>
  queryRoute(query, { tag: 'tasks', at: `/api/v1/tasks/{task_id}${at}`, name, gives, path: inPath }),
)

const runInPath = inPath.extend({ run_id: runNamed })

const showingRuns = (
  [
    ['run', '', 'showRun', 'The run, with a page of its calls.'],
    ['prompt', '/prompt', 'showPrompt', 'What the run sent, with a page of the messages.'],
  ] as const
).map(([query, at, name, gives]) =>
  queryRoute(query, {
    tag: 'tasks',
    at: `/api/v1/tasks/{task_id}/runs/{run_id}${at}`,
    name,
    gives,
    path: runInPath,
  }),
)

/** The description of a route that controls a task. */
function controlOf(verb: 'cancel' | 'steer' | 'retry', gives: string) {
  const { says, output } = requestContracts[`task.${verb}`]
  return {
    ...control,
    method: 'post',
    at: `/api/v1/tasks/{task_id}/${verb}`,
    name: `${verb}Task`,
    says,
    answer: { status: 202, says: gives, schema: output },
  } as const
}

type By = Pick<ReadRequest, 'host' | 'caller'>

/** Cancels a task that the caller reaches, or one node of it. @throws {BeaverError} */
export async function cancelTask(
  taskId: string,
  { host, caller }: By,
  { reason, nodeId }: { readonly reason?: string | undefined; readonly nodeId?: string | undefined } = {},
): Promise<void> {
  await mustReach(host.client(), taskId, caller)
  const why = reason ?? `Cancelled by ${caller.name}.`
  await host.client().cancel(taskId, why, { nodeId, userId: doneFor(caller) })
}

/** Retries a task that the caller reaches. @throws {BeaverError} */
export async function retryTask(
  taskId: string,
  { host, caller }: By,
  { budget }: Pick<RequestInput<'task.retry'>, 'budget'> = {},
): Promise<RetriedTask> {
  await mustReach(host.client(), taskId, caller)
  return host.client().retry(taskId, { budget })
}

const cancelling = route(
  controlOf('cancel', 'The journal has the request.'),
  {
    path: inPath,
    body: fieldsOf(requestContracts['task.cancel'].input, ['task_id', 'user_id']).extend({
      reason: z.string().min(1).max(1_000).optional().describe('Why. Absent: that the token cancelled it.'),
    }),
  },
  async ({ path, body, host, caller }) => {
    const { reason, node_id } = body as { reason?: string; node_id?: string }
    await cancelTask(path.task_id, { host, caller }, { reason, nodeId: node_id })
    return json({ task_id: path.task_id, node_id: node_id ?? null }, { status: 202 })
  },
)

const steering = route(
  controlOf('steer', 'The journal has the text.'),
  {
    path: inPath,
    headers: idempotencyKey,
    body: fieldsOf(requestContracts['task.steer'].input, ['task_id', 'user_id']),
  },
  async ({ path, headers, body, host, caller }) => {
    const { text, request_id } = body as { text: string; request_id?: string }
    const key = headers['idempotency-key']
    mustBeOwnId(request_id, 'body.request_id')
    const { userId } = caller
    const requestId = request_id ?? (key === undefined ? undefined : keyedId({ caller, userId }, 'key', key))
    await mustReach(host.client(), path.task_id, caller)
    return json(await host.client().steer(path.task_id, text, { requestId, userId: doneFor(caller) }), {
      status: 202,
    })
  },
)

const retrying = route(
  controlOf('retry', 'The new task is accepted.'),
  { path: inPath, body: fieldsOf(requestContracts['task.retry'].input, ['task_id', 'user_id']) },
  async ({ path, body, host, caller }) => {
    const { budget } = body as Pick<RequestInput<'task.retry'>, 'budget'>
    const retried = await retryTask(path.task_id, { host, caller }, { budget })
    return json(retried, {
      status: 202,
      headers: { location: `/api/v1/tasks/${encodeURIComponent(retried.task_id)}` },
    })
  },
)

const decision = z.strictObject({
  call_id: z.string().min(1).max(100_000).describe('The id of the call, as in the list of approvals.'),
  call_hash: z
    .string()
    .optional()
    .describe(
      'The hash of what was shown to the person. A decision about a call with another hash is refused.',
    ),
  reason: z.string().max(1_000).optional().describe('Why. The model reads why a call is refused.'),
})

const changed = decision.extend({
  arguments: z
    .string()
    .max(250_000)
    .optional()
    .describe(
      'The arguments with which the call is made instead: the text of a JSON object that fits the tool. Absent: those of the model.',
    ),
})

const deciding = (['approve', 'deny'] as const).map((verb) =>
  route(
    {
      tag: 'approvals',
      role: 'approve',
      method: 'post',
      at: `/api/v1/tasks/{task_id}/${verb}`,
      name: `${verb}Call`,
      says:
        verb === 'approve'
          ? 'Lets a call run that waits for an approval.'
          : 'Refuses a call that waits for an approval. The model reads the reason.',
      answer: {
        status: 200,
        says: 'The journal has the decision.',
        schema: requestContracts['task.decide'].output,
      },
    },
    { path: inPath, body: verb === 'approve' ? changed : decision },
    async ({ path, body, host, caller }) => {
      const approved = verb === 'approve'
      const {
        call_id: callId,
        call_hash: callHash,
        reason,
        arguments: args,
      } = body as z.output<typeof changed>
      await mustReach(host.client(), path.task_id, caller)
      await host.client().decide(path.task_id, {
        callId,
        callHash,
        approved,
        reason,
        arguments: args,
        userId: doneFor(caller),
      })
      return json({ task_id: path.task_id, call_id: callId, approved })
    },
  ),
)

const answering = route(
  {
    tag: 'approvals',
    role: 'any',
    method: 'post',
    at: '/api/v1/tasks/{task_id}/answer',
    name: 'answerQuestion',
    says: 'Answers a question that a running call asks. An answer that does not fit is refused, and the question still waits. The role submit answers what an agent asks with ask_user; the role approve answers everything.',
    answer: {
      status: 200,
      says: 'The journal has the answer.',
      schema: requestContracts['task.answer'].output,
    },
  },
  { path: inPath, body: fieldsOf(requestContracts['task.answer'].input, ['task_id', 'user_id']) },
  async ({ path, body, host, caller }) => {
    const {
      call_id: callId,
      question_index: questionIndex,
      answer,
      reason,
    } = body as Omit<AnswerRequest, 'task_id'>
    await mustReach(host.client(), path.task_id, caller)
    if (!hasRole(caller, 'approve'))
      await mustBeForAgent(host.client(), path.task_id, {
        caller,
        call_id: callId,
        question_index: questionIndex,
      })
    await host
      .client()
      .answer(path.task_id, { callId, questionIndex, answer, reason, userId: doneFor(caller) })
    return json({ task_id: path.task_id, call_id: callId, action: answer.action })
  },
)

const answeringCalls = route(
  {
    tag: 'tasks',
    role: 'submit',
    method: 'post',
    at: '/api/v1/tasks/{task_id}/client-answers',
    name: 'answerClientCalls',
    says: requestContracts['task.client_answer'].says,
    answer: {
      status: 200,
      says: 'The journal has the answers.',
      schema: requestContracts['task.client_answer'].output,
    },
  },
  { path: inPath, body: fieldsOf(requestContracts['task.client_answer'].input, ['task_id', 'user_id']) },
  async ({ path, body, host, caller }) => {
    const { answers, tool_choice: toolChoice } = body as Pick<
      RequestInput<'task.client_answer'>,
      'answers' | 'tool_choice'
    >
    await mustReach(host.client(), path.task_id, caller)
    await host.client().answerCalls(
      path.task_id,
      answers.map(({ call_id: callId, content, error }) => ({ callId, content, error })),
      { userId: doneFor(caller), toolChoice },
    )
    return json({ task_id: path.task_id, call_ids: answers.map(({ call_id }) => call_id) })
  },
)

interface ToAgent {
  readonly caller: Caller
  readonly call_id: string
  readonly question_index: number | undefined
}

/**
 * Allows an answer by a caller that has the role `submit` but not `approve`, if an agent asks the question
 * with `ask_user`.
 *
 * @throws {HttpProblem} `not_allowed`; {BeaverError} `conflict` if the question was answered already;
 * `not_found`
 */
async function mustBeForAgent(
  client: BeaverClient,
  taskId: string,
  { caller, ...named }: ToAgent,
): Promise<void> {
  mustHave(caller, 'submit')
  const view = newTaskView()
  let answered: Answered | null = null
  for await (const event of client.events(taskId)) {
    evolveTaskView(view, event)
    if (isAnswer(event, { callId: named.call_id, index: named.question_index })) answered = event
  }
  const asked = questionNamed(view.openQuestions, named)
  if (asked === null && answered !== null) throw alreadySettled(answered)
  if (asked === null)
    throw new BeaverError(
      'not_found',
      `No call ${named.call_id} of the task ${taskId} asks this question now.`,
    )
  mustAnswer(caller, asked)
}

const raising = route(
  {
    tag: 'approvals',
    role: 'approve',
    method: 'post',
    at: '/api/v1/tasks/{task_id}/raise',
    name: 'raiseBudget',
    says: requestContracts['task.raise'].says,
    answer: {
      status: 202,
      says: 'The journal has the request.',
      schema: requestContracts['task.raise'].output,
    },
  },
  {
    path: inPath,
    headers: idempotencyKey,
    body: fieldsOf(requestContracts['task.raise'].input, ['task_id', 'user_id']),
  },
  async ({ path, headers, body, host, caller }) => {
    const { more, node_id: nodeId, reason, request_id } = body as Omit<RequestInput<'task.raise'>, 'task_id'>
    const key = headers['idempotency-key']
    mustBeOwnId(request_id, 'body.request_id')
    const { userId } = caller
    const requestId = request_id ?? (key === undefined ? undefined : keyedId({ caller, userId }, 'key', key))
    await mustReach(host.client(), path.task_id, caller)
    return json(
      await host.client().raise(path.task_id, more, { nodeId, reason, requestId, userId: doneFor(caller) }),
      {
        status: 202,
      },
    )
  },
)

const asking = queryRoute('questions', {
  tag: 'approvals',
  at: '/api/v1/questions',
  name: 'listQuestions',
  gives: 'A page of questions.',
})
const waiting = queryRoute('approvals', {
  tag: 'approvals',
  at: '/api/v1/approvals',
  name: 'listApprovals',
  gives: 'A page of calls.',
})

const inbox = queryRoute('inbox', {
  tag: 'approvals',
  at: '/api/v1/inbox',
  name: 'listInbox',
  gives: 'A page of entries.',
})

export const taskRoutes: readonly Route[] = [
  submitting,
  listing,
  counting,
  ...showing,
  ...showingRuns,
  ...eventRoutes,
  cancelling,
  steering,
  retrying,
  ...deciding,
  answering,
  answeringCalls,
  raising,
  waiting,
  asking,
  inbox,
]
