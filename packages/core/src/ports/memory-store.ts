// The MemoryStore port: the durable facts agents of a tenant keep for later runs (D-45). Curated, small, not a transcript.
// M1. A change is atomic, and two writers never lose each other's. M2. What cannot be read is reported and never overwritten.
import { z } from 'zod'

/** `memory`: facts of the work; `user`: facts of the person worked for. */
export const memoryTarget = z.enum(['memory', 'user'])
export type MemoryTarget = z.infer<typeof memoryTarget>

/** The entries of each target, oldest first. */
export type MemorySnapshot = Readonly<Record<MemoryTarget, readonly string[]>>

export const emptyMemory: MemorySnapshot = { memory: [], user: [] }

/** `old_text` finds an entry: the one that is equal to it, else the only one that contains it. */
export type MemoryChange =
  | { readonly action: 'add'; readonly target: MemoryTarget; readonly content: string }
  | { readonly action: 'replace'; readonly target: MemoryTarget; readonly old_text: string; readonly content: string }
  | { readonly action: 'remove'; readonly target: MemoryTarget; readonly old_text: string }

export type MemoryAnswer =
  | { readonly ok: true; readonly changed: boolean; readonly entries: readonly string[]; readonly chars: number; readonly charsMax: number }
  /** `code`: `invalid_arguments`, `no_match`, `ambiguous_match`, `memory_full`, `memory_corrupt`, `memory_unavailable`. */
  | { readonly ok: false; readonly code: string; readonly message: string }

export interface MemoryStore {
  /** @throws {BeaverError} `memory_corrupt` when what is stored cannot be read; `unreachable` */
  read(tenant: string): Promise<MemorySnapshot>
  /** Durable when it resolves with `ok`. Never rejects for what the store holds: that is an answer. */
  change(tenant: string, change: MemoryChange): Promise<MemoryAnswer>
}
