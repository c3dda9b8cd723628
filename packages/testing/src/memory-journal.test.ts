import { systemClock } from '@beaver/core'
import { journalContract } from './journal-contract.ts'
import { memoryBlobStore, memoryJournal } from './memory-journal.ts'

journalContract('memoryJournal', async () => {
  const journal = memoryJournal()
  return { journal, blobs: memoryBlobStore(), queue: async (leaseMs) => journal.queue({ leaseMs, clock: systemClock }) }
})
