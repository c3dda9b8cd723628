// The settings, the tools and the form of the answer of one call. A setting that a person made is given or
// refused, and never left out. What nobody set is not given. Requests of one conversation have one key for
// the cache where the provider is known to want it: OpenAI. `extra_body` has fields by the name of their
// provider here, because a provider of the AI SDK knows no other fields.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { type ChatRequest, ProviderError, toolNameAtProvider, type ToolSchema } from '@beaver/agent'
import type { JsonObject, ModelSettings } from '@beaver/core'
import type { SentForm } from '@beaver/providers'

export interface AskedFor {
  /** What the request says about the form of the answer. `null`: nothing. */
  readonly form: SentForm | null
  /** The options of each call. Default: none. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** The provider that is asked. */
  readonly provider: string
}

type Options = Omit<LanguageModelV4CallOptions, 'prompt'>

/** @throws {ProviderError} `provider_refused` */
export function callOptions(
  { settings = {}, tools, output, cache }: ChatRequest,
  { form, providerOptions = {}, provider }: AskedFor,
): Options {
  const keyed =
    cache !== undefined && provider.startsWith('openai.')
      ? { openai: { promptCacheKey: cache.key, ...providerOptions['openai'] } }
      : {}
  return {
    ...settingsOf(settings, { ...providerOptions, ...keyed }),
    ...(tools.length === 0 ? {} : { tools: tools.map(functionTool), toolChoice: { type: 'auto' } }),
    ...(form === null || output === undefined ? {} : { responseFormat: formOf(output, form) }),
  }
}

const functionTool = ({ name, description, parameters }: ToolSchema): LanguageModelV4FunctionTool => ({
  type: 'function',
  name: toolNameAtProvider(name),
  description,
  inputSchema: parameters,
})

const formOf = (
  { name, schema }: NonNullable<ChatRequest['output']>,
  { level }: SentForm,
): NonNullable<Options['responseFormat']> =>
  level === 'json_schema' ? { type: 'json', name, schema } : { type: 'json' }

type Effort = NonNullable<Options['reasoning']>
const efforts: ReadonlySet<string> = new Set<Effort>([
  'provider-default',
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
])
const isEffort = (word: string): word is Effort => efforts.has(word)

function settingsOf(
  { temperature, top_p, output_tokens_max, reasoning_effort: effort, extra_body }: ModelSettings,
  always: SharedV4ProviderOptions,
): Options {
  if (effort !== undefined && !isEffort(effort))
    throw new ProviderError(
      'provider_refused',
      `The AI SDK has no reasoning_effort ${JSON.stringify(effort)}. It has ${[...efforts].join(', ')}.`,
    )
  const options = mergedOptions(always, extra_body)
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { topP: top_p }),
    ...(output_tokens_max === undefined ? {} : { maxOutputTokens: output_tokens_max }),
    ...(effort === undefined ? {} : { reasoning: effort }),
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: options }),
  }
}

function mergedOptions(always: SharedV4ProviderOptions, extra: JsonObject = {}): SharedV4ProviderOptions {
  const merged: SharedV4ProviderOptions = { ...always }
  for (const [name, fields] of Object.entries(extra)) {
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
      throw new ProviderError(
        'provider_refused',
        `extra_body.${name} must be an object with options of the AI SDK's provider ${name}.`,
      )
    merged[name] = { ...merged[name], ...(fields as SharedV4ProviderOptions[string]) }
  }
  return merged
}
