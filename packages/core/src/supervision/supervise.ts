// Decides what a supervisor does when a child starts or ends, or when the supervisor stops: OTP's
// `one_for_one` over data. supervision.ts carries it out. A child has ended before it is started again. A
// stop ends the children one at a time, in the reverse order of their start. The end of a child that the
// supervisor stops is not a death.
import { afterDeath, recentDeaths } from './restart-intensity.ts'
import type { SupervisorSpec } from './supervisor-spec.ts'

export interface SupervisedChild {
  /** Unique in its supervisor. */
  readonly id: string
  /** `starting`: from the pause before its start until it is ready. `left`: it is not started again. */
  readonly status: 'starting' | 'running' | 'stopping' | 'left'
  /** The times of those deaths that count. */
  readonly deaths: readonly number[]
}

/** The state of a supervisor. */
export interface SupervisorState {
  readonly spec: SupervisorSpec
  /** The children in the order of their start. */
  readonly children: readonly SupervisedChild[]
  /** `ending`: all children are being stopped. */
  readonly status: 'running' | 'ending' | 'ended'
}

/**
 * What happened to a supervisor. `at` is in milliseconds, and `random` is a number in [0, 1) for the jitter.
 */
export type SupervisorEvent =
  /** A further child was added. It is started at once. */
  | { readonly kind: 'child_added'; readonly id: string }
  | { readonly kind: 'child_started'; readonly id: string }
  /** A child ended, or did not start. */
  | {
      readonly kind: 'child_ended'
      readonly id: string
      readonly reason: string
      readonly at: number
      readonly random: number
    }
  /** The first start of a child failed, and the caller knows it. */
  | { readonly kind: 'child_withdrawn'; readonly id: string }
  | { readonly kind: 'stop' }

/** What the caller must do, in this order. */
export type SupervisorAction =
  | { readonly kind: 'start'; readonly id: string; readonly pauseMs: number; readonly restart: boolean }
  | { readonly kind: 'stop'; readonly id: string }
  /** For the log: the reason why a child is started again. */
  | {
      readonly kind: 'tell_restart'
      readonly id: string
      readonly reason: string
      readonly pauseMs: number
      readonly deaths: number
    }
  /** The intensity is exceeded. */
  | {
      readonly kind: 'escalate'
      readonly id: string
      readonly reason: string
      readonly deaths: number
      readonly againMs: number | null
    }
  /** All children are gone. */
  | { readonly kind: 'ended' }

export interface Supervised {
  readonly state: SupervisorState
  readonly actions: readonly SupervisorAction[]
}

/** The state of a supervisor before its first event. */
export function newSupervisor(spec: SupervisorSpec): SupervisorState {
  return { spec, children: [], status: 'running' }
}

/** The state of a supervisor after an event, and the actions that follow. It changes nothing. */
export function supervise(state: SupervisorState, event: SupervisorEvent): Supervised {
  switch (event.kind) {
    case 'child_added':
      return added(state, event.id)
    case 'child_started': {
      const child = state.children.find(({ id }) => id === event.id)
      return {
        state: child?.status === 'starting' ? withChild(state, event.id, { status: 'running' }) : state,
        actions: [],
      }
    }
    case 'child_ended':
      return ended(state, event)
    case 'child_withdrawn':
      return stopNext({ ...state, children: state.children.filter(({ id }) => id !== event.id) })
    case 'stop':
      return state.status === 'running' ? stopNext({ ...state, status: 'ending' }) : { state, actions: [] }
    default:
      return event satisfies never
  }
}

function added(state: SupervisorState, id: string): Supervised {
  if (
    state.status !== 'running' ||
    state.children.some((child) => child.id === id && child.status !== 'left')
  )
    return { state, actions: [] }
  const others = state.children.filter((child) => child.id !== id)
  return {
    state: { ...state, children: [...others, { id, status: 'starting', deaths: [] }] },
    actions: [{ kind: 'start', id, pauseMs: 0, restart: false }],
  }
}

function ended(
  state: SupervisorState,
  { id, reason, at, random }: SupervisorEvent & { kind: 'child_ended' },
): Supervised {
  const child = state.children.find((each) => each.id === id)
  if (child === undefined || child.status === 'left') return { state, actions: [] }
  if (state.status !== 'running') return stopNext(withChild(state, id, { status: 'left' }))

  const { intensity, backoff } = state.spec
  const deaths = recentDeaths([...child.deaths, at], at, intensity)
  const next = afterDeath(deaths, { now: at, random, intensity, backoff })
  const counted = withChild(state, id, { deaths })
  if (next.kind === 'exceeded') return exceeded(counted, { id, reason, ...next })
  const tellRestart = {
    kind: 'tell_restart',
    id,
    reason,
    pauseMs: next.pauseMs,
    deaths: next.deaths,
  } as const
  return andThen(restarted(counted, id, next.pauseMs), tellRestart)
}

function exceeded(
  state: SupervisorState,
  { id, reason, deaths, againMs }: { id: string; reason: string; deaths: number; againMs: number | null },
): Supervised {
  const { kind } = state.spec.escalation
  const left = withChild(state, id, { status: 'left' })
  const next =
    kind === 'fail'
      ? stopNext({ ...left, status: 'ending' })
      : kind === 'wait' && againMs !== null
        ? restarted(state, id, againMs)
        : { state: left, actions: [] }
  return andThen(next, { kind: 'escalate', id, reason, deaths, againMs: kind === 'wait' ? againMs : null })
}

const restarted = (state: SupervisorState, id: string, pauseMs: number): Supervised => ({
  state: withChild(state, id, { status: 'starting' }),
  actions: [{ kind: 'start', id, pauseMs, restart: true }],
})

/** The next step of a stop: the last child that is alive is stopped. If there is none, all is over. */
function stopNext(state: SupervisorState): Supervised {
  if (state.status !== 'ending' || state.children.some(({ status }) => status === 'stopping'))
    return { state, actions: [] }
  const last = state.children.findLast(({ status }) => status === 'running' || status === 'starting')
  return last === undefined
    ? { state: { ...state, status: 'ended' }, actions: [{ kind: 'ended' }] }
    : {
        state: withChild(state, last.id, { status: 'stopping' }),
        actions: [{ kind: 'stop', id: last.id }],
      }
}

const withChild = (
  state: SupervisorState,
  id: string,
  change: Partial<Omit<SupervisedChild, 'id'>>,
): SupervisorState => ({
  ...state,
  children: state.children.map((child) => (child.id === id ? { ...child, ...change } : child)),
})

/** Reports come before the other actions. */
const andThen = ({ state, actions }: Supervised, report: SupervisorAction): Supervised => ({
  state,
  actions: [report, ...actions],
})
