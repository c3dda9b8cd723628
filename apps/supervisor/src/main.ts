// The supervisor daemon as a process. `beaver up` starts it; by hand: `NATS_URL=… node apps/supervisor/src/main.ts`.
import { setFlagsFromString } from 'node:v8'
import { loadConfig } from '@beaver/config'
import { BeaverError } from '@beaver/core'
import { runAsChild } from '@beaver/process'
import { startSupervisor } from './supervisor.ts'

// For the worker threads, which start later: their loops leave garbage behind and little else, and a small old space would be
// collected every second. This takes a fifth off what V8's helper threads spend.
setFlagsFromString('--initial-old-space-size=128')

await runAsChild('supervisor', async () => {
  const config = loadConfig()
  if (config.nats_url === undefined)
    throw new BeaverError('invalid_configuration', 'The supervisor needs a NATS server: set NATS_URL. ("beaver up" does it for you.)')
  return startSupervisor(config, config.nats_url)
})
