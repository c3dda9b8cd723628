// The states of a team run.
//
//   stepping ─stepped─▶ watching ─node.ended | cancel | node.cancelled─▶ stepping … ─stepped, all ended─▶ ended
//
// Runs that end while a step is being written are kept in the context, for the next step. The first reason to
// stop counts.
import type { DomainEvent, Failure, NodeEnd } from '@beaver/core'
import { assign, setup } from 'xstate'

export type TeamEvent =
  | { readonly type: 'node.ended'; readonly ends: readonly NodeEnd[] }
  /** `failure`: the team is stopped by it; absent: somebody asked. */
  | { readonly type: 'cancel'; readonly reason: string; readonly failure?: Failure }
  /** A node that waits is to be cancelled. */
  | { readonly type: 'node.cancelled' }
  | { readonly type: 'stepped'; readonly events: readonly DomainEvent[] }

export interface TeamContext {
  /** Runs that ended since the last step. */
  readonly arrived: readonly NodeEnd[]
  /** Why it was first asked to stop. */
  readonly cancelReason: string | null
  /** What stopped it; `null`: nothing, or somebody who asked. */
  readonly stopped: Failure | null
  /** Something happened since the last step. */
  readonly dirty: boolean
  /** What entering `stepping` begins. */
  readonly step: (arrived: readonly NodeEnd[], cancelReason: string | null) => void
}

export const isTeamEnd = (type: DomainEvent['type']): boolean =>
  type === 'task_team_run_completed' || type === 'task_team_run_failed'

export const teamMachine = setup({
  types: {} as { context: TeamContext; events: TeamEvent; input: Pick<TeamContext, 'step'> },
  actions: {
    // Entered before `takeArrived` clears it: this step's share.
    step: ({ context }) => context.step(context.arrived, context.cancelReason),
    keep: assign(({ context, event }) =>
      event.type === 'node.ended' ? { arrived: [...context.arrived, ...event.ends], dirty: true } : {},
    ),
    noteCancel: assign(({ context, event }) =>
      event.type === 'cancel'
        ? {
            cancelReason: context.cancelReason ?? event.reason,
            stopped: context.stopped ?? event.failure ?? null,
            dirty: true,
          }
        : {},
    ),
    noteChange: assign({ dirty: true }),
    /** What had arrived is with the step that begins now. */
    takeArrived: assign({ arrived: [], dirty: false }),
  },
  guards: {
    teamEnded: ({ event }) => event.type === 'stepped' && event.events.some(({ type }) => isTeamEnd(type)),
    moreArrived: ({ context }) => context.dirty,
  },
}).createMachine({
  id: 'TeamSupervisor',
  context: ({ input }) => ({ arrived: [], cancelReason: null, stopped: null, dirty: false, ...input }),
  initial: 'stepping',
  states: {
    stepping: {
      entry: ['step', 'takeArrived'],
      on: {
        'node.ended': { actions: 'keep' },
        cancel: { actions: 'noteCancel' },
        'node.cancelled': { actions: 'noteChange' },
        stepped: [
          { guard: 'teamEnded', target: 'ended' },
          { guard: 'moreArrived', target: 'stepping', reenter: true },
          { target: 'watching' },
        ],
      },
    },
    watching: {
      on: {
        'node.ended': { target: 'stepping', actions: 'keep' },
        cancel: { target: 'stepping', actions: 'noteCancel' },
        'node.cancelled': { target: 'stepping' },
      },
    },
    ended: { type: 'final' },
  },
})
