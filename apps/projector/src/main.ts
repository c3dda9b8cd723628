// The projector as a process. `beaver up` starts it; by hand: `NATS_URL=… node apps/projector/src/main.ts`.
import { BeaverError, switchOff } from '@beaver/core'
import { loadConfig, requireTrust, runAsChild, stderrLogger, systemKeysLeftOut } from '@beaver/platform'
import { startProjector } from '@beaver/projector'

/** Nothing is lost: what was not applied is read again. */
const stopMsMax = 4_500

switchOff(process.env['BEAVER_SWITCH_OFF'])
await runAsChild('projector', async () => {
  const config = loadConfig()
  if (systemKeysLeftOut(config.trust).length > 0) requireTrust(config.trust)
  if (config.nats_url === undefined)
    throw new BeaverError(
      'invalid_configuration',
      'The projector needs a NATS server. Set NATS_URL, or run "beaver up", which starts everything.',
    )
  const logger = stderrLogger({ level: config.log.level, secrets: config.secrets })
  return { ...(await startProjector(config, config.nats_url, { logger })), logger, stopMsMax }
})
