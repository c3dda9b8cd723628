// Counts the messages that a daemon refuses for good, and logs them for operators. The log gets at most
// `linesMax` lines in `periodMs`, so a flood of messages does not flood it.
import { type Clock, type Logger, type LogId, taskFacts } from '@beaver/core'

export interface Refusals {
  /** How many messages were refused. */
  readonly count: number
  /** Counts a message. `key` names the refused thing: a key that comes again is not counted. */
  add(log: LogId, key: string, reason: string): void
}

export interface RefusalPorts {
  readonly logger: Logger
  readonly clock: Pick<Clock, 'now'>
  readonly daemonId: string
}

const linesMax = 10
const periodMs = 60_000
const keysMax = 10_000
const reasonCharsMax = 300

export function refusals({ logger, clock, daemonId: daemon }: RefusalPorts): Refusals {
  const keys = new Set<string>()
  let count = 0
  let lines = 0
  let since = -Infinity
  return {
    get count() {
      return count
    },
    add(log, key, reason) {
      if (keys.has(key)) return
      if (keys.size >= keysMax) keys.delete(keys.values().next().value as string)
      keys.add(key)
      count++
      if (clock.now() - since > periodMs) [since, lines] = [clock.now(), 0]
      if (++lines > linesMax) return
      taskFacts.quarantined(logger, log, {
        daemon,
        reason: reason.slice(0, reasonCharsMax),
        count,
        last: lines === linesMax,
      })
    },
  }
}
