// A child's tie to the process that started it: says when it is ready, and ends when it is told to or when the parent is gone.
// Started by hand, without a parent, it says the same on stderr and ends on SIGTERM or SIGINT.
import { BeaverError, messageOf } from '@beaver/core'
import { scheduleAsBatch } from './scheduling.ts'

const stopMsMax = 60_000

/** Schedules this process as batch, runs `start`, tells the parent, and calls the `stop` it gives once, at the end; then the process exits. */
export async function runAsChild(
  name: string,
  start: () => Promise<{ info: Record<string, unknown>; stop: () => Promise<void>; failed: Promise<unknown> }>,
): Promise<void> {
  const { promise: ending, resolve: end } = Promise.withResolvers<number>()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(0))
  process.on('disconnect', () => end(0))
  let stop: () => Promise<void> = async () => {}
  try {
    await scheduleAsBatch(process.pid) // before `start` makes threads
    const started = await start()
    stop = started.stop
    started.failed.catch((error: unknown) => {
      process.stderr.write(`${name}: ${messageOf(error)}\n`)
      end(1)
    })
    tell({ kind: 'ready', ...started.info }, `${name}: ready ${JSON.stringify(started.info)}`)
  } catch (error) {
    tell({ kind: 'failed', code: error instanceof BeaverError ? error.code : 'internal', message: messageOf(error) }, `${name}: ${messageOf(error)}`)
    end(error instanceof BeaverError ? 3 : 1)
  }
  const code = await ending
  // A stop that hangs must not leave an orphan.
  setTimeout(() => {
    process.stderr.write(`${name}: did not stop within ${stopMsMax / 1000} s and was ended\n`)
    process.exit(1)
  }, stopMsMax).unref()
  await stop().catch((error: unknown) => process.stderr.write(`${name}: while stopping: ${messageOf(error)}\n`))
  process.exit(code)
}

function tell(message: Record<string, unknown>, line: string): void {
  if (process.send !== undefined && process.connected) process.send(message)
  process.stderr.write(`${line}\n`)
}
