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

/** What a model is called in profiles and workflows. */
const modelName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')

/** The models that profiles and agents may name, beside the main one. */
export const namedModels = z
  .record(
    modelName,
    z.strictObject({
      ...ofEachEndpoint,
      name: z.string().min(1),
      /** The environment variable with its key. Default: the key of the main endpoint, if this model is there, or else none. */
      key: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of a variable')
        .optional(),
      /** The named model that is asked if this one does not answer; `main` is the main model. Default: none is. */
      fallback: modelName.optional(),
    }),
  )
  .superRefine((models, context) => {
    for (const [name, { fallback }] of Object.entries(models)) {
      if (name === mainModel) context.addIssue({ code: 'custom', path: [name], message: 'is the name of the model in "model"' })
      if (fallback === undefined || fallback === mainModel) continue
      if (fallback === name || !Object.hasOwn(models, fallback))
        context.addIssue({ code: 'custom', path: [name, 'fallback'], message: `must be another model in "models", or ${mainModel}` })
    }
  })
  .default({})

/** The name of the model in `model`. */
const mainModel = 'main'
