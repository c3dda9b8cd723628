// The in-memory twin of the memory store, with the same answers.
import {
  BeaverError,
  changeMemory,
  emptyMemory,
  type MemoryLimits,
  type MemoryOwner,
  type MemorySnapshot,
  type MemoryStore,
  type MemoryTarget,
} from '@beaver/core'

/** The memories that several stores share. `null`: it cannot be read. */
export type MemoryStorage = Map<string, MemorySnapshot | null>

export function memoryMemoryStore(limits: MemoryLimits, storage: MemoryStorage = new Map()): MemoryStore {
  const held = (key: string): MemorySnapshot | null =>
    storage.has(key) ? (storage.get(key) ?? null) : emptyMemory
  const keyOf = ({ tenant, user }: MemoryOwner, target: MemoryTarget): string =>
    user === null || target === 'memory' ? tenant : `${tenant}\0${user}`
  const message = (key: string): string => `The memory of ${key} cannot be read. It was left as it is.`
  return {
    async read(owner) {
      const [work, user] = [keyOf(owner, 'memory'), keyOf(owner, 'user')].map((key) => {
        const snapshot = held(key)
        if (snapshot === null) throw new BeaverError('memory_corrupt', message(key))
        return snapshot
      }) as [MemorySnapshot, MemorySnapshot]
      return { memory: work.memory, user: user.user }
    },
    async change(owner, change) {
      const key = keyOf(owner, change.target)
      const snapshot = held(key)
      if (snapshot === null) return { ok: false, code: 'memory_corrupt', message: message(key) }
      const { answer, next } = changeMemory(snapshot, change, limits)
      if (next !== null) storage.set(key, next)
      return answer
    },
  }
}
