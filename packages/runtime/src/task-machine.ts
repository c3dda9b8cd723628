// The states of a task in the hands of a daemon.
//
//   claiming ─claimed─▶ running ─root.ended─▶ finishing ─finished─▶ ended
//   claiming ─predecessor.open─▶ parked ─recheck─▶ claiming        claiming ─over─▶ ended
//   claiming ─handed.on─▶ overtaken
//   running ─release─▶ releasing ─released─▶ released              any ─fenced─▶ lost, any ─given.up─▶ ended
//
// M1. Four states are final: `ended` (a terminal event stands in the journal), `released` (handed over), `lost` (another
//     daemon owns the task, or this one could not go on), `overtaken` (a living daemon drives it). M2. A state's entry action is
//     its effect; effects come with the input.
import type { LoopEnd } from '@beaver/agent'
import { setup } from 'xstate'

type TaskMachineEvent =
  | { readonly type: 'claimed' }
  | { readonly type: 'over' }
  | { readonly type: 'predecessor.open' }
  | { readonly type: 'recheck' }
  | { readonly type: 'handed.on' }
  | { readonly type: 'root.ended'; readonly end: LoopEnd }
  | { readonly type: 'finished' }
  | { readonly type: 'release'; readonly reason: string }
  | { readonly type: 'released' }
  | { readonly type: 'given.up' }
  | { readonly type: 'fenced' }

/** What entering a state begins. */
export interface TaskEffects {
  claim(): void
  run(): void
  finish(end: LoopEnd): void
  release(reason: string): void
}

export const taskMachine = setup({
  types: {} as { context: TaskEffects; events: TaskMachineEvent; input: TaskEffects },
  actions: {
    claim: ({ context }) => context.claim(),
    run: ({ context }) => context.run(),
    finish: ({ context, event: cause }) => cause.type === 'root.ended' && context.finish(cause.end),
    release: ({ context, event: cause }) => cause.type === 'release' && context.release(cause.reason),
  },
}).createMachine({
  id: 'TaskSupervisor',
  context: ({ input }) => input,
  initial: 'claiming',
  on: { 'given.up': '.ended', fenced: '.lost' },
  states: {
    claiming: { entry: 'claim', on: { claimed: 'running', over: 'ended', 'predecessor.open': 'parked', 'handed.on': 'overtaken', release: 'released' } },
    parked: { on: { recheck: 'claiming', release: 'released' } },
    running: { entry: 'run', on: { 'root.ended': 'finishing', release: 'releasing' } },
    finishing: { entry: 'finish', on: { finished: 'ended' } },
    releasing: { entry: 'release', on: { released: 'released' } },
    ended: { type: 'final' },
    released: { type: 'final' },
    lost: { type: 'final' },
    overtaken: { type: 'final' },
  },
})

/** `overtaken`: a daemon that lives drives the task now; it is not for this one to give it back. */
export type TaskOutcome = 'ended' | 'released' | 'lost' | 'overtaken'
