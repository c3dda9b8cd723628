// Runs the calls of the MCP server on a daemon: each call is a task, which is submitted, followed to its end, and cancelled if the client cancels.
// D1. No call hangs: without a system it fails at once, and if the system disappears it fails within a bound.
// D2. Each call looks for the system again, because it may have been started or restarted since the last call.
import { BeaverError, messageOf } from '@beaver/core'
import type { CallError, WorkflowCaller, WorkflowCallResult } from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { followTask } from '../follow/follow-task.ts'
import { type FoundSystem, hasEnded, lookForSystem } from '../system/find-system.ts'
import { afterEvent, noProgress } from './team-progress.ts'

export interface DaemonCaller extends WorkflowCaller {
  /** Resolves when no call is open, at the latest after `withinMs`. */
  idle(withinMs: number): Promise<void>
}

type CallOptions = Parameters<WorkflowCaller['call']>[2]

/** The source of the tasks of MCP clients. */
export const mcpSource = 'mcp'

const cancelMsMax = 5_000

/** @param options.workspace an absolute path. Default: the daemon's workspace. */
export function daemonCaller(config: Config, options: { readonly workspace?: string | undefined }): DaemonCaller {
  const open = new Set<Promise<unknown>>()

  async function call(name: string, args: Readonly<Record<string, unknown>>, { signal, onProgress }: CallOptions): Promise<WorkflowCallResult> {
    const system = lookForSystem(config)
    if (system === null) return { ok: false, error: noSystem(config) }
    try {
      await using connection = await connect(system)
      const submitted = await connection.client.submit({ workflow: { name, arguments: args }, workspace: options.workspace, source: mcpSource })
      return await follow(connection, system, { taskId: submitted.task_id, signal, onProgress })
    } catch (error) {
      return { ok: false, error: callErrorOf(error) }
    }
  }

  async function follow(
    connection: Connection,
    system: FoundSystem,
    { taskId, signal, onProgress }: CallOptions & { taskId: string },
  ): Promise<WorkflowCallResult> {
    const stop = new AbortController()
    const cancel = (): void => {
      setTimeout(() => stop.abort(), cancelMsMax).unref()
      connection.client.cancel(taskId, 'Cancelled by the MCP client.').catch(() => stop.abort())
    }
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    let progress = noProgress
    try {
      const followed = await followTask(connection, taskId, {
        signal: stop.signal,
        onEvent(event) {
          const step = afterEvent(progress, event)
          if (step === null) return
          progress = step.after
          onProgress(step.told)
        },
        onNotice: (notice) => (notice === null ? undefined : onProgress({ done: progress.ended.size, total: progress.total || null, message: notice })),
        systemGone: () => hasEnded(system, config),
      })
      if (followed.kind === 'stopped')
        return { ok: false, error: { code: 'cancelled', message: `The task ${taskId} was asked to stop, but did not stop in time.` } }
      const { status, result, session_id: sessionId } = followed.end
      const outcome = { taskId, sessionId, finalOutput: result.final_output, outputs: result.outputs, failure: result.failure?.message ?? null }
      return { ok: true, result: { ...outcome, status: status as 'completed' | 'incomplete' | 'failed' | 'cancelled' } }
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  return {
    call(name, args, given) {
      const calling = call(name, args, given)
      open.add(calling)
      void calling.finally(() => open.delete(calling))
      return calling
    },
    async idle(withinMs) {
      const late = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref())
      await Promise.race([Promise.allSettled(open), late])
    },
  }
}

export function noSystem({ home }: Config): CallError {
  return { code: 'no_daemon', message: `No Beaver system runs in ${home}. Start one with "beaver up", or name another with --home, --nats-url or NATS_URL.` }
}

const argumentsPath = /^workflow\.arguments\.?/

export function callErrorOf(error: unknown): CallError {
  if (!(error instanceof BeaverError)) return { code: 'internal', message: `Beaver has a defect: ${messageOf(error)}` }
  const [problem] = error.problems
  if (problem?.code !== undefined) return { code: problem.code, message: problem.message, path: problem.path.replace(argumentsPath, '') }
  if (error.code === 'unreachable') return { code: 'no_daemon', message: error.message }
  return { code: error.code, message: error.message }
}
