// Campaigns that once found a fault. `pnpm test:faults --known` runs each of them again.
import type { FaultKind } from './plan.ts'

export interface KnownSeed {
  readonly seed: number
  readonly kills?: number
  readonly minutes?: number
  readonly daemons?: number
  /** `daemon.lease_ms`. */
  readonly lease?: number
  readonly only?: readonly FaultKind[]
  /** What it found. */
  readonly found: string
}

export const knownSeeds: readonly KnownSeed[] = [
  {
    seed: 1,
    kills: 3,
    only: ['daemon_kill'],
    found:
      'One id asked for in two sessions at the same moment was two tasks, and the effects of its tools happened twice.',
  },
  {
    seed: 40,
    kills: 40,
    found:
      'Tasks on a thread that a tool blocked never ended; a provider outage of seconds failed tasks for good; a bad tool failed its neighbours; a one-way line held tasks up for 23 s.',
  },
  {
    seed: 7,
    minutes: 0.7,
    only: ['daemon_kill', 'max_payload'],
    found:
      'A task whose acceptance was too large for the server got a log all the same, which began with its end.',
  },
  {
    seed: 77,
    kills: 20,
    found:
      'Of two daemons that accepted the same task at one moment, the one whose write was too large for the server ended the task of the other. Not each run finds it.',
  },
  {
    seed: 12,
    minutes: 1,
    daemons: 2,
    only: ['daemon_freeze'],
    found: 'A blob whose last answer came after a stop lost its chunks: its task could never be read again.',
  },
  {
    seed: 3,
    minutes: 1,
    daemons: 2,
    lease: 1_000,
    only: ['daemon_kill', 'daemon_freeze', 'link_resets', 'nats_kill'],
    found:
      'A daemon that was stopped between its claim and its first question asked for answers that another daemon had by then.',
  },
  {
    seed: 41,
    kills: 15,
    only: ['daemon_kill', 'nats_kill', 'daemon_freeze'],
    found: 'Tasks waited for a lease after each kill: the next event took 16 s under load.',
  },
]
