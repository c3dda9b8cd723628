// Adds the searches of knowledge bases to the external tools of the daemon's process. The tools themselves
// are known from the configuration, in every thread; only their calls come here. If no knowledge base is
// configured, nothing is loaded and no thread is started.
import type { ExternalTools } from '@beaver/agent'
import type { KnownSecret, Logger } from '@beaver/core'
import { type Config, makeOwnFolder } from '@beaver/platform'
import type { OwnedExternalTools } from './external-tools-of.ts'
import type { ModelChoice } from './model.ts'

/** What the knowledge bases of a daemon need. */
export interface KnowledgeParts {
  readonly config: Pick<Config, 'knowledge_bases' | 'home'>
  readonly model: ModelChoice
  readonly secrets: readonly KnownSecret[]
  readonly logger: Logger
}

/** The searches of a daemon. */
export interface OwnedKnowledge extends Pick<ExternalTools, 'call'> {
  close(): Promise<void>
}

/** Starts the knowledge bases of the configuration, or returns `null` if there are none. */
export async function openKnowledge({
  config,
  model,
  secrets,
  logger,
}: KnowledgeParts): Promise<OwnedKnowledge | null> {
  if (Object.keys(config.knowledge_bases).length === 0) return null
  // An index that came with a folder could say what no document says.
  makeOwnFolder(config.home, 'knowledge')
  const { knowledgeCalls, knowledgeFolders, startKnowledge } = await import('@beaver/knowledge')
  const knowledge = startKnowledge(
    { folders: knowledgeFolders(config.knowledge_bases), home: config.home, model, secrets },
    logger,
  )
  return { ...knowledgeCalls(knowledge), close: () => knowledge.close() }
}

/** The same tools, whose calls of `kb:<id>` are answered. `close` also ends the knowledge bases. */
export function withKnowledge(
  external: OwnedExternalTools,
  knowledge: OwnedKnowledge | null,
): OwnedExternalTools {
  if (knowledge === null) return external
  return {
    get tools() {
      return external.tools
    },
    onChange: (listener) => external.onChange(listener),
    ...(external.arrival === undefined ? {} : { arrival: external.arrival.bind(external) }),
    ...(external.refused === undefined ? {} : { refused: external.refused.bind(external) }),
    ...(external.describe === undefined ? {} : { describe: external.describe.bind(external) }),
    call: (call, ...how) => (call.name.startsWith('kb:') ? knowledge : external).call(call, ...how),
    async close() {
      await Promise.all([external.close(), knowledge.close()])
    },
  }
}
