// `beaver gateway`: the HTTP interface of a running system, in the foreground, until Ctrl-C.
import { startGateway } from '@beaver/gateway'
import { stderrLogger } from '@beaver/platform'
import { type GlobalOptions, workingContextOf } from '../context.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { findSystem } from '../system/find-system.ts'
import { tokenAdvice } from '../text/token-advice.ts'

export interface GatewayOptions {
  readonly host?: string
  readonly port?: number
  readonly json?: true
}

export async function gateway({ host, port, json }: GatewayOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = await workingContextOf(globals, { ask: true })
  const found = findSystem(config, 'gateway')
  const settings = { ...config.gateway, ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) }
  using interrupts = listenForInterrupts()
  const logger = stderrLogger({ level: config.log.level, secrets: config.secrets })
  const running = await startGateway({ ...config, namespace: found.namespace, tenant: found.tenant, gateway: settings }, found, { logger })
  try {
    const { url, tokens } = running.info
    if (json === true) screen.json({ url, tokens })
    else {
      screen.print(`${screen.symbols.done} Beaver answers at ${screen.style.cyan(url)} until Ctrl-C.`, `  ${url}/api/openapi.json describes the interface.`)
      if (tokens === 0) screen.warn(`There are no tokens yet, so the gateway refuses every request. ${tokenAdvice()}`)
    }
    await Promise.race([new Promise<void>((resolve) => interrupts.asked.addEventListener('abort', () => resolve(), { once: true })), running.failed])
  } finally {
    await running.stop()
  }
  return 0
}
