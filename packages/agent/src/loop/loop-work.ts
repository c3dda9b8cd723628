// What the effects of one loop work with.
import type { DataOf, DomainEvent, RunState } from '@beaver/core'
import type { Assembly } from './assembly.ts'
import type { LiveText } from './live-text.ts'
import type { LoopServices } from './loop-services.ts'
import type { LoopHost, LoopSpec } from './loop-spec.ts'

export interface LoopWork {
  readonly spec: LoopSpec
  readonly services: LoopServices
  readonly host: LoopHost
  readonly signal: AbortSignal
  readonly assembly: Assembly
  /** As the run begins, or began. */
  readonly start: DataOf<'run_started'>
  /** The files the run's result is to be checked against. */
  readonly files: readonly string[]
  /** `null`: nobody follows. */
  readonly live: LiveText | null
  /** By call, the results to come of calls that were made before they were recorded. */
  readonly madeAhead: Map<string, Promise<DomainEvent>>
  /** Whether the next call has its turn under the limits already; `true` once at most. */
  takeAdmission(): boolean
  /** As the machine has it now. */
  run(): RunState
  /** The last result of a tool that is on record; `null`: there is none. */
  lastResult(): DataOf<'tool_result_recorded'> | null
  /** Makes events durable; then the machine moves by them. */
  record(events: readonly DomainEvent[]): Promise<void>
  /** The machine moves by an event that is durable already. */
  receive(event: DomainEvent, taskseq: number): void
  /** Any tool there is, whether this run has it or not. */
  isTool(name: string): boolean
}

/** Before a model or a tool is asked. @throws when the task is somebody else's by now */
export async function untilOurs({ host, signal }: LoopWork): Promise<void> {
  const asking = signal.aborted ? null : host.stillOurs?.()
  if (asking !== null && asking !== undefined) await asking
}
