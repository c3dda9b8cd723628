// Reads the texts of an export as its own system logs say that they may be read: what was removed from the
// record before it was written is replaced.
import type { JournalSource, StreamMessage } from '@beaver/check'
import {
  BeaverError,
  type Entry,
  readKeyRing,
  RemovalLog,
  type Replacements,
  replacementsOf,
  type SystemLog,
} from '@beaver/core'

/** @throws {BeaverError} if a system log of the export cannot be read */
export async function textsIn(source: JournalSource): Promise<Replacements> {
  const log = systemLogIn(source)
  // No task is looked up by its tenant here: only texts are replaced.
  const removals = new RemovalLog('', log, () => readKeyRing({ log, namespace: source.about.stream }))
  const stored = {
    async get(sha256: string): Promise<Uint8Array> {
      const bytes = await source.readBlob(sha256)
      if (bytes === null) throw new BeaverError('blob_missing', `The file does not have the blob ${sha256}.`)
      return bytes
    },
  }
  const texts = replacementsOf(stored, () => removals.now())
  await texts.refresh()
  return texts
}

function systemLogIn(source: JournalSource): Pick<SystemLog, 'read' | 'last'> {
  const read: SystemLog['read'] = async (name) => {
    const entries: Entry[] = []
    if (name !== 'checkpoints') for await (const page of source[name]()) entries.push(...page.map(entryOf))
    return entries
  }
  return { read, last: async (name) => (await read(name)).at(-1) ?? null }
}

const entryOf = ({ sequence, time, payload, signature }: StreamMessage): Entry => ({
  revision: sequence,
  timeMs: Date.parse(time),
  payload,
  signature,
})
