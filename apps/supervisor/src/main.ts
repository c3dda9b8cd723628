// The supervisor daemon as a process. `beaver up` starts it; by hand: `NATS_URL=… node apps/supervisor/src/main.ts`.
import { setFlagsFromString } from 'node:v8'
import { loadConfig } from '@beaver/config'
import { BeaverError } from '@beaver/core'
import { runAsChild } from '@beaver/process'
import { startSupervisor } from './supervisor.ts'

// For this thread and the worker threads, which start later. What a task leaves behind is garbage, and little else; V8 is kept from
// guessing otherwise. Once it has seen the objects of some place in the code survive, as they do while it warms up, it makes all
// further ones of that place old at once, and old garbage keeps young garbage alive (docs/decisions/0022).
setFlagsFromString('--no-allocation-site-pretenuring')
// A small old space would be collected every second.
setFlagsFromString('--initial-old-space-size=128')

await runAsChild('supervisor', async () => {
  const config = loadConfig()
  if (config.nats_url === undefined)
    throw new BeaverError('invalid_configuration', 'The supervisor needs a NATS server: set NATS_URL. ("beaver up" does it for you.)')
  return startSupervisor(config, config.nats_url)
})
