// GET /v1/models: the agents as models that a client of OpenAI can name.
import { z } from 'zod'
import { agentNames } from '../agents.ts'
import { json, type Route, route } from '../route.ts'
import { noSuchModel } from './parameters.ts'

const model = z.object({
  id: z.string().describe('beaver (the default profile), the name of a profile, or workflow:<id>.'),
  object: z.literal('model'),
  created: z.int().describe('Always 0: files of profiles and workflows have no date that counts.'),
  owned_by: z.literal('beaver'),
})

const shown = (id: string): z.infer<typeof model> => ({ id, object: 'model', created: 0, owned_by: 'beaver' })
const place = { tag: 'openai', role: 'submit', method: 'get' } as const

const listing = route(
  {
    ...place,
    at: '/v1/models',
    name: 'listModels',
    says: 'The profiles and the workflows that a request may name as its model.',
    answer: {
      status: 200,
      says: 'All of them.',
      schema: z.object({ object: z.literal('list'), data: z.array(model) }),
    },
  },
  {},
  async ({ host }) => json({ object: 'list', data: (await agentNames(host)).map(shown) }),
)

const showing = route(
  {
    ...place,
    at: '/v1/models/{model}',
    name: 'showModel',
    says: 'One model.',
    answer: { status: 200, says: 'The model.', schema: model },
  },
  { path: z.strictObject({ model: z.string().min(1).max(256).describe('The name of the model.') }) },
  async ({ path, host }) => {
    if (!(await agentNames(host)).includes(path.model)) throw noSuchModel(path.model)
    return json(shown(path.model))
  },
)

export const modelRoutes: readonly Route[] = [listing, showing]
