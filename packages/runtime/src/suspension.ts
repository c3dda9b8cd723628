// Decides whether a task only waits. Pure. A task is suspended if each of its loops waits: for a person, the
// client, a provider, its turn, or a team whose loops all wait. A call that has begun and cannot be repeated holds the
// task, even if it asks a person: its outcome would be in doubt.
import type { RunState } from '@beaver/core/fold'

/** What one loop is doing, as far as its host knows. */
export interface LoopActivity {
  readonly runId: string
  /** Calls that wait for a person or the client, with the time that is left to answer. */
  readonly asked: readonly { readonly callId: string; readonly leftMs: number; readonly atClient?: boolean }[]
  /** The time that is left for a person to give more to a budget. `null`: it does not wait for that. */
  readonly budgetMs: number | null
  /** Calls of workflow tools whose teams are running. */
  readonly teams: readonly string[]
  /** Set while it waits before it asks a provider again. */
  readonly pause: {
    readonly leftMs: number
    readonly waitsFor: 'provider' | 'limit'
    readonly reason: string
  } | null
}

export interface Suspension {
  readonly waitsFor: 'person' | 'provider' | 'limit' | 'client'
  readonly waitMs: number
  /** The reason in words for a person. */
  readonly reason: string
}

/** Whether a loop may only wait; a quick check that does not read its run. */
export const seemsToWait = ({ asked, budgetMs, teams, pause }: LoopActivity): boolean =>
  pause !== null || budgetMs !== null || asked.length > 0 || teams.length > 0

/**
 * How the task can be suspended; `null`: it cannot.
 *
 * @param loops all loops of the task that are under way
 * @param runs as the journal has them
 * @param waitMsMin a shorter wait is not worth a suspension
 */
export function suspensionOf(
  loops: readonly LoopActivity[],
  runs: ReadonlyMap<string, RunState>,
  waitMsMin: number,
): Suspension | null {
  if (loops.length === 0 || !loops.every((loop) => onlyWaits(loop, runs.get(loop.runId)))) return null
  const pauses = loops
    .flatMap(({ pause }) => (pause === null ? [] : [pause]))
    .toSorted((a, b) => a.leftMs - b.leftMs)
  const asked = loops.flatMap((loop) => loop.asked).toSorted((a, b) => a.leftMs - b.leftMs)
  const budgets = loops.flatMap(({ budgetMs }) => budgetMs ?? [])
  const waitMs = Math.ceil(
    Math.min(...pauses.map(({ leftMs }) => leftMs), ...asked.map(({ leftMs }) => leftMs), ...budgets),
  )
  if (!(waitMs >= waitMsMin) || waitMs === Infinity) return null
  const [pause] = pauses
  if (pause !== undefined) return { waitsFor: pause.waitsFor, waitMs, reason: pause.reason }
  if (budgets.length > 0)
    return {
      waitsFor: 'person',
      waitMs,
      reason: 'A budget is used up. "beaver budget raise" gives more.',
    }
  const ofPerson = asked.filter(({ atClient }) => atClient !== true)
  if (asked.length > 0 && ofPerson.length === 0)
    return {
      waitsFor: 'client',
      waitMs,
      reason:
        asked.length === 1 ? 'One call waits for the client.' : `${asked.length} calls wait for the client.`,
    }
  return {
    waitsFor: 'person',
    waitMs,
    reason:
      ofPerson.length === 1 ? 'One call waits for a person.' : `${ofPerson.length} calls wait for a person.`,
  }
}

function onlyWaits({ asked, budgetMs, teams, pause }: LoopActivity, run: RunState | undefined): boolean {
  if (pause !== null) return true
  const open = run?.calls.filter((call) => call.result === null) ?? []
  // A call of a tool may wait for a budget beside one that has begun.
  if (budgetMs !== null) return open.every(({ started }) => !started)
  const waiting = new Set([...asked.map(({ callId }) => callId), ...teams])
  // A call that has not begun is held by a waiting call before it (D-66).
  const held = ({ started, approval }: (typeof open)[number], i: number): boolean =>
    !started && approval !== 'requested' && open.slice(0, i).some((before) => waiting.has(before.id))
  const passive = ({ id, started, idempotent }: (typeof open)[number]): boolean =>
    waiting.has(id) && (!started || idempotent)
  return open.some((call) => waiting.has(call.id)) && open.every((call, i) => passive(call) || held(call, i))
}
