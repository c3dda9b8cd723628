// The tools `kb:<id>`: each asks the daemon's process to search one configured knowledge base (D-72). Each
// knowledge base is its own tool, so that profiles, scopes, rules and evidence can name it. The run gets the
// labels of the files of a result.
import { type Tool, ToolFailure, ToolInputError } from '@beaver/agent/tool-kit'
import { type JsonObject, knowledgeLimitMax } from '@beaver/core'
import { basename } from 'node:path'
import { z } from 'zod'

export interface KnowledgeToolOptions {
  readonly id: string
  /** For the model: what the documents are about. */
  readonly description: string
  /** Whether the documents are untrusted text. */
  readonly untrusted: boolean
  /** The absolute path of its folder. */
  readonly folder: string
}

/** A search waits at most 10 s for the index, and then asks the embedding endpoint. */
const timeoutMs = 60_000

const input = z.strictObject({
  query: z.string().min(1).max(1_000).describe('Words or a question.'),
  limit: z.int().min(1).max(knowledgeLimitMax).optional().describe('At most this many passages. Default 5.'),
})
const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>

export function knowledgeTool({ id, description, untrusted, folder }: KnowledgeToolOptions): Tool {
  const name = `kb:${id}`
  const inputFault = (args: unknown): string | null => {
    const { error } = input.safeParse(args)
    return error === undefined ? null : `The arguments of ${name} do not fit: ${z.prettifyError(error)}`
  }
  return {
    name,
    description: `Searches the knowledge base ${JSON.stringify(id)}: ${description} Returns passages of its documents, the best first. Cite a passage by its "source".`,
    parameters,
    idempotent: true,
    effects: 'reads',
    reads: untrusted ? 'untrusted' : 'own',
    timeoutMs,
    inHost: true,
    // The person who decides about a call sees the query. The rule already names the knowledge base.
    subject(args) {
      const { data } = input.safeParse(args)
      return data?.query ?? null
    },
    subjectKind: 'text',
    inputFault,
    async invoke(args, { workspace, taskId, sessionId, runId, callExternal, reads, signal }) {
      const fault = inputFault(args)
      if (fault !== null) throw new ToolInputError(fault)
      const result = await callExternal(
        { name, arguments: args as JsonObject, run: { workspace, taskId, sessionId, runId } },
        signal,
      )
      if (!result.success) throw new ToolFailure(result.error ?? 'tool_crash', result.content)
      // Rules name paths relative to the workspace, and some folders by their absolute paths.
      const files = filesIn(result.content, name)
      reads({ files: files.flatMap((file) => [file, `${basename(folder)}/${file}`, `${folder}/${file}`]) })
      return result.content
    },
  }
}

/** The files of a result, also of a cut one. In a text, the quotes of such a field would be escaped. */
function filesIn(content: string, name: string): string[] {
  return [...content.matchAll(/"source":("(?:[^"\\]|\\.)*")/g)].flatMap(([, source = '""']) => {
    const place = JSON.parse(source) as string
    return place.startsWith(`${name}/`) ? [place.slice(name.length + 1).replace(/:\d+-\d+$/, '')] : []
  })
}
