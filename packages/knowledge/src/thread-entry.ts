// The entry of the thread of the knowledge bases: it opens them, begins to index each, and answers searches
// until the process ends it.
import { parentPort, threadId, workerData } from 'node:worker_threads'
import { BeaverError, invariant, systemClock } from '@beaver/core'
import { protectSecrets } from '@beaver/core/secrets'
import { PortCalls } from '@beaver/core/port-calls'
import { folderKnowledgeBase } from './folder-knowledge-base.ts'
import { embeddingsOf } from './knowledge-folder.ts'
import type { KnowledgeHome, KnowledgeThreadData, ServedKnowledge } from './knowledge-thread.ts'

const { folders, home, model, secrets } = workerData as KnowledgeThreadData
protectSecrets(secrets)
const served: ServedKnowledge = {
  async search(id, request, signal) {
    const base = bases.get(id)
    if (base === undefined)
      throw new BeaverError('not_found', `There is no knowledge base ${JSON.stringify(id)} here.`)
    return await base.search(request, signal)
  },
  end: () => void end(),
}
invariant(parentPort !== null, 'The knowledge bases run in a thread of their own.')
const calls = new PortCalls(parentPort, { served: () => served })
const main = calls.remote<KnowledgeHome>(0, { tell: 'note' })
const embeddings = embeddingsOf(model)
const owner = `${process.pid} ${threadId} ${process.hrtime.bigint()}`
const bases = new Map(
  folders.map((folder) => {
    const tell = (message: string): void => main.tell(folder.folder, message)
    return [
      folder.id,
      folderKnowledgeBase(folder, { home, embeddings, clock: systemClock, owner, tell }),
    ] as const
  }),
)
for (const base of bases.values()) void base.refresh().catch(() => {}) // The knowledge base has reported the error.

/** Closes the port and the knowledge bases. After this, nothing keeps the thread alive. */
async function end(): Promise<void> {
  parentPort?.close()
  await Promise.all([...bases.values()].map((base) => base[Symbol.asyncDispose]()))
}
