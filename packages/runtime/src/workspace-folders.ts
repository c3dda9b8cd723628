// Checks the folder that a task names as its workspace.
// W1. A folder that exists is trusted to exist for `trustedMs`, because a client that submits hundreds of tasks a second names the same
//     folder each time. A folder that does not exist is looked for again each time.
// W2. The memory of folders is bounded.
import { stat } from 'node:fs/promises'
import type { Clock } from '@beaver/core'

export interface WorkspaceFolders {
  at(path: string): Promise<'folder' | 'file' | 'missing'>
}

const trustedMs = 1_000
const keptMax = 1_000

export function workspaceFolders(clock: Clock): WorkspaceFolders {
  /** When each was last seen. */
  const seen = new Map<string, number>()
  return {
    async at(path) {
      const now = clock.now()
      const last = seen.get(path)
      if (last !== undefined && now - last >= 0 && now - last < trustedMs) return 'folder'
      seen.delete(path)
      const found = await stat(path).catch(() => null)
      if (found === null) return 'missing'
      if (!found.isDirectory()) return 'file'
      if (seen.size >= keptMax) seen.delete(seen.keys().next().value as string)
      seen.set(path, now)
      return 'folder'
    },
  }
}
