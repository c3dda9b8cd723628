// Accepting a task: validated first, then durable, then answered. Nothing of a refused request is stored.
// I1. The same id with the same request gives the same answer; with another request, `conflict`.
// I2. Tasks of one session form a chain: each names the one accepted before it (D-47).
import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import {
  BeaverError,
  type BlobStore,
  canonicalJson,
  type Clock,
  draft,
  emptyHead,
  event,
  foreignId,
  type Ids,
  type Journal,
  joinBatch,
  type LogId,
  type Problem,
  seal,
  type SessionId,
  type TaskId,
  type TaskRequest,
} from '@beaver/core'
import { z } from 'zod'
import type { AcceptedTasks } from './accepted-tasks.ts'
import { loadTask } from './load-task.ts'

export const submitRequest = z.strictObject({
  /** What to do, in words. */
  task: z.string().max(1_000_000),
  /** Makes a repeated request harmless; made up when absent. */
  task_id: foreignId.optional(),
  session_id: foreignId.optional(),
  /** The folder the agents may work in; absolute. */
  workspace: z.string().optional(),
  /** The name of a skill to activate. */
  skill: z.string().optional(),
  source: z.string().max(128).optional(),
})
export type SubmitRequest = z.input<typeof submitRequest>

export interface Submitted {
  readonly task_id: string
  readonly session_id: string
}

export interface IntakePorts {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly ids: Ids
  readonly source: string
  readonly tenant: string
  readonly workspaceDefault: string
  readonly skillNames: readonly string[]
  readonly accepted: AcceptedTasks
}

const tailTriesMax = 20

/** @throws {BeaverError} `invalid_arguments`, `workspace_missing`, `unknown_skill`, `conflict` */
export async function submitTask(request: z.output<typeof submitRequest>, ports: IntakePorts): Promise<Submitted> {
  const task = await validated(request, ports)
  const log: LogId = {
    tenant: ports.tenant,
    // A task with an id of its own and no session has one of that name: asked for again, it is found again.
    session: (request.session_id ?? request.task_id ?? ports.ids.next('session')) as SessionId,
    task: (request.task_id ?? ports.ids.next('task')) as TaskId,
  }
  const madeUp = request.session_id === undefined && request.task_id === undefined
  const answer: Submitted = { task_id: log.task, session_id: log.session }
  for (let tries = 0; tries < tailTriesMax; tries++) {
    // A session that was made up just now has no tail.
    const tail = madeUp ? { task: null, revision: 0 } : await ports.journal.sessionTail(log.tenant, log.session)
    const submitted = event('task_submitted', { task_id: log.task, session_id: log.session, tenant: log.tenant, previous_task_id: tail.task, request: task })
    const { record } = seal(emptyHead, draft(submitted), { epoch: 0, source: ports.source, subject: log.task, time: new Date(ports.clock.now()).toISOString() })
    if (record.blob !== null) await ports.blobs.put(record.blob.sha256, record.blob.bytes)
    const payload = joinBatch([record])
    const outcome = await ports.journal.accept({ log, expectedRevision: 0, payload }, tail)
    if (outcome.kind === 'accepted') {
      ports.accepted.remember(log, { payload, revision: outcome.revision })
      return answer
    }
    if (outcome.kind === 'task_exists') {
      const { state } = await loadTask(log, ports)
      if (canonicalJson(state.submitted?.request) === canonicalJson(task)) return answer
      throw new BeaverError('conflict', `The task id ${log.task} is taken by another request. Use another id, or none.`)
    }
  }
  throw new BeaverError('conflict', `The session ${log.session} is too busy: its order changed ${tailTriesMax} times while the task was accepted. Try again.`)
}

async function validated(request: z.output<typeof submitRequest>, ports: IntakePorts): Promise<TaskRequest> {
  const problems: Problem[] = []
  if (request.task.trim() === '') throw refuse('invalid_arguments', 'task', 'The task is empty: say what to do.')
  const workspace = request.workspace ?? ports.workspaceDefault
  if (!isAbsolute(workspace)) throw refuse('workspace_missing', 'workspace', `The workspace ${JSON.stringify(workspace)} must be an absolute path.`)
  const found = await stat(workspace).catch(() => null)
  if (found === null) throw refuse('workspace_missing', 'workspace', `The folder ${workspace} does not exist. Name a folder that does.`)
  if (!found.isDirectory()) throw refuse('workspace_missing', 'workspace', `${workspace} is a file. Name a folder.`)
  if (request.skill !== undefined && !ports.skillNames.includes(request.skill)) {
    const known = ports.skillNames.length === 0 ? 'none is loaded' : `loaded: ${ports.skillNames.join(', ')}`
    throw refuse('unknown_skill', 'skill', `There is no skill ${JSON.stringify(request.skill)} (${known}).`)
  }
  return { text: request.task, workspace, skill: request.skill ?? null, source: request.source ?? 'nats' }

  function refuse(code: 'invalid_arguments' | 'workspace_missing' | 'unknown_skill', path: string, message: string): BeaverError {
    problems.push({ path, message })
    return new BeaverError(code, message, { problems })
  }
}
