// Decides what a supervisor does when a child starts or ends, or when the supervisor stops: OTP's semantics
// over data. Pure. start-supervision.ts starts, stops and pauses; supervisors.ts holds the data of each
// supervisor. A child has ended before it, or what replaces it, is started again. Groups stop in the reverse
// order of their start and start in that order, one child at a time. After `stop`, and after a failure,
// nothing is started. Each death is counted once. The end of a child that the supervisor stops is not a
// death.
import { afterDeath, recentDeaths } from './restart-intensity.ts'
import type { ChildSpec, SupervisorSpec } from './supervisor-spec.ts'

export interface SupervisedChild extends ChildSpec {
  /** `starting`: from the pause before its start until it is ready. `left`: it is not started again. */
  readonly status: 'idle' | 'starting' | 'running' | 'stopping' | 'left'
  /** The times of those deaths that count. */
  readonly deaths: readonly number[]
}

/** The state of a supervisor. */
export interface SupervisorState {
  readonly spec: SupervisorSpec
  /** The children in the order of their start. */
  readonly children: readonly SupervisedChild[]
  /**
   * The children to start, one after the other, as soon as none is `stopping`. The first one starts after
   * `pauseMs`.
   */
  readonly toStart: readonly string[]
  readonly pauseMs: number
  /** `ending`: all children are being stopped. */
  readonly status: 'running' | 'ending' | 'ended'
}

/**
 * What happened to a supervisor. `at` is in milliseconds, and `random` is a number in [0, 1) for the jitter.
 */
