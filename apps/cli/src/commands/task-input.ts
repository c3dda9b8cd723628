// What `run` and `submit` are given, checked before anything is started.
import { stat } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { resolve } from 'node:path'
import type { SubmitTask } from '@beaver/client'
import { BeaverError } from '@beaver/core'

export interface TaskOptions {
  readonly skill?: string
  readonly session?: string
  readonly workspace?: string
  readonly taskId?: string
}

/** @throws {BeaverError} `invalid_arguments` for an empty task, `workspace_missing` */
export async function readTask(task: string, options: TaskOptions): Promise<SubmitTask> {
  const text = task === '-' ? await textOf(process.stdin) : task
  if (text.trim() === '') {
    throw new BeaverError('invalid_arguments', 'The task is empty: say what to do, in quotes, such as beaver run "Report on this folder".', {
      problems: [{ path: 'task', message: 'must not be empty' }],
    })
  }
  const workspace = resolve(options.workspace ?? process.cwd())
  const found = await stat(workspace).catch(() => null)
  if (found?.isDirectory() !== true) {
    const what = found === null ? `The folder ${workspace} does not exist.` : `${workspace} is a file, not a folder.`
    throw new BeaverError('workspace_missing', `${what} Name a folder that exists with --workspace.`, { problems: [{ path: 'workspace', message: what }] })
  }
  return { task: text, workspace, skill: options.skill, session_id: options.session, task_id: options.taskId, source: 'cli' }
}
