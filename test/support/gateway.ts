// The gateway as it is: a child process of its own.
import { spawn } from 'node:child_process'
import { compileCache } from './compile-cache.ts'
import { until } from '@beaver/testing'

export interface GatewayProcess {
  readonly url: string
  readonly exited: Promise<unknown>
  kill(signal: NodeJS.Signals): void
}

const main = new URL('../../apps/gateway/src/main.ts', import.meta.url).pathname

/** Starts a gateway and waits until it is ready. It ends with this process, if nobody ends it before. */
export async function gatewayProcess({
  cwd,
  env,
}: {
  cwd: string
  env: Record<string, string>
}): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [main], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', BEAVER_TRUST: '1', ...compileCache, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  let url = ''
  child.on('message', (message: { kind?: string; url?: string }) => {
    if (message.kind === 'ready') url = message.url ?? ''
  })
  await until('the gateway is ready', () => url !== '' || child.exitCode !== null, {
    withinMs: 60_000,
    everyMs: 5,
  })
  if (url === '') throw new Error(`The gateway ended before it was ready:\n${stderr}`)
  return { url, exited, kill: (signal) => void child.kill(signal) }
}
