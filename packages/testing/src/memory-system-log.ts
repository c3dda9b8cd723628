// The in-memory twin of the system logs.
import type { Clock, SystemLogName } from '@beaver/core'
import type { Entry, SystemLog } from '@beaver/core/journal'
import { systemClock } from '@beaver/core'

/** @param clock the journal's own clock */
export function memorySystemLog({ clock = systemClock }: { clock?: Clock } = {}): SystemLog {
  const logs = new Map<SystemLogName, Entry[]>()
  const entriesOf = (name: SystemLogName): readonly Entry[] => logs.get(name) ?? []
  let sequence = 0
  return {
    async append({ name, expectedRevision, payload, signature }) {
      if ((entriesOf(name).at(-1)?.revision ?? 0) !== expectedRevision) return { kind: 'fenced' }
      logs.set(name, [...entriesOf(name), { revision: ++sequence, payload, timeMs: clock.now(), signature }])
      return { kind: 'appended', revision: sequence }
    },
    read: async (name) => [...entriesOf(name)],
    last: async (name) => entriesOf(name).at(-1) ?? null,
  }
}
