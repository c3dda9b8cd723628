// A part of the system that `beaver up` keeps alive: a process with an id, a log, and the report of its
// start. Core's table `supervisors` defines how often it is started again.
import type { RunningChild } from '@beaver/core'

export interface Service extends RunningChild {
  readonly pid: number
  /** What it reported when it was ready. */
  readonly info: Readonly<Record<string, unknown>>
  kill(): void
}

export interface ServiceSpec {
  readonly name: string
  /** The file with more details. */
  readonly logFile: string
  start(signal: AbortSignal): Promise<Service>
  /** Ends what it keeps for its next start. Absent: it keeps nothing. */
  release?(): void
}
