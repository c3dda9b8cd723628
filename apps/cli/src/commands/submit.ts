// `beaver submit`: submits a task and prints its id.
import { commandName } from '../command-name.ts'
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { findSystem } from '../system/find-system.ts'
import { readTask, submitTask, type TaskOptions } from './task-input.ts'

export async function submit(
  task: string | undefined,
  options: TaskOptions & { readonly json?: true; readonly input?: boolean },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  const request = await readTask(task, options)
  await using connection = await connect(
    findSystem(config, request.user_id === undefined ? 'client' : 'operator'),
  )
  const submitted = await submitTask(
    connection,
    options.input === false ? { ...request, approvals: 'refuse' } : request,
  )
  if (options.json === true) screen.json(submitted)
  else {
    screen.print(submitted.task_id)
    if (screen.interactive)
      screen.print(screen.style.dim(`Follow it: ${commandName()} watch ${submitted.task_id}`))
  }
  return 0
}
