// `beaver models`: lists the models that a daemon would use here, with their endpoints, routes and limits. It
// asks no endpoint and shows no key. `beaver doctor` asks the endpoints.
import { type Config, inlineFallback, namesOfRoute, routeOf } from '@beaver/platform'
import { contextOf, type GlobalOptions } from '../context.ts'
import { modelInUse } from '../model.ts'
import type { Screen } from '../screen.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

interface ModelsOptions {
  readonly json?: true
}

export interface ListedModel {
  /** The name by which profiles and agents choose the model. `main` is used if they name none. */
  readonly name: string
  readonly model: string
  readonly endpoint: string
  /** The protocol of the endpoint. */
  readonly protocol: 'chat_completions' | 'responses'
  /** The environment variable with the key. `key_set` says whether it is set. */
  readonly key: string
  readonly key_set: boolean
  /** The names of the models that are asked, in this order. */
  readonly route: readonly string[]
  readonly requests_per_minute_max: number | null
  readonly tokens_per_minute_max: number | null
}

export function models(options: ModelsOptions, globals: GlobalOptions): number {
  const { config, screen } = contextOf(globals)
  const listed = modelsOf(config)
  if (options.json === true) screen.json({ models: listed })
  else {
    if (modelInUse(config).simulated)
      screen.warn(
        'All models are simulated, because none of OPENAI_API_KEY, model.base_url and model.workload_identity is set.',
      )
    screen.print(...modelsTable(listed, screen))
  }
  return 0
}

export function modelsOf(config: Pick<Config, 'model' | 'models' | 'apiKey' | 'modelKeys'>): ListedModel[] {
  const { model } = config
  const baseUrlOf = (baseUrl: string | undefined): string =>
    modelInUse({ apiKey: '', model: { name: '', base_url: baseUrl ?? model.base_url } }).baseUrl ?? ''
  const mainUrl = baseUrlOf(undefined)
  const inline = inlineFallback(model)
  const limits = (
    of: Partial<Pick<Config['model'], 'requests_per_minute_max' | 'tokens_per_minute_max'>>,
  ) => ({
    requests_per_minute_max: of.requests_per_minute_max ?? model.requests_per_minute_max ?? null,
    tokens_per_minute_max: of.tokens_per_minute_max ?? model.tokens_per_minute_max ?? null,
  })
  const main: ListedModel = {
    ...{
      name: 'main',
      model: model.name,
      endpoint: URL.parse(mainUrl)?.host ?? mainUrl,
      ...keyOf(model, { key: 'OPENAI_API_KEY', key_set: config.apiKey !== null }),
    },
    protocol: protocolOf(model),
    route: ['main', ...(inline === undefined ? [] : [`${inline.name} (model.fallback)`]), ...routeOf(model)],
    ...limits(model),
  }
  const named = Object.entries(config.models).map(([name, of]): ListedModel => {
    const url = baseUrlOf(of.base_url)
    const isSet =
      of.key === undefined
        ? url === mainUrl && config.apiKey !== null
        : (config.modelKeys[of.key] ?? null) !== null
    return {
      ...{
        name,
        model: of.name,
        endpoint: URL.parse(url)?.host ?? url,
        ...keyOf(of, { key: of.key ?? 'OPENAI_API_KEY', key_set: isSet }),
      },
      protocol: protocolOf(of),
      route: [name, ...namesOfRoute(of.fallback)],
      ...limits(of),
    }
  })
  return [main, ...named]
}

type Key = Pick<ListedModel, 'key' | 'key_set'>

/** A model with a workload identity needs no key. */
const keyOf = ({ workload_identity: identity }: Pick<Config['model'], 'workload_identity'>, key: Key): Key =>
  identity === undefined ? key : { key: 'workload_identity', key_set: true }

const protocolOf = ({
  protocol = 'chat_completions',
}: Pick<Config['model'], 'protocol'>): ListedModel['protocol'] => protocol

export function modelsTable(
  listed: readonly ListedModel[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  return table<ListedModel>(
    [
      { title: 'NAME', cell: ({ name }) => oneLine(name), paint: style.cyan },
      { title: 'MODEL', cell: ({ model }) => oneLine(model) },
      { title: 'ENDPOINT', cell: ({ endpoint }) => oneLine(endpoint), optional: 1 },
      { title: 'PROTOCOL', cell: ({ protocol }) => protocol, optional: 4 },
      { title: 'KEY', cell: ({ key, key_set }) => (key_set ? oneLine(key) : 'none'), optional: 3 },
      { title: 'LIMITS', cell: limitsText, optional: 2 },
      {
        title: 'ROUTE',
        cell: ({ route }) => (route.length === 1 ? '-' : oneLine(route.join(' → '), 300)),
        flexible: true,
      },
    ],
    listed,
    { width: columns, title: style.dim },
  )
}

function limitsText({
  requests_per_minute_max: requests,
  tokens_per_minute_max: tokens,
}: ListedModel): string {
  const parts = [
    ...(requests === null ? [] : [`${requests} requests/min`]),
    ...(tokens === null ? [] : [`${tokens} tokens/min`]),
  ]
  return parts.join(', ') || '-'
}
