// The AgentLoop as a machine. It moves only on durable events, so a journal rebuilds it.
//
//   assembling ─user_message_added─▶ thinking ─assistant_message_added─▶ acting | finalizing
//   acting ─approval_requested | question_asked | client_call_requested | tool_result_recorded: every call without a result waits─▶ waiting_for_approval | waiting_for_answer | waiting_for_client
//   waiting_for_approval ─approval_granted | approval_denied─▶ acting | waiting_for_answer | waiting_for_client: the other calls wait for that
//   waiting_for_answer ─question_answered─▶ acting
//   waiting_for_approval | waiting_for_answer | waiting_for_client ─client_call_answered─▶ acting
//   acting | waiting_for_approval | waiting_for_answer | waiting_for_client ─last tool_result_recorded─▶ thinking
//   thinking ─provider_call_failed | context_compacted | context_summarized─▶ itself: the same call is still due
//   finalizing ─run_completed | run_failed─▶ completed | failed      finalizing ─user_message_added (steered) | output_rejected─▶ thinking
//   assembling ─tool_call_requested─▶ acting (a tool node)      thinking ─run_completed─▶ completed (its result is there)
//   any ─run_failed─▶ failed      any ─run_cancelled─▶ cancelled      any ─loop.resumed─▶ itself, its effect begins again
//
// An answer without calls is recorded in one entry with how the run ends. The run completes, or it fails
// because the answer is empty, cut off, refused, or forced when the iterations were used up
// (`max_tool_iterations_finalized`).
//
// The entry action of a state is its effect. Effects come with the input, so the machine is made once and its
// actors are cheap (`provide` would build the whole machine again for every loop). Core's `evolveRun` folds
// every event once, before its step, and the next state is the status that the fold gives the run. The
// machine adds only which events a state waits for. An event that no state waits for goes into the run of the
// next step, because a step of the machine costs more than a fold. `acting` and the three states that wait have one
// effect: it does what is due for each call. A call under way is not begun again.
import type { DataOf, DomainEvent } from '@beaver/core'
import { evolveRun, type RunState, type RunStatus } from '@beaver/core/fold'
import { assign, setup } from 'xstate'

/**
 * A step of the machine: a recorded event, with the run after it, or `loop.resumed`, which begins the effect
 * again. Make the first kind with `stepsOf`.
 */
export type LoopEvent =
  | {
      [T in DomainEvent['type']]: {
        readonly type: T
        readonly recorded: Extract<DomainEvent, { type: T }>
        readonly run: RunState
      }
    }[DomainEvent['type']]
  | { readonly type: 'loop.resumed' }

/** The effects that begin when a state is entered. */
export type LoopEffects = Readonly<Record<'assemble' | 'think' | 'act' | 'finalize', () => void>>

export interface LoopContext {
  readonly run: RunState
  /** The last recorded result of a tool, or `null`. The fold keeps its text, but not its code. */
  readonly lastResult: DataOf<'tool_result_recorded'> | null
  readonly effects: LoopEffects
}

type Waiting = 'waiting_for_approval' | 'waiting_for_answer' | 'waiting_for_client'

/** The step if the fold says that the run becomes this. */
const becomes = <Target extends Waiting | 'thinking' | 'acting'>(target: Target) =>
  ({ guard: { type: 'becomes', params: target }, target, actions: 'keepRun' }) as const

/** The steps of an event after which a run that acts may wait. */
const waitsFor = (...states: readonly Waiting[]) => [...states.map(becomes), { actions: 'keepRun' }] as const

/** The steps of an event after which a run that waits may act again, or wait for something else. */
const goesOn = (...states: readonly Waiting[]) =>
  [becomes('acting'), ...states.map(becomes), { actions: 'keepRun' }] as const

