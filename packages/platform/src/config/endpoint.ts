// An endpoint of models in the configuration: where it is, how it is told who asks, and how its model is asked.
import { modelSettings } from '@beaver/core'
import { z } from 'zod'

export const ofEachEndpoint = {
  /** An OpenAI-compatible endpoint, such as a local server. */
  base_url: z.url('must be a URL').optional(),
  /** How the model is asked. Default: as the server decides. */
  settings: modelSettings.prefault({}),
  /** The context window of the model. A conversation is shortened before it is longer. Default: not known, and the server says when it is too long. */
  context_tokens: z.int().min(1_000).max(100_000_000).optional(),
  /** Further headers of each request. They are no place for keys. */
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header'), z.string().max(4_000)).default({}),
  /** The header that has the key: `api-key` of Azure. Default: `Authorization: Bearer <key>`. */
  key_header: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')
    .optional(),
}

/** An OpenAI-compatible endpoint besides the main one. Its key comes from the environment. With the main URL it may use the main key. */
export const endpoint = z.strictObject({ ...ofEachEndpoint, name: z.string().min(1) })
export type EndpointConfig = z.output<typeof endpoint>
