// The thread of the knowledge bases: it opens them, indexes them once, and answers searches until the process
// ends it.
import { parentPort, threadId, workerData } from 'node:worker_threads'
import type { EmbeddingProvider } from '@beaver/agent'
import { BeaverError, protectSecrets, systemClock } from '@beaver/core'
import { providerBundle, type ProviderChoices } from '@beaver/providers'
import { folderKnowledgeBase } from './folder-knowledge-base.ts'
import {
  type FromKnowledge,
  type KnowledgeThreadData,
  sentError,
  type ToKnowledge,
} from './knowledge-thread.ts'

// The embedding endpoint of a process, as the daemon's choice of endpoints has it.

/** `null` if there is none. */
export const embeddingsOf = (choices: ProviderChoices | null): EmbeddingProvider | null =>
  choices === null ? null : providerBundle(choices).embeddings

const { folders, home, model, secrets } = workerData as KnowledgeThreadData
protectSecrets(secrets)
const send = (message: FromKnowledge): void => parentPort?.postMessage(message, [])
const embeddings = embeddingsOf(model)
const owner = `${process.pid} ${threadId} ${process.hrtime.bigint()}`
const bases = new Map(
  folders.map((of) => {
    const tell = (message: string): void => send({ kind: 'told', file: of.folder, message })
    return [of.id, folderKnowledgeBase(of, { home, embeddings, clock: systemClock, owner, tell })] as const
  }),
)
const calls = new Map<number, AbortController>()

parentPort?.on('message', (message: ToKnowledge) => {
  switch (message.kind) {
    case 'search':
      return void search(message)
    case 'abort':
      return calls.get(message.call)?.abort()
    case 'end':
      return void end()
    default:
      return message satisfies never
  }
})
for (const base of bases.values()) void base.refresh().catch(() => {}) // It has told why.

/** Nothing keeps the thread after this. */
async function end(): Promise<void> {
  parentPort?.close()
  await Promise.all([...bases.values()].map((base) => base[Symbol.asyncDispose]()))
}

async function search({ call, id, request }: Extract<ToKnowledge, { kind: 'search' }>): Promise<void> {
  const abort = new AbortController()
  calls.set(call, abort)
  try {
    const base = bases.get(id)
    if (base === undefined)
      throw new BeaverError('not_found', `There is no knowledge base ${JSON.stringify(id)} here.`)
    send({ kind: 'found', call, answer: await base.search(request, abort.signal) })
  } catch (error) {
    send({ kind: 'failed', call, ...sentError(error) })
  } finally {
    calls.delete(call)
  }
}
