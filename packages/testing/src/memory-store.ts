// The in-memory twin of the memory store: the same answers, without a server.
import { BeaverError, changeMemory, emptyMemory, type MemoryLimits, type MemorySnapshot, type MemoryStore } from '@beaver/core'

/** The memories that several stores share. `null` is a memory that cannot be read. */
export type MemoryStorage = Map<string, MemorySnapshot | null>

export function memoryMemoryStore(limits: MemoryLimits, storage: MemoryStorage = new Map()): MemoryStore {
  const held = (tenant: string): MemorySnapshot | null => (storage.has(tenant) ? (storage.get(tenant) ?? null) : emptyMemory)
  const message = (tenant: string): string => `The memory of ${tenant} cannot be read. It was left as it is.`
  return {
    async read(tenant) {
      const snapshot = held(tenant)
      if (snapshot === null) throw new BeaverError('memory_corrupt', message(tenant))
      return snapshot
    },
    async change(tenant, change) {
      const snapshot = held(tenant)
      if (snapshot === null) return { ok: false, code: 'memory_corrupt', message: message(tenant) }
      const { answer, next } = changeMemory(snapshot, change, limits)
      if (next !== null) storage.set(tenant, next)
      return answer
    },
  }
}