/** @internal: its type is of XState, which is bundled into the published package without types. */
export const loopMachine = setup({
  types: {} as { context: LoopContext; events: LoopEvent; input: LoopContext },
  actions: {
    keepRun: assign(({ event }) => {
      if (!('run' in event)) return {}
      const { run } = event
      return event.type === 'tool_result_recorded' ? { run, lastResult: event.recorded.data } : { run }
    }),
    assemble: ({ context }) => context.effects.assemble(),
    think: ({ context }) => context.effects.think(),
    act: ({ context }) => context.effects.act(),
    finalize: ({ context }) => context.effects.finalize(),
  },
  guards: {
    /** The fold says where the run goes. */
    becomes: ({ event }, status: RunStatus) => 'run' in event && event.run.status === status,
  },
}).createMachine({
  id: 'AgentLoop',
  context: ({ input }) => input,
  initial: 'assembling',
  on: {
    run_failed: { target: '.failed', actions: 'keepRun' },
    run_cancelled: { target: '.cancelled', actions: 'keepRun' },
    '*': { actions: 'keepRun' },
  },
  states: {
    assembling: {
      entry: 'assemble',
      on: {
        user_message_added: { target: 'thinking', actions: 'keepRun' },
        tool_call_requested: { target: 'acting', actions: 'keepRun' },
        'loop.resumed': { target: 'assembling', reenter: true },
      },
    },
    thinking: {
      entry: 'think',
      on: {
        assistant_message_added: [
          { guard: { type: 'becomes', params: 'acting' }, target: 'acting', actions: 'keepRun' },
          { target: 'finalizing', actions: 'keepRun' },
        ],
        run_completed: { target: 'completed', actions: 'keepRun' },
        'loop.resumed': { target: 'thinking', reenter: true },
      },
    },
    acting: {
      entry: 'act',
      on: {
        approval_requested: waitsFor('waiting_for_approval', 'waiting_for_answer'),
        question_asked: waitsFor('waiting_for_approval', 'waiting_for_answer'),
        client_call_requested: waitsFor('waiting_for_approval', 'waiting_for_answer', 'waiting_for_client'),
        tool_result_recorded: [
          becomes('thinking'),
          ...waitsFor('waiting_for_approval', 'waiting_for_answer', 'waiting_for_client'),
        ],
        'loop.resumed': { target: 'acting', reenter: true },
      },
    },
    waiting_for_approval: {
      entry: 'act',
      on: {
        approval_granted: goesOn('waiting_for_answer', 'waiting_for_client'),
        approval_denied: goesOn('waiting_for_answer', 'waiting_for_client'),
        question_answered: goesOn(),
        client_call_answered: goesOn(),
        tool_result_recorded: [becomes('thinking'), ...goesOn('waiting_for_answer', 'waiting_for_client')],
        'loop.resumed': { target: 'waiting_for_approval', reenter: true },
      },
    },
    waiting_for_answer: {
      entry: 'act',
      on: {
        question_answered: goesOn(),
        client_call_answered: goesOn(),
        tool_result_recorded: [becomes('thinking'), ...goesOn('waiting_for_client')],
        'loop.resumed': { target: 'waiting_for_answer', reenter: true },
      },
    },
    waiting_for_client: {
      entry: 'act',
      on: {
        client_call_answered: goesOn(),
        tool_result_recorded: [becomes('thinking'), ...goesOn()],
        'loop.resumed': { target: 'waiting_for_client', reenter: true },
      },
    },
    finalizing: {
      entry: 'finalize',
      on: {
        run_completed: { target: 'completed', actions: 'keepRun' },
        user_message_added: { target: 'thinking', actions: 'keepRun' },
        output_rejected: { target: 'thinking', actions: 'keepRun' },
        'loop.resumed': { target: 'finalizing', reenter: true },
      },
    },
    completed: { type: 'final' },
    failed: { type: 'final' },
    cancelled: { type: 'final' },
  },
})

const waitedFor: ReadonlySet<string> = new Set(loopMachine.events)

/**
 * The steps of the machine for events that were recorded together. An event that no state waits for has no
 * step of its own, unless it is the last.
 * @param run the run before them @param first the place of the first one in the log
 */
export function stepsOf(run: RunState, events: readonly DomainEvent[], first: number): LoopEvent[] {
  const steps: LoopEvent[] = []
  let after = run
  for (const [i, recorded] of events.entries()) {
    after = evolveRun(after, recorded, { taskseq: first + i })
    if (waitedFor.has(recorded.type) || i === events.length - 1)
      steps.push({ type: recorded.type, recorded, run: after } as LoopEvent)
  }
  return steps
}
