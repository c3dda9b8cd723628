// The models of a configuration by name: shared endpoints, models, and the route that begins at each model. A
// route is the model and the names of its `fallback`, in order; a fallback's own fallback does not count, so
// each model is in a route at most once. A model's fields replace those of its endpoint, except the URL and
// the key.
import { z } from 'zod'
import { type EndpointConfig, faultOfLogin, limitsOfEndpoint, modelName, ofEachEndpoint } from './endpoint.ts'
import { price } from './prices.ts'

/** The name of the model in `model`. */
const mainModel = 'main'
/** The fallbacks of one model. */
const fallbacksMax = 8

/**
 * The environment variable with a key. Default: the key of the main endpoint, if it has its URL, or else
 * none.
 */
const keyVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of a variable')
  .optional()

const oneOrMore = <Item extends z.ZodType<string>>(item: Item) =>
  z.union([item, z.array(item).min(1, 'must not be empty').max(fallbacksMax)])

/** The models that are asked in this order if the first one does not answer; `main` is the main model. */
export const route = oneOrMore(z.string().min(1, 'must not be empty').max(200))

/** Models that profiles and agents may name, beside the main one. */
export const namedModels = z
  .record(
    modelName,
    z.strictObject({
      ...ofEachEndpoint,
      ...limitsOfEndpoint,
      name: z.string().min(1),
      /**
       * The name of an endpoint in `endpoints`, which gives the URL, the key and what else the model does not
       * say itself.
       */
      endpoint: z.string().optional(),
      key: keyVariable,
      price: price.optional(),
      /** Default: no other model is asked. */
      fallback: route.optional(),
    }),
  )
  .default({})

/** Endpoints that several models share. The key is the name: `router` of `router/qwen3`. */
export const sharedEndpoints = z
  .record(
    modelName,
    z.strictObject({
      ...ofEachEndpoint,
      ...limitsOfEndpoint,
      key: keyVariable,
      /** The price of its models that have none of their own. */
      price: price.optional(),
      /** The models there that profiles and agents may name as `endpoint/name`. */
      models: z.array(z.string().min(1, 'must not be empty').max(135)).max(1_000).default([]),
    }),
  )
  .default({})

type NamedModels = z.output<typeof namedModels>
type SharedEndpoints = z.output<typeof sharedEndpoints>
type NamedModel = NamedModels[string]

/** The names of a route after its first model. */
export const namesOfRoute = (fallback: string | readonly string[] | undefined): readonly string[] =>
  fallback === undefined ? [] : typeof fallback === 'string' ? [fallback] : fallback

/** The names of the main model's route after it. An inline fallback has no name. */
export const routeOf = ({ fallback }: { readonly fallback?: unknown }): readonly string[] =>
  typeof fallback === 'string' || Array.isArray(fallback)
    ? namesOfRoute(fallback as string | readonly string[])
    : []

/**
 * All models by name: those of `models`, with what their endpoint says, and `endpoint/name` for each model of
 * an endpoint.
 */
export function allModels({
  models,
  endpoints,
}: {
  readonly models: NamedModels
  readonly endpoints: SharedEndpoints
}): NamedModels {
  const ofEndpoints = Object.entries(endpoints).flatMap(([endpoint, { models: names }]) =>
    names.map((name) => [`${endpoint}/${name}`, { name, settings: {}, headers: {}, endpoint }] as const),
  )
  return Object.fromEntries(
    [...Object.entries(models), ...ofEndpoints].map(([name, model]): [string, NamedModel] => {
      const shared = model.endpoint === undefined ? undefined : endpoints[model.endpoint]
      if (shared === undefined) return [name, model]
      const { models: _, ...endpointFields } = shared
      const { headers, settings } = endpointFields
      return [
        name,
        {
          ...endpointFields,
          ...model,
          headers: { ...headers, ...model.headers },
          settings: { ...settings, ...model.settings },
        },
      ]
    }),
  )
}

