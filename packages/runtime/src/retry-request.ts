// Retries an ended task as a new task at the end of the same session. What the retry keeps of the old task is
// copied with its first claim (claim-task.ts). The id of a retry is derived from the old task, so a repeated
// request names the same retry. A task in an archive cannot be retried, because the journal has no entries to
// copy.
import type { RequestRead, RetriedTask } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { retryIdOf } from '@beaver/core/fold'
import { loadTask } from './load-task.ts'
import { acceptTask, type AcceptPorts, type AskedBy } from './accept-task.ts'
import { mustBeGiven, refusedWorkspace } from './task-intake.ts'

/**
 * @throws {BeaverError} `not_found`, `invalid_arguments` for a budget that is too large, `conflict` for a task that runs or completed, `workspace_missing`,
 * `workspace_refused`
 */
export async function retryTask(
  { task_id: taskId, user_id, budget }: RequestRead<'task.retry'>,
  ports: AcceptPorts,
  caller: AskedBy = {},
): Promise<RetriedTask> {
  const log = await ports.journal.find(ports.tenant, taskId)
  if (log === null)
    throw new BeaverError('not_found', `There is no task ${taskId}. "beaver tasks" lists the tasks.`)
  const { state, archive } = await loadTask(log, ports)
  const { submitted, ended, status } = state
  if (submitted === null || ended === null)
    throw new BeaverError(
      'conflict',
      `The task ${taskId} has not ended: it is ${status}. Only a task that has ended can be retried.`,
    )
  if (status === 'completed')
    throw new BeaverError('conflict', `The task ${taskId} completed, so there is nothing to retry.`)
  if (archive !== null)
    throw new BeaverError(
      'conflict',
      `The task ${taskId} cannot be retried: what it completed is not in the journal any more, but in the archive ${archive}.`,
    )
  const { workspace } = submitted.request
  const found = await ports.folders.at(workspace)
  if (found.kind === 'refused')
    throw new BeaverError('workspace_refused', refusedWorkspace(workspace, found.why))
  if (found.kind !== 'folder')
    throw new BeaverError(
      'workspace_missing',
      `The folder ${workspace}, in which the task ${taskId} worked, does not exist any more.`,
    )
  mustBeGiven(budget, ports)
  const request = {
    ...submitted.request,
    retry_of: log.task,
    ...(budget === undefined ? {} : { budget }),
    ...(user_id === undefined ? {} : { user_id }),
  }
  const accepted = await acceptTask({ ...log, task: retryIdOf(submitted) }, request, ports, caller)
  return { ...accepted, retry_of: log.task }
}
