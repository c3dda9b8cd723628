// What the effects of one loop work with.
import type { DataOf, DomainEvent } from '@beaver/core'
import type { RunState } from '@beaver/core/fold'
import type { Failure } from '@beaver/core/supervision'
import type { AskedProviders } from '../provider/provider-bundle.ts'
import type { Assembly } from './assembly.ts'
import type { LiveText } from './live-text.ts'
import type { LoopServices } from './loop-services.ts'
import type { CallNeeds, Granted, LoopHost, LoopSpec } from './loop-spec.ts'
import type { KnownInput } from '../provider/call-bound.ts'

export interface LoopWork {
  readonly spec: LoopSpec
  readonly services: LoopServices
  readonly host: LoopHost
  readonly signal: AbortSignal
  readonly assembly: Assembly
  /** The start of the run, recorded or about to be. */
  readonly start: DataOf<'run_started'>
  /** The files that the run's result is checked against. */
  readonly files: readonly string[]
  /** `null`: nobody follows. */
  readonly live: LiveText | null
  /** For each call that was made before it was recorded, the events of its future result. */
  readonly madeAhead: Map<string, Promise<readonly DomainEvent[]>>
  /** What is reserved for the next call of a model. Empty if nothing bounds the run. */
  readonly reservation: Reservation
  /** Whether the next call has its turn under the limits already. It returns `true` at most once. */
  takeAdmission(): boolean
  /** The run as the machine has it now. */
  run(): RunState
  /** The last recorded result of a tool, or `null`. */
  lastResult(): DataOf<'tool_result_recorded'> | null
  /** Makes events durable; then the machine moves by them. */
  record(events: readonly DomainEvent[]): Promise<void>
  /** Moves the machine by an event that is durable already. */
  receive(event: DomainEvent, taskseq: number): void
  /** Whether a tool of this name exists at all, even if this run does not have it. */
  isTool(name: string): boolean
}

/** What a call of a model needs at most. */
export type ModelCall = Extract<CallNeeds, { kind: 'model' }>

/** The loop changes it: it is what this thread knows, and the host has the record. */
export interface Reservation {
  /** The reservation that was written with the events that led to the call, and for which needs. */
  granted: Extract<Granted, { kind: 'granted' }> | null
  bound: ModelCall | null
  /** The last answered request, how many tokens it had, and the provider that counted them. */
  answered: (KnownInput & { readonly provider: string }) | null
  /** Why the run has to end. */
  refused: Failure | null
}

/** The providers of a run: of its model, or the main ones. `null`: this process does not have the model. */
export function providersOf({ services: { providers }, start }: LoopWork): AskedProviders | null {
  return start.model === undefined || start.model === 'main'
    ? providers
    : (providers.models?.get(start.model) ?? null)
}

/**
 * Must be awaited before a model or a tool is asked.
 *
 * @throws when the task belongs to another daemon by now
 */
export async function untilOurs({ host, signal }: LoopWork): Promise<void> {
  const asking = signal.aborted ? null : host.stillOurs()
  if (asking !== null) await asking
}
