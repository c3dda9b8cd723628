// `beaver acp`: an agent for editors that speak ACP, on stdin and stdout. It runs no task itself: a daemon
// does. stdout carries only the protocol, and messages go to stderr. The command ends when the editor is gone
// or on a signal. Its tasks go on.
import { readFileSync } from 'node:fs'
import { serveAcp } from '@beaver/acp'
import { editorSystem } from '../acp/editor-system.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { oneLine } from '../text/plain-text.ts'

export interface AcpOptions {
  readonly profile?: string
  readonly user?: string
}

export async function acp({ profile, user }: AcpOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  using interrupts = listenForInterrupts()
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const serving = serveAcp(editorSystem(config, { onBehalf: user !== undefined }), {
    input: process.stdin,
    output: process.stdout,
    version,
    settings: { profile, userId: user, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
    log: (line) => screen.warn(oneLine(line)),
  })
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<void>()
  interrupts.asked.addEventListener('abort', () => interrupt(), { once: true })
  interrupts.forced.addEventListener('abort', () => process.exit(interrupts.exitCode))
  await Promise.race([serving.closed, interrupted])
  await serving.close()
  return 0
}
