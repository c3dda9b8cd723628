// `beaver cancel`: asks for a cancel; the request is in the journal when this ends.
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { findSystem } from '../system/find-system.ts'
import { findTask } from './find-task.ts'

export async function cancel(typed: string, options: { readonly reason: string; readonly json?: true }, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  const { taskId } = await findTask(connection, typed)
  await connection.client.cancel(taskId, options.reason)
  if (options.json === true) screen.json({ task_id: taskId })
  else screen.print(`Cancel requested: ${taskId}`)
  return 0
}
