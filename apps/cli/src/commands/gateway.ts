// `beaver gateway`: runs the HTTP interface of a running system in the foreground, until Ctrl-C or until the
// system has ended.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BeaverError } from '@beaver/core'
import { startGateway } from '@beaver/gateway'
import { type Config, stderrLogger } from '@beaver/platform'
import { commandName } from '../command-name.ts'
import { type GlobalOptions, workingContextOf } from '../context.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { findSystem, type FoundSystem, hasEnded } from '../system/find-system.ts'
import { tokenAdvice, withoutTokens } from '../text/token-advice.ts'

export interface GatewayOptions {
  readonly host?: string
  readonly port?: number
  readonly json?: true
}

export async function gateway({ host, port, json }: GatewayOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = await workingContextOf(globals, { ask: true })
  const found = findSystem(config, 'gateway')
  const settings = {
    ...config.gateway,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
  }
  using interrupts = listenForInterrupts()
  const logger = stderrLogger({ level: config.log.level, secrets: config.secrets })
  const running = await startGateway(
    { ...config, namespace: found.namespace, tenant: found.tenant, gateway: settings },
    found,
    {
      logger,
      consoleFolder: dirname(fileURLToPath(import.meta.resolve('@beaver/console-app/web/index.html'))),
    },
  )
  try {
    const { url, tokens } = running.info
    if (json === true) screen.json({ url, tokens })
    else {
      screen.print(
        `${screen.symbols.done} Beaver answers at ${screen.style.cyan(url)} until Ctrl-C.`,
        `  ${url}/api/docs describes the interface.`,
        `  "${commandName()} console" prints a link that logs you in to the console.`,
      )
      if (tokens === 0)
        screen.warn(
          `There are no tokens yet, ${withoutTokens(Object.keys(settings.channels))}. ${tokenAdvice()}`,
        )
    }
    using system = watchSystem(found, config)
    const interrupted = new Promise<void>((resolve) =>
      interrupts.asked.addEventListener('abort', () => resolve(), { once: true }),
    )
    await Promise.race([interrupted, running.failed, system.ended])
  } finally {
    await running.stop()
  }
  return 0
}

const lookMs = 1_000

/**
 * Watches the system of this home. `ended` rejects when the system has ended: the next one listens at another
 * address, so this gateway would never find it.
 */
function watchSystem(found: FoundSystem, config: Config): Disposable & { readonly ended: Promise<never> } {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const timer = setInterval(() => {
    if (!hasEnded(found, config)) return
    reject(
      new BeaverError(
        'unreachable',
        `The system of ${config.home} has ended, and this gateway with it. Start both again. "beaver up" starts a gateway too, unless gateway.enabled is false.`,
      ),
    )
  }, lookMs)
  return { ended, [Symbol.dispose]: () => clearInterval(timer) }
}
