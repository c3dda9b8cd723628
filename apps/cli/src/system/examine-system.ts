// Examines the system that a command found. What is asked, and how long each part may take, is in
// packages/client; system-findings.ts decides what the answers mean.
import { examineSystem as examine, type SystemExamination } from '@beaver/client'
import { shownUrl } from '@beaver/nats'
import { connect } from '../connection.ts'
import type { FoundSystem } from './find-system.ts'

/** What a running system says about itself, and where a command found it. */
export interface SystemReport extends SystemExamination {
  readonly server: string
  /** The process id of `beaver up`; `null` if the system was not found by its home. */
  readonly pid: number | null
  /** The path of the embedded server's log. `null`: unknown. */
  readonly serverLog: string | null
}

/** @throws {BeaverError} `unreachable`, `server_too_old` */
export async function examineSystem(
  found: FoundSystem,
  options: { readonly verify?: boolean } = {},
): Promise<SystemReport> {
  await using connection = await connect(found, { daemonMs: 0 })
  return {
    ...(await examine(connection, options)),
    server: shownUrl(found.url),
    pid: found.pid,
    serverLog: found.serverLog ?? null,
  }
}