/** The fallback of the main model if it is an endpoint of its own and not a route. */
export function inlineFallback<Fallback>({
  fallback,
}: {
  readonly fallback?: Fallback
}): Exclude<Fallback, string | readonly string[]> | undefined {
  return typeof fallback === 'string' || Array.isArray(fallback)
    ? undefined
    : (fallback as Exclude<Fallback, string | readonly string[]> | undefined)
}

interface Content {
  readonly model: Partial<EndpointConfig> & {
    readonly fallback?: Partial<EndpointConfig> | string | readonly string[] | undefined
    readonly auxiliary?: Partial<EndpointConfig> | undefined
    readonly embeddings?: Partial<EndpointConfig> | undefined
  }
  readonly models: NamedModels
  readonly endpoints: SharedEndpoints
}

/** The models that a program brings besides, with their routes. */
export type BroughtModels = Readonly<
  Record<string, { readonly fallback?: string | readonly string[] | undefined }>
>

/** Names that nothing has or that two things have, and routes that go in circles. */
export function checkRoutes(
  { model, models, endpoints }: Content,
  context: z.RefinementCtx,
  brought: BroughtModels = {},
): void {
  const fault = (path: readonly string[], message: string): void =>
    context.addIssue({ code: 'custom', path: [...path], message })
  for (const [name, { endpoint, base_url, key }] of Object.entries(models)) {
    if (name === mainModel) fault(['models', name], 'is the name of the model in "model"')
    if (endpoint === undefined) continue
    if (!Object.hasOwn(endpoints, endpoint))
      fault(['models', name, 'endpoint'], `must be an endpoint in "endpoints"; ${quoted(endpoint)} is none`)
    if (base_url !== undefined)
      fault(
        ['models', name, 'base_url'],
        `must be left out, because the endpoint ${quoted(endpoint)} has the URL`,
      )
    if (key !== undefined)
      fault(['models', name, 'key'], `must be left out, because the endpoint ${quoted(endpoint)} has the key`)
  }
  const configured = allModels({ models, endpoints })
  const inline = inlineFallback(model)
  const logins: readonly (readonly [readonly string[], Partial<EndpointConfig>])[] = [
    [['model'], model],
    [['model', 'fallback'], inline ?? {}],
    [['model', 'auxiliary'], model.auxiliary ?? {}],
    [['model', 'embeddings'], model.embeddings ?? {}],
    ...Object.entries(configured).map(([name, login]) => [['models', name], login] as const),
  ]
  for (const [path, login] of logins) {
    const wrong = faultOfLogin({ base_url: model.base_url, ...login })
    if (wrong !== null) fault(path, wrong)
  }
  for (const name of Object.keys(brought)) {
    if (Object.hasOwn(configured, name))
      fault(
        ['models', name],
        'is also the name of a model that the program brings; give one of them another name',
      )
    if (name !== mainModel && !modelName.safeParse(name).success)
      fault(['models', name], 'the name must be 1 to 64 letters, digits, ".", "_" or "-"')
  }
  if (Object.hasOwn(brought, mainModel) && model.base_url !== undefined)
    fault(
      ['model', 'base_url'],
      `must be left out, because the program brings the model ${quoted(mainModel)}`,
    )
  const known = { ...configured, ...brought }
  const routes: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    [mainModel, routeOf(model), ['model', 'fallback']],
    ...[...Object.entries(models), ...Object.entries(brought)].map(
      ([name, { fallback }]) => [name, namesOfRoute(fallback), ['models', name, 'fallback']] as const,
    ),
  ]
  for (const [first, names, path] of routes)
    for (const [index, name] of names.entries()) {
      const before = [first, ...names.slice(0, index)]
      if (before.includes(name))
        fault(path, `has ${quoted(name)} twice in the route ${[...before, name].join(' → ')}`)
      else if (name !== mainModel && !Object.hasOwn(known, name))
        fault(
          path,
          `names ${quoted(name)} after ${quoted(first)}, but no model has that name; it must be ${first === mainModel ? '' : `${mainModel}, `}a name in "models" or endpoint/name`,
        )
    }
}

const quoted = (name: string): string => JSON.stringify(name)
