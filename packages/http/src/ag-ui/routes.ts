// The routes of AG-UI 1.0: one runs an agent, the other streams the events of an existing task. In AG-UI, a
// client stops its run by disconnecting, so this cancels the task of the run. The task continues if the
// client asked for that (`goes_on`), if the app is closing, or if the task waits for a person or for results of
// the client. The same run again follows the same task. A reader of an existing task cancels nothing by disconnecting.
import { type AGUIEvent, EventType } from '@ag-ui/core'
import { type Followed, followTask, submitAndFollow } from '@beaver/client'
import { BeaverError, foreignId } from '@beaver/core'
import { readTaskView } from '@beaver/core/task-view'
import { z } from 'zod'
import { doneFor, reaches, userOf } from '../access.ts'
import { type Asked, type RequestParts, type Route, route } from '../route.ts'
import { eventStream, type ServerSentEvent } from '../sse.ts'
import { begun } from '../reported-items.ts'
import { continued } from './client-results.ts'
import { knownOf, nothingKnown, type Resumed, resumed } from './interrupts.ts'
import { isLast, type Run, runEvents } from './run-events.ts'
import { type RunInput, runInput, sourceOf, taskOfRun, toolError, wantsToGoOn, workOf } from './run-input.ts'

type Place = Pick<Asked<RequestParts>, 'host' | 'caller' | 'options' | 'signal'>

interface Followable extends Pick<Run, 'after' | 'known' | 'has' | 'older'> {
  readonly taskId: string
  readonly followed: AsyncIterable<Followed>
  /** Whether the task of this run is in the journal. Otherwise there is nothing to cancel. */
  readonly accepted: () => boolean
}

const events =
  'RUN_STARTED, the events of texts and of calls of tools, and at the end one of RUN_FINISHED and RUN_ERROR, each as data.'
const errorData = (
  _: unknown,
  { detail: message, code }: { readonly detail: string; readonly code: string },
): AGUIEvent => ({
  type: EventType.RUN_ERROR,
  message,
  code,
})

const running = route(
  {
    tag: 'ag-ui',
    role: 'submit',
    method: 'post',
    at: '/ag-ui/{agent}',
    name: 'runAgent',
    says: 'Runs an agent or a workflow for a user interface, and streams what it says and does (AG-UI 1.0).',
    answer: { status: 200, says: 'The events of the run.', events },
  },
  {
    path: z.strictObject({
      agent: z
        .string()
        .min(1)
        .max(256)
        .describe('beaver (the default profile), the name of a profile, or workflow:<id>.'),
    }),
    body: runInput,
  },
  async ({ path, body, host, caller, options, signal }) => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(options.runMsMax.stream)])
    const place: Place = { host, caller, options, signal: within }
    const followable = await taskOf(path.agent, body, place)
    const { threadId, runId } = body
    const stream = await begun(
      attended(
        { ...followable, older: body.protocolVersion === undefined },
        { threadId, runId },
        { ...place, goesOn: wantsToGoOn(body) },
      ),
    ).catch((error: unknown) => {
      throw toolError(error)
    })
    if (stream === null)
      throw new BeaverError('timeout', `The task ${followable.taskId} did not begin in time.`)
    return eventStream(stream.all, { ...options, errorData })
  },
)

/** The task of a run: the one that goes on by the request, or a new one. */
async function taskOf(agent: string, input: RunInput, { host, caller, signal }: Place): Promise<Followable> {
  const goesOn = both(
    await continued(input, { host, caller, agent }),
    await resumed(input, { host, caller, agent }),
  )
  const has = new Set(input.messages.flatMap(({ toolCallId }) => toolCallId ?? []))
  if (goesOn !== null)
    return {
      ...goesOn,
      has,
      followed: followTask(host.client(), goesOn.taskId, { signal }),
      accepted: () => true,
    }
  const { threadId } = input
  const userId = userOf(caller, undefined)
  const task = {
    ...(await workOf(agent, input, { host, caller })),
    task_id: taskOfRun(input, { caller, agent }),
    session_id: threadId,
    ...(userId === undefined ? {} : { user_id: userId }),
    source: sourceOf(caller),
  }
  let accepted = false
  const followed = submitAndFollow(host.client(), task, { signal, onSubmitted: () => (accepted = true) })
  return { taskId: task.task_id, followed, after: 0, known: nothingKnown, accepted: () => accepted }
}

/** What a request says to a task by the results of calls, and by answers to interrupts. */
function both(results: Resumed | null, answers: Resumed | null): Resumed | null {
  if (results === null || answers === null || results.taskId !== answers.taskId) return answers ?? results
  return {
    taskId: answers.taskId,
    after: Math.min(results.after, answers.after),
    known: {
      ...answers.known,
      answered: new Set([...results.known.answered, ...answers.known.answered]),
    },
  }
}

/**
 * The events of a run. If the client disconnects before the last event, the task is cancelled, unless it
 * should continue.
 */
async function* attended(
  { taskId, followed, accepted, ...run }: Followable,
  ids: NonNullable<Run['ids']>,
  { host, caller, options, goesOn }: Place & { readonly goesOn: boolean },
): AsyncGenerator<ServerSentEvent> {
  let isOver = false
  let isBroken = false
  try {
    for await (const event of runEvents(followed, { ...run, caller, ids })) {
      isOver = isLast(event)
      yield { data: event }
    }
  } catch (error) {
    isBroken = true
    throw error
  } finally {
    if (accepted() && !isOver && !isBroken && !goesOn && !options.closing())
      await host
        .client()
        .cancel(taskId, 'The client of the run went away, or waited for as long as it may.', {
          userId: doneFor(caller),
        })
        .catch(() => {}) // The task may have ended in the meantime.
  }
  if (!isOver) throw lateError(taskId, { goesOn, closing: options.closing() })
}

function lateError(
  taskId: string,
  { goesOn, closing }: { readonly goesOn: boolean; readonly closing: boolean },
): BeaverError {
  if (closing)
    return new BeaverError(
      'wrong_state',
      'The interface is closing. The task goes on: send the same run again to follow it.',
    )
  return new BeaverError(
    'timeout',
    `The task ${taskId} did not end in time. ${goesOn ? 'It goes on: send the same run again to follow it.' : 'It was cancelled.'}`,
  )
}

const following = route(
  {
    tag: 'ag-ui',
    role: 'read',
    method: 'get',
    at: '/api/v1/tasks/{task_id}/ag-ui',
    name: 'followTaskAsRun',
    says: 'The events of a task from its beginning, as the events of a run of AG-UI 1.0. Nothing is cancelled when the reader leaves.',
    answer: { status: 200, says: 'The events of the run.', events },
  },
  { path: z.strictObject({ task_id: foreignId.describe('The id of the task.') }) },
  async ({ path: { task_id: taskId }, host, caller, options, signal }) => {
    const client = host.client()
    const seen = await readTaskView(client.events(taskId), ({ request }) => reaches(caller, request.user_id))
    if (seen === null) throw new BeaverError('not_found', `There is no task ${JSON.stringify(taskId)}.`)
    const run = { caller, after: 0, known: knownOf(seen.view) }
    return eventStream(asMessages(runEvents(followTask(client, taskId, { signal }), run)), {
      ...options,
      errorData,
    })
  },
)

async function* asMessages(all: AsyncGenerator<AGUIEvent>): AsyncGenerator<ServerSentEvent> {
  for await (const data of all) yield { data }
}

export const agUiRoutes: readonly Route[] = [running, following]
