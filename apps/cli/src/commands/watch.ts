// `beaver watch`: follows an existing task from its beginning.
import { commandName } from '../command-name.ts'
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { followTask } from '../follow/follow-task.ts'
import { exitOf, mustFollowAs, presentTask, printEnd, taskLines } from '../follow/present-task.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { findSystem, hasEnded } from '../system/find-system.ts'
import { findTask } from './find-task.ts'

/** How long the journal is searched for a task that the projector does not know, in milliseconds. */
const unknownMsMax = 2_000

export async function watch(
  typed: string,
  options: { readonly json?: true; readonly quiet?: true; readonly deltas?: true },
  globals: GlobalOptions,
): Promise<number> {
  mustFollowAs(options)
  const { config, screen } = contextOf(globals)
  using interrupts = listenForInterrupts()
  const found = findSystem(config)
  await using connection = await connect(found)
  const { taskId, known } = await findTask(connection, typed)
  const json = options.json === true
  const quiet = options.quiet === true
  const present = presentTask(screen, {
    json: json ? taskLines : null,
    deltas: options.deltas === true,
    quiet,
    foot: 'Ctrl-C stops watching; the task goes on',
  })
  try {
    const followed = await followTask(connection, taskId, {
      signal: interrupts.asked,
      onEvent: present.onEvent,
      onLive: present.onLive ?? undefined,
      onNotice: present.onNotice,
      systemGone: () => hasEnded(found, config),
      ...(known ? {} : { firstEventMsMax: unknownMsMax }),
    })
    present.close()
    if (followed.kind === 'stopped') {
      screen.warn(
        `The task ${taskId} goes on. Follow it again: ${commandName()} watch ${taskId}   Cancel it: ${commandName()} cancel ${taskId}`,
      )
      return interrupts.exitCode
    }
    if (json) screen.jsonLine(taskLines.result(followed.end))
    else printEnd(screen, followed.end, present.view, { command: commandName(), quiet })
    return exitOf(followed.end)
  } catch (error) {
    present.close()
    throw error
  }
}
