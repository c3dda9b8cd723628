// `knowledge_bases` of the configuration: folders of documents in which agents search.
import { resolve } from 'node:path'
import { z } from 'zod'

const knowledgeBase = z.strictObject({
  /** A folder with text documents, relative to the configuration file. */
  folder: z.string().min(1, 'must not be empty'),
  /** What the documents are about. The model reads it when it chooses where to search. */
  description: z.string().trim().min(1, 'must not be empty').max(500),
  /** Whether the documents are the text of strangers. */
  untrusted: z.boolean().default(false),
  /** Whether passages are sent to the embedding endpoint, if there is one. */
  embeddings: z.boolean().default(true),
  /** Larger files are left out. */
  file_bytes_max: z.number().int().min(1_024).max(104_857_600).default(10_485_760),
})

const basesMax = 100

export const knowledgeBases = z
  .record(z.string(), knowledgeBase)
  .superRefine((bases, context) => {
    const ids = Object.keys(bases)
    if (ids.length > basesMax)
      context.addIssue({ code: 'custom', message: `must have at most ${basesMax} knowledge bases` })
    for (const id of ids)
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(id))
        context.addIssue({
          code: 'custom',
          path: [id],
          message: 'the id must be 1 to 32 letters, digits, "-" or "_"',
        })
  })
  .default({})

type KnowledgeBases = z.output<typeof knowledgeBases>

/** The same with absolute folders. `from`: the folder at which the path of a knowledge base starts. */
export const resolvedBases = (bases: KnowledgeBases, from: (id: string) => string): KnowledgeBases =>
  Object.fromEntries(
    Object.entries(bases).map(([id, base]) => [id, { ...base, folder: resolve(from(id), base.folder) }]),
  )
