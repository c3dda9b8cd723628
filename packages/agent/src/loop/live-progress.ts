// Passes on how far a call is while its tool runs, to the people who follow the task. newest-progress.ts
// decides how often. An update is bounded and contains no secret.
import { type Clock, type LiveProgress, maskSecrets } from '@beaver/core'
import { type CallProgress, newestProgress } from '../tools/newest-progress.ts'

const messageCharsMax = 200
/**
 * More of a message is not looked at. It is so much more than is shown that no secret is cut in what is
 * shown.
 */
const readCharsMax = 20_000

/**
 * What the tool of a call tells its progress by.
 *
 * @param send passes an update on
 * @example
 * import { systemClock } from '@beaver/core'
 *
 * const sent: string[] = []
 * const call = callProgress(systemClock, ({ progress, total }) => void sent.push(`${progress} of ${total}`))
 * call.tell({ progress: 1, total: 4 })
 * call.end()
 * sent // => ['1 of 4']
 */
export function callProgress(
  clock: Clock,
  send: (update: Pick<LiveProgress, 'progress' | 'total' | 'message'>) => void,
): CallProgress {
  return newestProgress(clock, ({ progress, total, message }) => {
    const text =
      typeof message === 'string'
        ? maskSecrets(message.slice(0, readCharsMax)).trim().slice(0, messageCharsMax).toWellFormed()
        : ''
    send({
      progress,
      total: Number.isFinite(total) ? (total as number) : null,
      message: text === '' ? null : text,
    })
  })
}
