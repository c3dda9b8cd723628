// The calls of the MCP server that go on without their client: each is a task, which is read from the journal
// when somebody asks for it. Only tasks that an MCP client started are found. A task that was started is
// found at once, because the journal has it. The read model may be behind.
import {
  BeaverError,
  isTerminalTaskEvent,
  type WaitingCall,
  waitingCalls,
  type OpenQuestion,
  openQuestions,
  type RecordedEvent,
  type TaskResult,
} from '@beaver/core'
import type { WorkflowOutcome, WorkflowTask, WorkflowTaskResult, WorkflowTasks } from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { lookForSystem } from '../system/find-system.ts'
import { callErrorOf, type DaemonCallerOptions, noSystem } from './daemon-caller.ts'
import type { PersonCommand } from './person-command.ts'
import { answerAll, askedIn, everyQuestion, mcpSource, personWaits, questionsFor } from './task-questions.ts'
import { afterEvent, happeningNow, noProgress } from './team-progress.ts'

const endings: Readonly<Record<WorkflowOutcome['status'], string>> = {
  completed: 'The task has completed.',
  incomplete: 'The task is incomplete.',
  failed: 'The task has failed.',
  cancelled: 'The task was cancelled.',
}

/** @param options.workspace an absolute path. Default: the daemon's workspace. */
export function daemonTasks(
  config: Config,
  { workspace, command }: Pick<DaemonCallerOptions, 'workspace' | 'command'>,
): WorkflowTasks {
  async function onSystem(
    act: (client: Connection['client']) => Promise<WorkflowTask>,
  ): Promise<WorkflowTaskResult> {
    const system = lookForSystem(config)
    if (system === null) return { ok: false, error: noSystem(config, command) }
    try {
      await using connection = await connect(system)
      return { ok: true, task: await act(connection.client) }
    } catch (error) {
      return { ok: false, error: callErrorOf(error) }
    }
  }
  return {
    start: (name, args) =>
      onSystem(async (client) => {
        const { task_id: taskId } = await client.submit({
          workflow: { name, arguments: args },
          workspace,
          source: mcpSource,
        })
        return taskIn(taskId, client.events(taskId), command)
      }),
    look: (taskId) => onSystem((client) => taskIn(taskId, client.events(taskId), command)),
    cancel: (taskId) =>
      onSystem(async (client) => {
        const task = await taskIn(taskId, client.events(taskId), command)
        if (task.outcome === null)
          await client.cancel(taskId, 'Cancelled by the MCP client.').catch(unlessEnded)
        return task
      }),
    answer: (taskId, answers) =>
      onSystem(async (client) => {
        const asked = await askedIn(taskId, client.events(taskId))
        const [late] = await answerAll(client, taskId, asked, answers(everyQuestion(asked)))
        if (late !== undefined) throw new BeaverError('conflict', late)
        return taskIn(taskId, client.events(taskId), command)
      }),
  }
}

/** It ended in between, or was cancelled already. */
function unlessEnded(error: unknown): void {
  if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
}

/** @throws {BeaverError} `not_found` if no MCP client started such a task */
export async function taskIn(
  taskId: string,
  events: AsyncIterable<RecordedEvent>,
  command: PersonCommand,
): Promise<WorkflowTask> {
  let createdAt = ''
  let updatedAt = ''
  let sessionId = ''
  let progress = noProgress
  let last = 'The task was accepted.'
  let outcome: WorkflowOutcome | null = null
  let waiting: readonly WaitingCall[] = []
  let open: readonly OpenQuestion[] = []
  for await (const event of events) {
    if (createdAt === '') {
      if (event.type !== 'task_submitted' || event.data.request.source !== mcpSource) break
      createdAt = event.time
      sessionId = event.data.session_id
    }
    updatedAt = event.time
    open = openQuestions(open, event)
    waiting = waitingCalls(waiting, event)
    const step = afterEvent(progress, event)
    if (step !== null) {
      progress = step.after
      last = step.message
    }
    if (isTerminalTaskEvent(event.type))
      outcome = outcomeOf(taskId, sessionId, { type: event.type, data: event.data as TaskResult })
  }
  if (createdAt === '') throw new BeaverError('not_found', `There is no task ${taskId} of an MCP client.`)
  const ended = progress.total === 0 ? '' : `${progress.ended.size} of ${progress.total} nodes have ended. `
  const message =
    outcome === null
      ? (personWaits(taskId, { open, waiting }, command) ??
        `${ended}${happeningNow(progress, Date.now()) ?? last}`)
      : endings[outcome.status]
  return { taskId, createdAt, updatedAt, message, outcome, questions: questionsFor(open) }
}

function outcomeOf(
  taskId: string,
  sessionId: string,
  { type, data }: { readonly type: string; readonly data: TaskResult },
): WorkflowOutcome {
  const status = type.slice('task_'.length) as WorkflowOutcome['status']
  return {
    taskId,
    sessionId,
    status,
    finalOutput: data.final_output,
    outputs: data.outputs,
    failure: data.failure?.message ?? null,
  }
}
