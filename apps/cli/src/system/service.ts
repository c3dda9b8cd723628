// A part of the system as `beaver up` keeps it: a process with an id, a log and what it said when it was ready.
// How often it is started again belongs to core's table `supervisors`.
import type { RunningChild } from '@beaver/core'

export interface Service extends RunningChild {
  readonly pid: number
  /** What it said when it was ready. */
  readonly info: Readonly<Record<string, unknown>>
  kill(): void
}

export interface ServiceSpec {
  readonly name: string
  /** Where to read more. */
  readonly logFile: string
  start(signal: AbortSignal): Promise<Service>
}
