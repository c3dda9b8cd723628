// The projector as a process. `beaver up` starts it; by hand: `NATS_URL=… node apps/projector/src/main.ts`.
import { loadConfig } from '@beaver/config'
import { BeaverError } from '@beaver/core'
import { runAsChild } from '@beaver/process'
import { startProjector } from './projector.ts'

await runAsChild('projector', async () => {
  const config = loadConfig()
  if (config.nats_url === undefined)
    throw new BeaverError('invalid_configuration', 'The projector needs a NATS server: set NATS_URL. ("beaver up" does it for you.)')
  return startProjector(config, config.nats_url)
})
