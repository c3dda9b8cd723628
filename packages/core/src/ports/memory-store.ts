// The MemoryStore port: curated, small facts that the agents of a tenant keep for later runs (D-45). The list
// `memory` belongs to the tenant, and `user` to the task's user; no other user's run sees it (D-67). A change
// is atomic, and concurrent writers lose none. A memory that cannot be read is reported and never
// overwritten.
import { z } from 'zod'

/** `memory`: facts about the work; `user`: facts about the user. */
export const memoryTarget = z.enum(['memory', 'user'])
export type MemoryTarget = z.infer<typeof memoryTarget>

/** The entries of each target, oldest first. */
export type MemorySnapshot = Readonly<Record<MemoryTarget, readonly string[]>>

/** A memory without entries. */
export const emptyMemory: MemorySnapshot = { memory: [], user: [] }

/** `old_text` finds the entry that equals it; otherwise the only entry that contains it. */
export type MemoryChange =
  | { readonly action: 'add'; readonly target: MemoryTarget; readonly content: string }
  | {
      readonly action: 'replace'
      readonly target: MemoryTarget
      readonly old_text: string
      readonly content: string
    }
  | { readonly action: 'remove'; readonly target: MemoryTarget; readonly old_text: string }

/** The answer to a change. `entries`, `chars` and `charsMax` are those of the target after the change. */
export type MemoryAnswer =
  | {
      readonly ok: true
      readonly changed: boolean
      readonly entries: readonly string[]
      readonly chars: number
      readonly charsMax: number
    }
  /**
   * `code`: `invalid_arguments`, `no_match`, `ambiguous_match`, `memory_full`, `memory_corrupt`,
   * `memory_unavailable`.
   */
  | { readonly ok: false; readonly code: string; readonly message: string }

/** Whose memory is meant. */
export interface MemoryOwner {
  readonly tenant: string
  /**
   * The user to whom the list `user` belongs; `null` for a task that names no user: the list is the tenant's
   * then.
   */
  readonly user: string | null
}

/** The memories of all tenants and their users. */
export interface MemoryStore {
  /**
   * The memory that a run for this owner sees.
   *
   * @throws {BeaverError} `memory_corrupt` if the stored memory cannot be read; `unreachable`
   */
  read(owner: MemoryOwner): Promise<MemorySnapshot>
  /**
   * The change is durable when it resolves with `ok`. It never rejects because of the stored memory: that is
   * an answer.
   */
  change(owner: MemoryOwner, change: MemoryChange): Promise<MemoryAnswer>
}
