// The states of a task that a daemon has claimed.
//
//   running ─root.ended─▶ finishing ─finished─▶ ended
//   running ─suspend─▶ suspending ─suspended─▶ suspended
//   running ─release─▶ releasing ─released─▶ released
//   any ─fenced─▶ lost      any ─given.up─▶ ended
//
// Four states are final: `ended` (the journal holds the terminal event), `suspended` (the task only waits,
// and the daemon holds nothing of it), `released` (it was handed over) and `lost` (another daemon owns it, or
// this daemon cannot go on). The entry action of a state is its effect. Effects come with the input and take
// what they need from the context.
import type { LoopEnd } from '@beaver/agent'
import type { DomainEvent } from '@beaver/core'
import { assign, setup } from 'xstate'
import type { Suspension } from './suspension.ts'

type TaskMachineEvent =
  | { readonly type: 'root.ended'; readonly end: LoopEnd; readonly terminal: DomainEvent | null }
  /** The terminal event stands in the journal. */
  | { readonly type: 'finished'; readonly terminal: DomainEvent }
  | { readonly type: 'suspend'; readonly wait: Suspension }
  | { readonly type: 'suspended' }
  | { readonly type: 'release'; readonly reason: string }
  | { readonly type: 'released' }
  | { readonly type: 'given.up'; readonly terminal: DomainEvent }
  | { readonly type: 'cancel'; readonly reason: string }
  | { readonly type: 'fenced' }

/** What entering a state begins. */
export interface TaskEffects {
  run(): void
  /** @param terminal the terminal event, when it was written with the root's end */
  finish(end: LoopEnd, terminal: DomainEvent | null): void
  suspend(wait: Suspension): void
  release(reason: string): void
}

export interface TaskContext {
  readonly effects: TaskEffects
  /** Why it is to be cancelled. */
  readonly cancelReason: string | null
  /** The terminal event, once it is decided. */
  readonly terminal: DomainEvent | null
}

export const taskMachine = setup({
  types: {} as {
    context: TaskContext
    events: TaskMachineEvent
    input: Pick<TaskContext, 'effects' | 'cancelReason'>
  },
  actions: {
    run: ({ context }) => context.effects.run(),
    finish: ({ context, event }) =>
      event.type === 'root.ended' && context.effects.finish(event.end, event.terminal),
    suspend: ({ context, event }) => event.type === 'suspend' && context.effects.suspend(event.wait),
    release: ({ context, event }) => event.type === 'release' && context.effects.release(event.reason),
    keepReason: assign(({ context, event }) =>
      event.type === 'cancel' ? { cancelReason: context.cancelReason ?? event.reason } : {},
    ),
    keepEnd: assign(({ event }) => ('terminal' in event ? { terminal: event.terminal } : {})),
  },
}).createMachine({
  id: 'TaskSupervisor',
  context: ({ input }) => ({ ...input, terminal: null }),
  initial: 'running',
  on: {
    'given.up': { target: '.ended', actions: 'keepEnd' },
    fenced: '.lost',
    cancel: { actions: 'keepReason' },
  },
  states: {
    running: {
      entry: 'run',
      on: {
        'root.ended': { target: 'finishing', actions: 'keepEnd' },
        suspend: 'suspending',
        release: 'releasing',
      },
    },
    finishing: { entry: 'finish', on: { finished: { target: 'ended', actions: 'keepEnd' } } },
    suspending: { entry: 'suspend', on: { suspended: 'suspended', released: 'released' } },
    releasing: { entry: 'release', on: { released: 'released' } },
    ended: { type: 'final' },
    suspended: { type: 'final' },
    released: { type: 'final' },
    lost: { type: 'final' },
  },
})

/** `overtaken`: another daemon owns the task now; it is not for this one to give it back. */
export type TaskOutcome = 'ended' | 'suspended' | 'released' | 'lost' | 'overtaken'
