// `beaver steer`: gives a text to the root agent of a task. When the command ends, the text is in the
// journal.
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { findSystem } from '../system/find-system.ts'
import { findTask } from './find-task.ts'

export async function steer(
  typed: string,
  text: string,
  options: { readonly requestId?: string; readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  const { taskId } = await findTask(connection, typed)
  const steered = await connection.client.steer(taskId, text, { requestId: options.requestId })
  if (options.json === true) screen.json(steered)
  else screen.print(`Steered: ${taskId}. The agent reads the text before its next request to the model.`)
  return 0
}
