// Finds a system for one task: the one that runs in this home, the configured server, or one that is started
// for this task. A system that was running already is left as it was.
import { BeaverError } from '@beaver/core'
import { roleLogin } from '@beaver/nats'
import { type Config, HomeInUse } from '@beaver/platform'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../connection.ts'
import { type FoundSystem, loginAt, lookForSystem } from './find-system.ts'
import { startSystem, type System, type SystemStatus } from './start-system.ts'

export interface BorrowedSystem {
  readonly found: FoundSystem
  /** The system if it was started here. The borrower stops it. */
  readonly own: System | null
}

export interface BorrowOptions {
  readonly signal: AbortSignal
  /** Called before a system is started. */
  readonly onStart: () => void
  /** Receives a problem in one sentence, for a person. */
  readonly onTrouble: (text: string) => void
}

const otherStartMsMax = 30_000

export async function borrowSystem(config: Config, options: BorrowOptions): Promise<BorrowedSystem> {
  const found = lookForSystem(config)
  if (found !== null && (found.pid !== null || (await hasDaemon(found)))) return { found, own: null }
  options.onStart()
  try {
    const own = await startSystem(config, {
      signal: options.signal,
      onStatus: (status) => tellTrouble(status, options.onTrouble),
    })
    return {
      found: {
        url: own.natsUrl,
        login: own.embedded ? loginAt(config.home) : roleLogin(config.natsLogin, 'client'),
        namespace: config.namespace,
        tenant: config.tenant,
        pid: process.pid,
        keysFolder: config.keysFolder,
      },
      own,
    }
  } catch (error) {
    if (!(error instanceof HomeInUse)) throw error
    return { found: await startingElsewhere(config, options.signal, error), own: null }
  }
}

/** @throws {BeaverError} `unreachable`, `server_too_old` */
async function hasDaemon(found: FoundSystem): Promise<boolean> {
  await using connection = await connect(found)
  try {
    await connection.daemonStatus()
    return true
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'no_daemon') return false
    throw error
  }
}

/** Another process is starting a system in this home. This waits until that system is up. */
async function startingElsewhere(config: Config, signal: AbortSignal, busy: HomeInUse): Promise<FoundSystem> {
  for (const deadline = Date.now() + otherStartMsMax; Date.now() < deadline && !signal.aborted;) {
    const found = lookForSystem(config)
    if (found !== null) return found
    await sleep(100)
  }
  throw busy
}

function tellTrouble(status: SystemStatus, tell: (text: string) => void): void {
  if (status.kind === 'died')
    tell(`The ${status.name} died (${status.reason}). It starts again in ${status.pauseMs / 1000} s.`)
  else if (status.kind === 'home') tell(status.text)
  else if (status.kind === 'ready' && status.restarted)
    tell(`The ${status.name} runs again (process ${status.pid}).`)
}
