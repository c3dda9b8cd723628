import { systemClock } from '@beaver/core'
import { foreignMessageContract } from './foreign-message-contract.ts'
import { journalContract, type JournalUnderTest } from './journal-contract.ts'
import { memoryBlobStore, memoryJournal } from './memory-journal.ts'

async function open(): Promise<JournalUnderTest> {
  const journal = memoryJournal()
  return {
    journal,
    blobs: memoryBlobStore(),
    queue: async (leaseMs) => journal.queue({ leaseMs, clock: systemClock }),
    intrude: async (...message) => journal.intrude(...message),
  }
}

journalContract('memoryJournal', open)
foreignMessageContract('memoryJournal', open)
