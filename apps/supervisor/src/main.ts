// The supervisor daemon as a process. `beaver up` starts it; by hand: `NATS_URL=… node apps/supervisor/src/main.ts`.
// M1. A daemon's start is a pause of its tasks after a crash, so what takes long goes on side by side: the worker threads load
//     their modules while this thread loads its own, and compiled code is kept for the next start (docs/decisions/0029).
import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// For this thread and the worker threads, which start later. What a task leaves behind is garbage, and little else; V8 is kept from
// guessing otherwise. Once it has seen the objects of some place in the code survive, as they do while it warms up, it makes all
// further ones of that place old at once, and old garbage keeps young garbage alive (docs/decisions/0022).
setFlagsFromString('--no-allocation-site-pretenuring')
// A small old space would be collected every second.
setFlagsFromString('--initial-old-space-size=128')
// Where NODE_COMPILE_CACHE names no folder, the system's folder for temporary files.
enableCompileCache()

const [{ loadConfig, secretsOf }, { BeaverError }, { runAsChild, stderrLogger }] = await Promise.all([
  import('@beaver/config'),
  import('@beaver/core'),
  import('@beaver/process'),
])

/** What a daemon needs to end when the tasks it drained are over. */
const stopMs = 4_500
/** A daemon whose main thread is silent for so long has lost its tasks to others. */
const blockedMsMax = 30_000

await runAsChild('supervisor', async () => {
  const config = loadConfig()
  if (config.nats_url === undefined)
    throw new BeaverError('invalid_configuration', 'The supervisor needs a NATS server: set NATS_URL. ("beaver up" does it for you.)')
  const { daemonThreads } = await import('./daemon-threads.ts')
  const threads = daemonThreads(config)
  const { startSupervisor } = await import('./supervisor.ts')
  const logger = stderrLogger({ level: config.log.level, secrets: secretsOf(config, process.env) })
  const supervisor = await startSupervisor(config, config.nats_url, { logger, threads })
  const stopMsMax = config.daemon.drain_ms + stopMs
  return { ...supervisor, logger, stopMsMax, blockedMsMax: Math.min(stopMsMax, blockedMsMax) }
})
