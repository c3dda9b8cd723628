// `beaver daemon`, `beaver projector`: one process of Beaver in the foreground, for containers and services.
// The command becomes the process, under the same id: the signals, the log and the exit code are those of the
// app, and the app begins with a fresh heap.
import { fileURLToPath } from 'node:url'
import { BeaverError } from '@beaver/core'
import type { GlobalOptions } from '../context.ts'

const entries = {
  daemon: () => import.meta.resolve('@beaver/daemon-app'),
  projector: () => import.meta.resolve('@beaver/projector-app'),
} as const

/**
 * Replaces this process by the app. It never returns.
 *
 * @throws {BeaverError} `start_failed` if the operating system cannot replace a process
 */
export function runProcess(name: keyof typeof entries, globals: GlobalOptions): Promise<never> {
  if (process.execve === undefined)
    throw new BeaverError('start_failed', `"beaver ${name}" needs Linux or macOS. Use "beaver up".`)
  return process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, fileURLToPath(entries[name]())],
    { ...environmentNow(), ...environmentOf(globals) },
  )
}

const environmentNow = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

/** The variables that give an app the options of every command. */
function environmentOf({ natsUrl, home, config, trust }: GlobalOptions): Record<string, string> {
  return {
    ...(natsUrl === undefined ? {} : { NATS_URL: natsUrl }),
    ...(home === undefined ? {} : { BEAVER_HOME: home }),
    ...(config === undefined ? {} : { BEAVER_CONFIG: config }),
    ...(trust === undefined ? {} : { BEAVER_TRUST: trust ? '1' : '0' }),
  }
}
