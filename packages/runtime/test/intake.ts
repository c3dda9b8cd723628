// What the tests of the intake share: an intake on the in-memory twins, whose default workspace is a folder.
import { type SubmitRequest, submitRequest, type SubmittedTask } from '@beaver/contracts'
import { type BeaverError, type LogId, silentLogger } from '@beaver/core'
import { foldTask, type TaskState } from '@beaver/core/fold'
import { countingIds, memoryBlobStore, memoryJournal, virtualClock } from '@beaver/testing'
import { findWorkflow } from '@beaver/workflows'
import { workspaceFolders } from '../src/workspace-folders.ts'
import { loadTask } from '../src/load-task.ts'
import { acceptanceLines } from '../src/accept-task.ts'
import { type IntakePorts, submitTask } from '../src/task-intake.ts'

export function intakeIn(folder: string, over: Partial<IntakePorts> = {}) {
  const journal = memoryJournal()
  const blobs = memoryBlobStore()
  const ports: IntakePorts = {
    journal,
    blobs,
    clock: virtualClock(),
    ids: countingIds(),
    source: '/beaver/daemons/d',
    tenant: 'local',
    workspaceDefault: folder,
    folders: workspaceFolders(virtualClock(), { roots: ['/'], owned: false, home: '/nowhere' }),
    skillNames: ['folder-report'],
    profileNames: ['analyst', 'writer'],
    modelNames: ['deep', 'quick'],
    findWorkflow,
    workflowNames: ['SequentialWorkflow', 'workflow:summarize'],
    lines: acceptanceLines(virtualClock()),
    logger: silentLogger,
    ...over,
  }
  return {
    ports,
    submit: (request: SubmitRequest): Promise<SubmittedTask> =>
      submitTask(submitRequest.parse(request), ports),
    stateOf: async (of: SubmittedTask): Promise<TaskState> =>
      foldTask((await loadTask(logOf(of), ports)).events),
  }
}

export const logOf = ({ task_id, session_id }: SubmittedTask): LogId =>
  ({ tenant: 'local', session: session_id, task: task_id }) as LogId

/** Why a request was refused: the code and the places. What was accepted is told as text. */
export const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => `accepted ${JSON.stringify(value)}`,
    (error: BeaverError) => [error.code, error.problems.map(({ path }) => path)],
  )
