// Answers the calls of the tools `kb:<id>`, which agents in worker threads make through the main thread. A
// call never rejects: a failure is a result that the model reads. Each passage comes unchanged, with its
// place in its document.
import type { ExternalTools } from '@beaver/agent'
import { BeaverError, type KnowledgeAnswer, messageOf } from '@beaver/core'
import type { Knowledge } from './knowledge-thread.ts'

const prefix = 'kb:'

/**
 * Makes the function that answers the calls.
 *
 * @param knowledge the knowledge bases of this process
 */
export function knowledgeCalls(knowledge: Pick<Knowledge, 'search'>): Pick<ExternalTools, 'call'> {
  return {
    async call({ name, arguments: args }, signal) {
      // The tool has already checked the arguments.
      const { query, limit } = args as { readonly query: string; readonly limit?: number }
      try {
        const answer = await knowledge.search(name.slice(prefix.length), { query, limit: limit ?? 5 }, signal)
        return {
          ...{ success: true, error: null, content: JSON.stringify(resultOf(name, answer)) },
          ...(answer.paid === undefined ? {} : { paid: answer.paid }),
        }
      } catch (error) {
        if (signal.aborted)
          return { success: false, error: 'cancelled', content: 'The search was cancelled.' }
        const code =
          error instanceof BeaverError && error.code === 'not_found'
            ? 'knowledge_missing'
            : 'knowledge_unavailable'
        return { success: false, error: code, content: messageOf(error) }
      }
    },
  }
}

/** The result of a search as the model reads it. */
function resultOf(name: string, { passages, complete }: KnowledgeAnswer) {
  return {
    passages: passages.map(({ file, first_line, last_line, heading, text }) => ({
      source: `${name}/${file}:${first_line}-${last_line}`,
      ...(heading === null ? {} : { heading }),
      text,
    })),
    ...(complete ? {} : { note: 'Some documents are not indexed yet. Search again later if nothing fits.' }),
  }
}
