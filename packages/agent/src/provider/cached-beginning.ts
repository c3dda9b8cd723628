// What the requests of one conversation share, for the caches that providers keep of the beginnings of
// requests. It follows from the run's start and its session alone, so a run that is resumed is known by the
// same key. No id of a session or of a user can be read in a key.
import { createHash } from 'node:crypto'
import type { ChatMessage } from '@beaver/core'
import { sharedPromptChars } from '../context/context-builder.ts'

/** What a request shares with others that begin alike. */
export interface CachedBeginning {
  /** The same for the requests of one agent of a session: 32 characters, letters and digits. */
  readonly key: string
  /**
   * How many characters of the system prompt other tasks and sessions of the agent share. 0: it is not known.
   */
  readonly sharedChars: number
}

/**
 * The beginning of a run's requests. The next task of a session continues the conversation of its root, and a
 * node of the same name has the same work, so both have the key of the task before.
 */
export function beginningOf(
  sessionId: string,
  { node_id: node }: { readonly node_id: string | null },
  messages: readonly ChatMessage[],
): CachedBeginning {
  const key = createHash('sha256')
    .update(JSON.stringify([sessionId, node]))
    .digest('hex')
    .slice(0, 32)
  const [first] = messages
  return { key, sharedChars: first?.role === 'system' ? sharedPromptChars(first.content) : 0 }
}
