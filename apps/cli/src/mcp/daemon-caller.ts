// Runs the calls of the MCP server on a daemon: each call is a task, which is submitted, followed to its end,
// and cancelled if the client cancels. No call hangs: without a system it fails at once, and if the system
// disappears it fails within a bound. A question of an agent ends a call whose client may be asked. The task
// waits, and the next call of the client goes on with it. Each call looks for the system again, because it
// may have been started or restarted since the last call.
import { BeaverError, messageOf } from '@beaver/core'
import type { CallError, WorkflowCallOptions, WorkflowCaller, WorkflowCallResult } from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { type FoundSystem, lookForSystem } from '../system/find-system.ts'
import { followCall } from './follow-call.ts'
import type { PersonCommand } from './person-command.ts'
import { answerAll, askedIn, everyQuestion, mcpSource, questionsFor } from './task-questions.ts'

export interface DaemonCaller extends WorkflowCaller {
  /**
   * Cancels the tasks that asked their client something, and that no call goes on with: their client is gone.
   */
  leave(): Promise<void>
  /** Resolves when no call is open, at the latest after `withinMs`. */
  idle(withinMs: number): Promise<void>
}

export interface DaemonCallerOptions {
  /** An absolute path. Default: the daemon's workspace. */
  readonly workspace?: string | undefined
  /** Says what waits for a person: not every client shows the progress of a call. */
  readonly tell?: ((line: string) => void) | undefined
  /** Writes the commands that people type. */
  readonly command: PersonCommand
}

const askingMax = 1_000

/** A server of many clients does not know who never comes back. */
function addBounded(asking: Set<string>, taskId: string): void {
  asking.add(taskId)
  for (const oldest of asking) if (asking.size > askingMax) asking.delete(oldest)
}

export function daemonCaller(config: Config, options: DaemonCallerOptions): DaemonCaller {
  const { tell = () => {}, command } = options
  const open = new Set<Promise<unknown>>()
  /** The tasks that wait for an answer of the client. */
  const asking = new Set<string>()

  async function onSystem(
    act: (connection: Connection, system: FoundSystem) => Promise<WorkflowCallResult>,
  ): Promise<WorkflowCallResult> {
    const system = lookForSystem(config)
    if (system === null) return { ok: false, error: noSystem(config, command) }
    try {
      await using connection = await connect(system)
      return await act(connection, system)
    } catch (error) {
      return { ok: false, error: callErrorOf(error) }
    }
  }

  const call = (
    name: string,
    args: Readonly<Record<string, unknown>>,
    given: WorkflowCallOptions,
  ): Promise<WorkflowCallResult> =>
    onSystem(async (connection, system) => {
      const submitted = await connection.client.submit({
        workflow: { name, arguments: args },
        workspace: options.workspace,
        source: mcpSource,
      })
      tell(accepted(submitted.task_id, name, command))
      return await followCall(
        { connection, system, config, command, tell },
        { ...given, taskId: submitted.task_id, after: 0 },
      )
    })

  const goOn: WorkflowCaller['goOn'] = (taskId, answers, given) =>
    onSystem(async (connection, system) => {
      const { client } = connection
      const before = await askedIn(taskId, client.events(taskId))
      let late: readonly string[]
      try {
        late = await answerAll(client, taskId, before, answers(everyQuestion(before)))
      } catch (error) {
        if (!(error instanceof BeaverError && error.code === 'invalid_arguments')) throw error
        return { ok: true, asks: { taskId, questions: questionsFor(before.waiting), fault: error.message } }
      }
      const { waiting, taskseq } = await askedIn(taskId, client.events(taskId))
      const called =
        waiting.length > 0 && given.asks
          ? { ok: true as const, asks: { taskId, questions: questionsFor(waiting) } }
          : await followCall(
              { connection, system, config, command, tell },
              { ...given, taskId, after: taskseq },
            )
      return late.length === 0 ? called : told(called, late.join(' '))
    })

  const opened = (calling: Promise<WorkflowCallResult>): Promise<WorkflowCallResult> => {
    open.add(calling)
    void calling.finally(() => open.delete(calling))
    return calling.then((called) => {
      if (called.ok && 'asks' in called) addBounded(asking, called.asks.taskId)
      return called
    })
  }

  return {
    call: (name, args, given) => opened(call(name, args, given)),
    goOn(taskId, answers, given) {
      const going = goOn(taskId, answers, given)
      // A call that could not be made leaves its task waiting, which ends with the client.
      void going.then(({ ok }) => ok && asking.delete(taskId))
      return opened(going)
    },
    async leave() {
      if (asking.size > 0) await onSystem(({ client }) => cancelAll(client, asking))
    },
    async idle(withinMs) {
      const late = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref())
      await Promise.race([Promise.allSettled(open), late])
    },
  }
}

async function cancelAll(
  client: Connection['client'],
  taskIds: Iterable<string>,
): Promise<WorkflowCallResult> {
  const message = 'The MCP client is gone.'
  await Promise.allSettled(Array.from(taskIds, (taskId) => client.cancel(taskId, message)))
  return { ok: false, error: { code: 'cancelled', message } }
}

/** A program that is killed cancels nothing, so its stderr says beforehand what then goes on. */
const accepted = (taskId: string, workflow: string, command: PersonCommand): string =>
  `The task ${taskId} runs ${workflow} for an MCP client, and ends with the call. If this program is killed (SIGKILL), the task goes on. Cancel it then with: ${command(`cancel ${taskId}`)}`

/** The result says why an answer of the client does not count. */
function told(called: WorkflowCallResult, note: string): WorkflowCallResult {
  if (!called.ok) return called
  return 'asks' in called
    ? { ok: true, asks: { ...called.asks, fault: note } }
    : { ok: true, result: { ...called.result, note } }
}

export function noSystem({ home }: Config, command: PersonCommand): CallError {
  return {
    code: 'no_daemon',
    message: `No Beaver system runs in ${home}. Start one with "${command('up')}", or name another with --home, --nats-url or NATS_URL.`,
  }
}

const argumentsPath = /^workflow\.arguments\.?/

export function callErrorOf(error: unknown): CallError {
  if (!(error instanceof BeaverError))
    return { code: 'internal', message: `Beaver has a defect: ${messageOf(error)}` }
  const [problem] = error.problems
  if (problem?.code !== undefined)
    return { code: problem.code, message: problem.message, path: problem.path.replace(argumentsPath, '') }
  if (error.code === 'unreachable') return { code: 'no_daemon', message: error.message }
  return { code: error.code, message: error.message }
}
