// The AgentLoop as a machine. It moves only on durable events, so a journal rebuilds it.
//
//   assembling ─user_message_added─▶ thinking ─assistant_message_added─▶ acting | finalizing
//   acting ─approval_requested | question_asked | tool_result_recorded: every call without a result waits─▶ waiting_for_approval | waiting_for_answer
//   waiting_for_approval ─approval_granted | approval_denied─▶ acting | waiting_for_answer: the other calls asked a person
//   waiting_for_answer ─question_answered─▶ acting
//   acting | waiting_for_approval | waiting_for_answer ─last tool_result_recorded─▶ thinking
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
// every event, and the next state is the status that the fold gives the run. The machine adds only which
// events a state waits for. An event that no state waits for may come with the next one, in `before`, because
// a step of the machine costs more than a fold. `acting`, `waiting_for_approval` and `waiting_for_answer`
// have one effect: it does what is due for each call. A call under way is not begun again.
import { type DataOf, type DomainEvent, evolveRun, type RunState, type RunStatus } from '@beaver/core'
import { assign, setup } from 'xstate'

/** An event with its place in the log. */
interface Placed<Event extends DomainEvent = DomainEvent> {
  readonly recorded: Event
  readonly taskseq: number
}
type Recorded<T extends DomainEvent['type']> = Placed<Extract<DomainEvent, { type: T }>> & {
  readonly type: T
  readonly before?: readonly Placed[]
}
/**
 * An event of the loop machine: a recorded event with its place in the log, or `loop.resumed`, which begins
 * the effect again.
 */
export type LoopEvent =
  | { [T in DomainEvent['type']]: Recorded<T> }[DomainEvent['type']]
  | { readonly type: 'loop.resumed' }

/** The effects that begin when a state is entered. */
export type LoopEffects = Readonly<Record<'assemble' | 'think' | 'act' | 'finalize', () => void>>

export interface LoopContext {
  readonly run: RunState
  /** The last recorded result of a tool, or `null`. The fold keeps its text, but not its code. */
  readonly lastResult: DataOf<'tool_result_recorded'> | null
  readonly effects: LoopEffects
}

const folded = (run: RunState, { recorded, ...at }: Placed): RunState => evolveRun(run, recorded, at)

/** The run after a step of the machine. */
const after = (run: RunState, step: Exclude<LoopEvent, { type: 'loop.resumed' }>): RunState =>
  [...(step.before ?? []), step].reduce(folded, run)

type Waiting = 'waiting_for_approval' | 'waiting_for_answer'

/** The step if the fold says that the run becomes this. */
const becomes = <Target extends Waiting | 'thinking' | 'acting'>(target: Target) =>
  ({ guard: { type: 'becomes', params: target }, target, actions: 'fold' }) as const

/** The steps of an event after which a run that acts may wait. */
const waitsFor = (...states: readonly Waiting[]) => [...states.map(becomes), { actions: 'fold' }] as const

/** The steps of an event after which a run that waits may act again, or wait for something else. */
const goesOn = (...states: readonly Waiting[]) =>
  [becomes('acting'), ...states.map(becomes), { actions: 'fold' }] as const

export const loopMachine = setup({
  types: {} as { context: LoopContext; events: LoopEvent; input: LoopContext },
  actions: {
    fold: assign(({ context, event }) => {
      if (!('recorded' in event)) return {}
      const run = after(context.run, event)
      return event.type === 'tool_result_recorded' ? { run, lastResult: event.recorded.data } : { run }
    }),
    assemble: ({ context }) => context.effects.assemble(),
    think: ({ context }) => context.effects.think(),
    act: ({ context }) => context.effects.act(),
    finalize: ({ context }) => context.effects.finalize(),
  },
  guards: {
    /** The fold says where the run goes. */
    becomes: ({ context, event }, status: RunStatus) =>
      'recorded' in event && after(context.run, event).status === status,
  },
}).createMachine({
  id: 'AgentLoop',
  context: ({ input }) => input,
  initial: 'assembling',
  on: {
    run_failed: { target: '.failed', actions: 'fold' },
    run_cancelled: { target: '.cancelled', actions: 'fold' },
    '*': { actions: 'fold' },
  },
  states: {
    assembling: {
      entry: 'assemble',
      on: {
        user_message_added: { target: 'thinking', actions: 'fold' },
        tool_call_requested: { target: 'acting', actions: 'fold' },
        'loop.resumed': { target: 'assembling', reenter: true },
      },
    },
    thinking: {
      entry: 'think',
      on: {
        assistant_message_added: [
          { guard: { type: 'becomes', params: 'acting' }, target: 'acting', actions: 'fold' },
          { target: 'finalizing', actions: 'fold' },
        ],
        run_completed: { target: 'completed', actions: 'fold' },
        'loop.resumed': { target: 'thinking', reenter: true },
      },
    },
    acting: {
      entry: 'act',
      on: {
        approval_requested: waitsFor('waiting_for_approval', 'waiting_for_answer'),
        question_asked: waitsFor('waiting_for_approval', 'waiting_for_answer'),
        tool_result_recorded: [
          becomes('thinking'),
          ...waitsFor('waiting_for_approval', 'waiting_for_answer'),
        ],
        'loop.resumed': { target: 'acting', reenter: true },
      },
    },
    waiting_for_approval: {
      entry: 'act',
      on: {
        approval_granted: goesOn('waiting_for_answer'),
        approval_denied: goesOn('waiting_for_answer'),
        question_answered: goesOn(),
        tool_result_recorded: [becomes('thinking'), ...goesOn('waiting_for_answer')],
        'loop.resumed': { target: 'waiting_for_approval', reenter: true },
      },
    },
    waiting_for_answer: {
      entry: 'act',
      on: {
        question_answered: goesOn(),
        tool_result_recorded: [becomes('thinking'), ...goesOn()],
        'loop.resumed': { target: 'waiting_for_answer', reenter: true },
      },
    },
    finalizing: {
      entry: 'finalize',
      on: {
        run_completed: { target: 'completed', actions: 'fold' },
        user_message_added: { target: 'thinking', actions: 'fold' },
        output_rejected: { target: 'thinking', actions: 'fold' },
        'loop.resumed': { target: 'finalizing', reenter: true },
      },
    },
    completed: { type: 'final' },
    failed: { type: 'final' },
    cancelled: { type: 'final' },
  },
})

const waitedFor: ReadonlySet<string> = new Set(loopMachine.events)

/** The steps of the machine for events that were recorded together. The first one is at `first`. */
export function stepsOf(events: readonly DomainEvent[], first: number): LoopEvent[] {
  const steps: LoopEvent[] = []
  let before: Placed[] = []
  for (const [i, recorded] of events.entries()) {
    const placed = { recorded, taskseq: first + i }
    if (!waitedFor.has(recorded.type) && i < events.length - 1) before.push(placed)
    else {
      steps.push({ type: recorded.type, ...placed, before } as LoopEvent)
      before = []
    }
  }
  return steps
}
