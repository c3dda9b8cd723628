// The gateway as a process. `beaver up` starts it, unless `gateway.enabled` is false; by hand: `beaver gateway`.
// It serves the pages of the console, which the set-up has built.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BeaverError } from '@beaver/core'
import { startGateway } from '@beaver/gateway'
import { loadConfig, requireTrust, runAsChild, stderrLogger, systemKeysLeftOut } from '@beaver/platform'

await runAsChild('gateway', async () => {
  const config = loadConfig()
  if (systemKeysLeftOut(config.trust).length > 0) requireTrust(config.trust)
  if (config.nats_url === undefined)
    throw new BeaverError(
      'invalid_configuration',
      'The gateway needs a NATS server. Set NATS_URL, or run "beaver gateway", which finds the running system.',
    )
  const consoleFolder = dirname(fileURLToPath(import.meta.resolve('@beaver/console-app/web/index.html')))
  const logger = stderrLogger({ level: config.log.level, secrets: config.secrets })
  return {
    ...(await startGateway(
      config,
      { url: config.nats_url, login: config.natsLogin },
      { logger, consoleFolder },
    )),
    logger,
  }
})
