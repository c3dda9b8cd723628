// The daemon as a process. `beaver up` starts it; by hand: `NATS_URL=… node
// apps/daemon/src/main.ts`. A daemon's start is a pause of its tasks after a crash, so what takes long
// goes on side by side: the worker threads load their modules while this thread loads its own, and compiled
// code is kept for the next start (docs/decisions/0029).
import { enableCompileCache } from 'node:module'
import { collectGarbageOfStart, setV8Flags } from '@beaver/platform/v8-flags'

const { env } = process
// The names are those of core's `optimisations`, which is not loaded yet.
if (!(env['BEAVER_SWITCH_OFF'] ?? '').split(',').includes('v8_flags')) setV8Flags()
// Where NODE_COMPILE_CACHE names no folder, the system's folder for temporary files.
enableCompileCache()

const [{ BeaverError, switchOff }, { loadConfig, requireTrust, runAsChild, stderrLogger }] =
  await Promise.all([import('@beaver/core'), import('@beaver/platform')])

switchOff(env['BEAVER_SWITCH_OFF'])

/** What a daemon needs to end when the tasks it drained are over. */
const stopMs = 4_500
/** A daemon whose main thread is silent for so long has lost its tasks to others. */
const blockedMsMax = 30_000

/**
 * A spare waits until its parent tells it to take the place of the daemon that died. It ends when its parent
 * is gone, or on a signal.
 */
function begun(): Promise<void> {
  for (const end of ['disconnect', 'SIGTERM', 'SIGINT']) process.once(end, left)
  collectGarbageOfStart()
  return new Promise((resolve) =>
    process.once('message', () => {
      for (const end of ['disconnect', 'SIGTERM', 'SIGINT']) process.off(end, left)
      resolve()
    }),
  )
}

const left = (): never => process.exit(0)

await runAsChild('daemon', async () => {
  const config = loadConfig()
  requireTrust(config.trust)
  if (config.nats_url === undefined)
    throw new BeaverError(
      'invalid_configuration',
      'The daemon needs a NATS server. Set NATS_URL, or run "beaver up", which starts everything.',
    )
  const { daemonThreads } = await import('@beaver/daemon/threads')
  const threads = daemonThreads(config)
  const { startDaemon } = await import('@beaver/daemon')
  if (env['BEAVER_SPARE'] === '1') await begun()
  const logger = stderrLogger({ level: config.log.level, secrets: config.secrets })
  const daemon = await startDaemon(config, config.nats_url, { logger, threads })
  const stopMsMax = config.daemon.drain_ms + stopMs
  return { ...daemon, logger, stopMsMax, blockedMsMax: Math.min(stopMsMax, blockedMsMax) }
})