export type SupervisorEvent =
  /** A further child was added. It is started at once. */
  | { readonly kind: 'child_added'; readonly child: ChildSpec }
  | { readonly kind: 'child_started'; readonly id: string }
  /** A child ended, or did not start. @param normal whether it ended as planned, such as with exit code 0 */
  | {
      readonly kind: 'child_ended'
      readonly id: string
      readonly reason: string
      readonly normal: boolean
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

/**
 * The state of a supervisor before its first event. The children of `spec` are not in it: add each with
 * `child_added`.
 */
export function newSupervisor(spec: SupervisorSpec): SupervisorState {
  return { spec, children: [], toStart: [], pauseMs: 0, status: 'running' }
}

/** The state of a supervisor after an event, and the actions that follow. It changes nothing. */
export function supervise(state: SupervisorState, event: SupervisorEvent): Supervised {
  switch (event.kind) {
    case 'child_added':
      return added(state, event.child)
    case 'child_started':
      return onward(
        withChild(state, event.id, (child) =>
          child.status === 'starting' ? { ...child, status: 'running' } : child,
        ),
      )
    case 'child_ended':
      return ended(state, event)
    case 'child_withdrawn':
      return onward({ ...state, children: state.children.filter(({ id }) => id !== event.id) })
    case 'stop':
      return state.status === 'running'
        ? onward({ ...state, status: 'ending', toStart: [] })
        : { state, actions: [] }
    default:
      return event satisfies never
  }
}

function added(state: SupervisorState, child: ChildSpec): Supervised {
  if (
    state.status !== 'running' ||
    state.children.some(({ id, status }) => id === child.id && status !== 'left')
  )
    return { state, actions: [] }
  const others = state.children.filter(({ id }) => id !== child.id)
  return {
    state: { ...state, children: [...others, { ...child, status: 'starting', deaths: [] }] },
    actions: [{ kind: 'start', id: child.id, pauseMs: 0, restart: false }],
  }
}

function ended(
  state: SupervisorState,
  { id, reason, normal, at, random }: SupervisorEvent & { kind: 'child_ended' },
): Supervised {
  const child = state.children.find((each) => each.id === id)
  if (child === undefined || child.status === 'left' || child.status === 'idle') return { state, actions: [] }
  if (state.status !== 'running') return onward(withChild(state, id, (each) => ({ ...each, status: 'left' })))
  if (child.status === 'stopping')
    return onward(withChild(state, id, (each) => ({ ...each, status: 'idle' })))
  if (child.restart === 'temporary' || (child.restart === 'transient' && normal))
    return onward(
      withChild({ ...state, toStart: state.toStart.filter((each) => each !== id) }, id, (each) => ({
        ...each,
        status: 'left',
      })),
    )

  const { spec } = state
  const counted = withChild(state, id, (each) => ({
    ...each,
    status: 'idle',
    deaths: recentDeaths([...each.deaths, at], at, spec.intensity),
  }))
  const deaths = counted.children
    .filter((each) => spec.intensity.counts === 'all_children' || each.id === id)
    .flatMap((each) => each.deaths)
  const next = afterDeath(
    deaths.toSorted((a, b) => a - b),
    { now: at, random, intensity: spec.intensity, backoff: spec.backoff },
  )
  if (next.kind === 'exceeded') return exceeded(counted, { id, reason, ...next })
  return andThen(restarted(counted, id, next.pauseMs), {
    kind: 'tell_restart',
    id,
    reason,
    pauseMs: next.pauseMs,
    deaths: next.deaths,
  })
}

function exceeded(
  state: SupervisorState,
  { id, reason, deaths, againMs }: { id: string; reason: string; deaths: number; againMs: number | null },
): Supervised {
  const { kind } = state.spec.escalation
  const left = withChild({ ...state, toStart: state.toStart.filter((each) => each !== id) }, id, (child) => ({
    ...child,
    status: 'left',
  }))
  const next =
    kind === 'fail'
      ? onward({ ...left, status: 'ending', toStart: [] })
      : kind === 'wait' && againMs !== null
        ? restarted(state, id, againMs)
        : onward(left)
  return andThen(next, { kind: 'escalate', id, reason, deaths, againMs: kind === 'wait' ? againMs : null })
}

/** Starts a child again, together with the children that the strategy adds. */
function restarted(state: SupervisorState, id: string, pauseMs: number): Supervised {
  const { strategy } = state.spec
  if (strategy === 'one_for_one') {
    const starting = withChild(state, id, (child) => ({ ...child, status: 'starting' }))
    return { state: starting, actions: [{ kind: 'start', id, pauseMs, restart: true }] }
  }
  const first = strategy === 'one_for_all' ? 0 : state.children.findIndex((child) => child.id === id)
  const group = state.children.slice(first).filter(({ status }) => status !== 'left')
  const ids = group.map((child) => child.id)
  const toStart = state.children
    .map((child) => child.id)
    .filter((each) => ids.includes(each) || state.toStart.includes(each))
  return onward({
    ...state,
    toStart,
    pauseMs: Math.max(pauseMs, state.toStart.length > 0 ? state.pauseMs : 0),
  })
}

/**
 * The next step of a stop or a restart of several children: first the last running one is stopped, and in the
 * end the first one is started.
 */
function onward(state: SupervisorState): Supervised {
  if (state.status === 'ended') return { state, actions: [] }
  const alive = state.children.filter(({ status }) => status === 'running' || status === 'starting')
  if (state.children.some(({ status }) => status === 'stopping')) return { state, actions: [] }
  const ending = state.status === 'ending'
  // Only children that are still to be started again are stopped. The restart has started the others of its
  // group already.
  const last = (ending ? alive : alive.filter(({ id }) => state.toStart.includes(id))).at(-1)
  if (last !== undefined) {
    return {
      state: withChild(state, last.id, (child) => ({ ...child, status: 'stopping' })),
      actions: [{ kind: 'stop', id: last.id }],
    }
  }
  if (ending) return { state: { ...state, status: 'ended' }, actions: [{ kind: 'ended' }] }
  const [first, ...rest] = state.toStart
  // Children start one at a time: the next one starts when this one runs.
  if (first === undefined || alive.some(({ id, status }) => status === 'starting' && isInGroup(state, id)))
    return { state, actions: [] }
  const starting = withChild({ ...state, toStart: rest, pauseMs: 0 }, first, (child) => ({
    ...child,
    status: 'starting',
  }))
  return { state: starting, actions: [{ kind: 'start', id: first, pauseMs: state.pauseMs, restart: true }] }
}

/** Whether a child comes before the children of a group that are still to start, in the order of starts. */
const isInGroup = ({ spec, children, toStart }: SupervisorState, id: string): boolean =>
  spec.strategy !== 'one_for_one' &&
  children.findIndex((child) => child.id === id) < children.findIndex((child) => child.id === toStart[0])

const withChild = (
  state: SupervisorState,
  id: string,
  change: (child: SupervisedChild) => SupervisedChild,
): SupervisorState => ({
  ...state,
  children: state.children.map((child) => (child.id === id ? change(child) : child)),
})

/** Reports come before the other actions. */
const andThen = ({ state, actions }: Supervised, told: SupervisorAction): Supervised => ({
  state,
  actions: [told, ...actions],
})
