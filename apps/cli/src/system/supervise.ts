// Supervision of one child process, `permanent` in OTP's words: whenever it dies, it is started again, until the budget is used up.
// What a child is and how it is started belongs to its spec.
// S1. The first start is not retried: what fails there is told to whoever starts the system. S2. At most one child runs at a
//     time. S3. After `stop` nothing is started, and it resolves when the child is gone. S4. `failed` settles at most once.
import { BeaverError, type Clock, messageOf, pause, systemClock } from '@beaver/core'
import { afterDeath, type RestartBudget, restartBudget } from './restart-budget.ts'

export interface RunningChild {
  readonly pid: number
  /** What it said when it was ready. */
  readonly info: Readonly<Record<string, unknown>>
  /** Why it ended, in words; resolves when it is gone. */
  readonly gone: Promise<string>
  /** Asks it to end; kills it after its deadline. */
  stop(): Promise<void>
  kill(): void
}

export interface ChildSpec {
  readonly name: string
  /** Where to read more. */
  readonly logFile: string
  start(signal: AbortSignal): Promise<RunningChild>
}

export type ChildStatus =
  | { readonly kind: 'ready'; readonly name: string; readonly pid: number; readonly info: Readonly<Record<string, unknown>>; readonly restarted: boolean }
  | { readonly kind: 'died'; readonly name: string; readonly reason: string; readonly pauseMs: number; readonly deaths: number }

export interface SupervisedChild {
  readonly name: string
  readonly pid: number | null
  readonly info: Readonly<Record<string, unknown>>
  /** Rejects when the child died too often. */
  readonly failed: Promise<never>
  stop(): Promise<void>
  kill(): void
}

/** Resolves when the child is ready for the first time; rejects with what kept it from that. */
export async function supervise(
  spec: ChildSpec,
  options: { onStatus?: (status: ChildStatus) => void; signal: AbortSignal; clock?: Clock; budget?: RestartBudget },
): Promise<SupervisedChild> {
  const { onStatus = () => {}, clock = systemClock, budget = restartBudget } = options
  const stopping = new AbortController()
  const deaths: number[] = []
  const { promise: failed, reject: giveUp } = Promise.withResolvers<never>()
  failed.catch(() => {})

  let child: RunningChild | null = await spec.start(options.signal)
  let info = child.info
  onStatus({ kind: 'ready', name: spec.name, pid: child.pid, info, restarted: false })
  const running = keepRunning()

  async function keepRunning(): Promise<void> {
    while (!stopping.signal.aborted) {
      const reason: string = child === null ? 'it did not start' : await child.gone
      child = null
      if (stopping.signal.aborted || !(await restart(reason))) return
    }
  }

  /** Tries until the child runs again; false: it was given up on, or everything stops. */
  async function restart(firstReason: string): Promise<boolean> {
    for (let reason = firstReason; ;) {
      deaths.push(clock.now())
      const next = afterDeath(deaths, clock.now(), budget)
      if (next.kind === 'give_up') {
        giveUp(
          new BeaverError(
            'start_failed',
            `The ${spec.name} died ${next.deaths} times within ${budget.periodMs / 1000} s (last: ${reason}), so Beaver stops. Its log: ${spec.logFile}`,
          ),
        )
        return false
      }
      onStatus({ kind: 'died', name: spec.name, reason, pauseMs: next.pauseMs, deaths: next.deaths })
      await pause(clock, next.pauseMs, stopping.signal)
      if (stopping.signal.aborted) return false
      try {
        child = await spec.start(stopping.signal)
        if (stopping.signal.aborted) {
          await child.stop()
          return false
        }
        info = child.info
        onStatus({ kind: 'ready', name: spec.name, pid: child.pid, info, restarted: true })
        return true
      } catch (error) {
        if (stopping.signal.aborted) return false
        reason = messageOf(error)
      }
    }
  }

  return {
    name: spec.name,
    get pid() {
      return child?.pid ?? null
    },
    get info() {
      return info
    },
    failed,
    async stop() {
      stopping.abort()
      await child?.stop()
      await running
    },
    kill() {
      stopping.abort()
      child?.kill()
    },
  }
}
