// The supervisor daemon as a process. `beaver up` starts it; by hand: `NATS_URL=… node apps/supervisor/src/main.ts`.
import { loadConfig } from '@beaver/config'
import { BeaverError } from '@beaver/core'
import { runAsChild } from '@beaver/process'
import { startSupervisor } from './supervisor.ts'

await runAsChild('supervisor', async () => {
  const config = loadConfig()
  if (config.nats_url === undefined)
    throw new BeaverError('invalid_configuration', 'The supervisor needs a NATS server: set NATS_URL. ("beaver up" does it for you.)')
  return startSupervisor(config, config.nats_url)
})
