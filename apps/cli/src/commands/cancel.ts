// `beaver cancel`: requests the cancel of a task or of one node. When the command ends, the request is in the
// journal.
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { oneLine } from '../text/plain-text.ts'
import { findSystem } from '../system/find-system.ts'
import { findTask } from './find-task.ts'

export async function cancel(
  typed: string,
  options: { readonly reason: string; readonly node?: string; readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  const { taskId } = await findTask(connection, typed)
  const { node } = options
  await connection.client.cancel(taskId, options.reason, { nodeId: node })
  if (options.json === true) screen.json({ task_id: taskId, node_id: node ?? null })
  else screen.print(`Cancel requested: ${node === undefined ? '' : `node ${oneLine(node)} of `}${taskId}`)
  return 0
}
