// MemoryValue: the value of one key of the memory bucket, and its stored form. A value that cannot be read is
// not an empty memory: its snapshot is `null`. A key that somebody deleted is an empty memory.
import { emptyMemory, type MemorySnapshot } from '@beaver/core'
import { z } from 'zod'
import type { SeenValue } from './memory-watch.ts'

export interface MemoryValue {
  readonly revision: number
  /** `null` if the value cannot be read. */
  readonly snapshot: MemorySnapshot | null
}

const version = 1
const stored = z.strictObject({
  version: z.literal(version),
  memory: z.array(z.string()),
  user: z.array(z.string()),
})

export const noMemory: MemoryValue = { revision: 0, snapshot: emptyMemory }

export function readMemory(entry: SeenValue): MemoryValue {
  if (entry.operation !== 'PUT') return { revision: entry.revision, snapshot: emptyMemory }
  try {
    const { memory, user } = stored.parse(entry.json())
    return { revision: entry.revision, snapshot: { memory, user } }
  } catch {
    return { revision: entry.revision, snapshot: null }
  }
}

export const memoryText = (snapshot: MemorySnapshot): string => JSON.stringify({ version, ...snapshot })
