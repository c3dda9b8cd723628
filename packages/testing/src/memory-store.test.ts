import { memoryMemoryStore, type MemoryStorage } from './memory-store.ts'
import { memoryStoreContract } from './memory-store-contract.ts'

memoryStoreContract('memoryMemoryStore', async (limits) => {
  const storage: MemoryStorage = new Map()
  return {
    stores: [memoryMemoryStore(limits, storage), memoryMemoryStore(limits, storage)],
    corrupt: async (tenant) => void storage.set(tenant, null),
    stored: async (tenant) => JSON.stringify(storage.get(tenant)),
  }
})
