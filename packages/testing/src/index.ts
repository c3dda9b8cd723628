export { journalContract, type JournalUnderTest } from './journal-contract.ts'
export { memoryBlobStore, memoryJournal, type MemoryJournal } from './memory-journal.ts'
export { countingIds, type VirtualClock, virtualClock } from './virtual-clock.ts'
