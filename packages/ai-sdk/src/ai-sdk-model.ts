// A language model of the AI SDK (`LanguageModelV4`) as a ChatProvider: `aiSdkModel(openai('gpt-5'))`. Beaver
// has the loop and the retries; only a model that refuses the form of the answer, or an image, is asked again
// without it. A call ends when its signal aborts, even if the model continues.
import {
  AISDKError,
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4FinishReason,
  type LanguageModelV4FunctionTool,
  type LanguageModelV4Usage,
  type SharedV4ProviderOptions,
  type SharedV4Warning,
} from '@ai-sdk/provider'
import {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  finishMeaning,
  ProviderError,
  toolNameAtProvider,
  toolNamesFromProvider,
  type ToolSchema,
} from '@beaver/agent'
import {
  BeaverError,
  type JsonObject,
  messageOf,
  type ModelSettings,
  partsOfUsage,
  type ToolCall,
  type Usage,
  type UsagePart,
} from '@beaver/core'
import { maskSecrets } from '@beaver/core/secrets'
import type { FailureClass } from '@beaver/core/supervision'
import { traceHeaders } from '@beaver/core/trace'
import {
  FormHabits,
  formRefusedBy,
  hasNetworkCode,
  ImageHabits,
  providerErrorFrom,
  refusalThrown,
  type SentForm,
  type StructuredOutput,
  untilAborted,
} from '@beaver/providers'
import { keptContent, promptOf } from './prompt.ts'
import { type ModelOutput, streamedOutput } from './streamed-output.ts'

/** What the AI SDK does not say about a model. */
export interface AiSdkModelOptions {
  /**
   * The model's context window, in tokens. A conversation is shortened before it exceeds the window. Default:
   * the model's refusal tells.
   */
  readonly contextTokens?: number
  /** Options of each call, by the provider's name: `{ openai: { serviceTier: 'flex' } }`. Default: none. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** Further headers of each call. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the model takes images. If not, a text replaces each. Default: the model's refusal tells. */
  readonly images?: boolean
  /**
   * When to ask the model itself for an answer of a JSON Schema: in each call, in calls without tools, or
   * never. Default: `auto`, without tools.
   */
  readonly structuredOutput?: StructuredOutput
  /** Gets each warning of the model once, such as an unknown setting. Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
}

/**
 * Makes a model of the AI SDK a model for `AgentService({ models })`.
 *
 * @throws {BeaverError} `invalid_configuration` if it is no `LanguageModelV4`
 * @example
 * import { MockLanguageModelV4 } from 'ai/test'
 *
 * aiSdkModel(new MockLanguageModelV4({ provider: 'mock', modelId: 'm-1' })).model // => 'm-1'
 */
export function aiSdkModel(model: LanguageModelV4, options: AiSdkModelOptions = {}): ChatProvider {
  const fault = modelFault(model)
  if (fault !== null)
    throw new BeaverError('invalid_configuration', fault, { problems: [{ path: 'models', message: fault }] })
  return new AiSdkModel(model, options)
}

class AiSdkModel implements ChatProvider {
  readonly name: string
  readonly model: string
  readonly contextTokens?: number
  readonly #model: LanguageModelV4
  readonly #options: AiSdkModelOptions
  readonly #form = new FormHabits()
  readonly #images: ImageHabits
  readonly #tell: TellWarning

  constructor(model: LanguageModelV4, options: AiSdkModelOptions) {
    this.name = model.provider
    this.model = model.modelId
    if (options.contextTokens !== undefined) this.contextTokens = options.contextTokens
    this.#model = model
    this.#images = new ImageHabits(options.images)
    this.#options = options
    this.#tell = warningTeller(`${model.provider} ${model.modelId}`, options.onWarning)
  }

  async chat(request: ChatRequest): Promise<ChatAnswer> {
    const { signal, tools } = request
    signal.throwIfAborted()
    try {
      const output = await this.#asked(request)
      const answer = answerOf(output, { request, model: this.model, provider: this.name })
      this.#tell(output.warnings)
      return answer
    } catch (error) {
      signal.throwIfAborted()
      throw modelError(error, { provider: this.name, model: this.model, tools })
    }
  }

  /** Asks, and again without what the model refuses. Each refusal teaches one thing, so this ends. */
  async #asked(request: ChatRequest): Promise<ModelOutput> {
    const { structuredOutput = 'auto' } = this.#options
    for (let shown = false; ;) {
      const form = this.#form.sentFor(request, structuredOutput)
      const modelOptions = this.#callOptions(request, form)
      const images = this.#images.sent(request)
      const show = request.onText
      try {
        const output = await this.#output(modelOptions, {
          ...request,
          ...(show === undefined ? {} : { onText: (text: string) => ((shown = true), show(text)) }),
        })
        this.#images.taken(images)
        return output
      } catch (error) {
        const learns =
          (form !== null && this.#form.learns(formRefusedBy(error), form)) ||
          this.#learnsImages(error, images)
        if (shown || !learns) throw error
      }
    }
  }

  async #output(
    options: LanguageModelV4CallOptions,
    { signal, onText }: Pick<ChatRequest, 'signal' | 'onText'>,
  ): Promise<ModelOutput> {
    if (onText === undefined) return untilAborted(this.#model.doGenerate(options), signal)
    const { stream } = await untilAborted(this.#model.doStream(options), signal)
    return streamedOutput(stream, { signal, onText })
  }

  #learnsImages(error: unknown, sent: readonly string[]): boolean {
    const refusal = refusalThrown(error)
    return refusal !== null && (this.#images.learns(refusal, sent) || this.#images.learnsBad(refusal, sent))
  }

  #callOptions(request: ChatRequest, form: SentForm | null): LanguageModelV4CallOptions {
    const { providerOptions, headers } = this.#options
    return {
      prompt: promptOf(request, { name: this.name, shown: this.#images.shown(request) }),
      ...callOptions(request, {
        form,
        provider: this.name,
        ...(providerOptions === undefined ? {} : { providerOptions }),
      }),
      ...(headers === undefined && request.trace === undefined
        ? {}
        : { headers: { ...traceHeaders(request.trace), ...headers } }),
      abortSignal: request.signal,
    }
  }
}

function modelFault(model: unknown): string | null {
  const requirement = 'A model of the AI SDK is needed, such as openai("gpt-5"):'
  if (typeof model !== 'object' || model === null)
    return `${requirement} this is a ${typeof model}. A name alone is not enough, because Beaver has no gateway.`
  const { specificationVersion: version, doGenerate, doStream } = model as Partial<LanguageModelV4>
  if (typeof doGenerate !== 'function' || typeof doStream !== 'function')
    return `${requirement} this object has no doGenerate and doStream.`
  return version === 'v4'
    ? null
    : `${requirement} this one has the specification ${String(version)}, and Beaver knows v4. Update its package.`
}

type TellWarning = (warnings: readonly SharedV4Warning[] | undefined) => void

/** Models may make a new warning for each call. */
const toldMax = 100

/**
 * Reports each warning once.
 * @param who the model, in words
 * @param tell default: `process.emitWarning`
 */
function warningTeller(
  who: string,
  tell: (message: string) => void = (message) => process.emitWarning(message, 'BeaverAiSdk'),
): TellWarning {
  const reported = new Set<string>()
  return (warnings = []) => {
    for (const warning of warnings) {
      const text = textOf(warning)
      if (reported.has(text) || reported.size >= toldMax) continue
      reported.add(text)
      tell(`The model ${who} says: ${text}`)
    }
  }
}

function textOf(warning: SharedV4Warning): string {
  switch (warning.type) {
    case 'unsupported':
      return `${warning.feature} is not supported.${more(warning.details)}`
    case 'compatibility':
      return `${warning.feature} is only imitated.${more(warning.details)}`
    case 'deprecated':
      return `${warning.setting} is deprecated. ${warning.message}`
    default:
      return warning.message
  }
}

const more = (details: string | undefined): string => (details === undefined ? '' : ` ${details}`)

// The failure class of an error of the AI SDK. An HTTP status counts as that of any endpoint. The SDK's own
// statement whether a call may be repeated counts only if it differs from what the status says.

interface FailedModel {
  readonly provider: string
  readonly model: string
  readonly tools: readonly ToolSchema[]
}

/** Errors of the SDK itself, by their names. */
const classes: Readonly<Record<string, FailureClass>> = {
  AI_LoadAPIKeyError: 'provider_refused',
  AI_LoadSettingError: 'provider_refused',
  AI_NoSuchModelError: 'provider_refused',
  AI_NoSuchProviderReferenceError: 'provider_refused',
  AI_UnsupportedFunctionalityError: 'provider_refused',
  AI_InvalidArgumentError: 'provider_refused',
  AI_InvalidPromptError: 'provider_refused',
  AI_EmptyResponseBodyError: 'malformed_output',
  AI_InvalidResponseDataError: 'malformed_output',
  AI_JSONParseError: 'malformed_output',
  AI_NoContentGeneratedError: 'malformed_output',
  AI_TypeValidationError: 'malformed_output',
}

function modelError(thrown: unknown, { provider, model, tools }: FailedModel): ProviderError {
  const isCall = APICallError.isInstance(thrown)
  const where = (isCall ? URL.parse(thrown.url)?.host : undefined) ?? `of ${provider}`
  const failed = providerErrorFrom(thrown, { where, model, keyName: `the key of ${provider}`, tools })
  if (isCall) return judged(thrown, failed, { where, broke: hasNetworkCode(thrown) })
  const known = AISDKError.isInstance(thrown) ? classes[thrown.name] : undefined
  return known === undefined
    ? failed
    : new ProviderError(
        known,
        `The endpoint ${where} failed: ${maskSecrets(thrown instanceof Error ? thrown.message : 'it does not say why')}`,
      )
}

const tryAgain: ReadonlySet<FailureClass> = new Set([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
])

function judged(
  { isRetryable, statusCode, message }: APICallError,
  failed: ProviderError,
  { where, broke }: { readonly where: string; readonly broke: boolean },
): ProviderError {
  const { status, retryAfterMs, refusedTools } = failed
  const details = { status, retryAfterMs, refusedTools }
  // The server answered, but the SDK could not read it: the answer is malformed, or the connection broke.
  if (statusCode !== undefined && statusCode < 400 && !broke)
    return new ProviderError(
      'malformed_output',
      `The endpoint ${where} sent an answer that cannot be read: ${maskSecrets(message)}`,
    )
  if (statusCode === undefined || statusCode < 400 || isRetryable === byStatus(statusCode)) return failed
  if (isRetryable)
    return failed.class === 'provider_refused'
      ? new ProviderError('provider_unavailable', failed.message, details)
      : failed
  return tryAgain.has(failed.class) ? new ProviderError('provider_refused', failed.message, details) : failed
}

const byStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || status >= 500

// The settings, the tools and the answer's form of one call. A person's setting is passed on or refused,
// never dropped. Requests of one conversation have one cache key, for OpenAI only. `extra_body` names fields
// by their provider here, because the AI SDK's providers know no other fields.

interface AskedFor {
  /** What the request says about the answer's form. `null`: nothing. */
  readonly form: SentForm | null
  /** The options of each call. Default: none. */
  readonly providerOptions?: SharedV4ProviderOptions
  readonly provider: string
}

type Options = Omit<LanguageModelV4CallOptions, 'prompt'>

/** @throws {ProviderError} `provider_refused` */
function callOptions(
  { settings = {}, tools, output, cache, mustCall }: ChatRequest,
  { form, providerOptions = {}, provider }: AskedFor,
): Options {
  const keyed =
    cache !== undefined && provider.startsWith('openai.')
      ? { openai: { promptCacheKey: cache.key, ...providerOptions['openai'] } }
      : {}
  return {
    ...settingsOf(settings, { ...providerOptions, ...keyed }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(functionTool), toolChoice: { type: mustCall === true ? 'required' : 'auto' } }),
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

// A model's output as a ChatAnswer. The finish reason is the provider's own word if Beaver knows it, else the
// unified word. No part of a usage exceeds its total.

interface Asked {
  readonly request: Pick<ChatRequest, 'tools' | 'output'>
  readonly model: string
  readonly provider: string
}

/** @throws {ProviderError} `malformed_output` if the output breaks the specification */
function answerOf(output: ModelOutput, asked: Asked): ChatAnswer {
  try {
    return readOutput(output, asked)
  } catch (error) {
    throw new ProviderError(
      'malformed_output',
      `The endpoint of ${asked.provider} gave a result that cannot be read: ${messageOf(error)}`,
    )
  }
}

function readOutput(output: ModelOutput, { request, model }: Asked): ChatAnswer {
  const { content, finishReason, usage, response } = output
  const nameOf = toolNamesFromProvider(request.tools)
  const toolCalls = content.flatMap((part): ToolCall[] => {
    // The provider ran its own tool, and the text has the result.
    if (part.type !== 'tool-call' || part.providerExecuted === true) return []
    return [
      { id: part.toolCallId, name: nameOf(part.toolName), arguments: part.input === '' ? '{}' : part.input },
    ]
  })
  const text = answerTextOf(content)
  const said = request.output === undefined ? text : (output.structuredOutputText ?? text)
  const state = toolCalls.length === 0 ? null : keptContent(content)
  return {
    content: said === '' && toolCalls.length > 0 ? null : said,
    toolCalls,
    finishReason: finishWord(finishReason),
    usage: usageOf(usage),
    model: response?.modelId || model,
    responseId: response?.id || null,
    ...(state === null ? {} : { state }),
  }
}

const answerTextOf = (content: readonly LanguageModelV4Content[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** The words of the specification, in the terms of finish-reason.ts. */
const words: Readonly<Record<LanguageModelV4FinishReason['unified'], string>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  // The provider's stream ended without its completion.
  interrupted: 'not_finished',
  other: 'other',
}

function finishWord({ unified, raw }: LanguageModelV4FinishReason): string {
  if (unified === 'error' || unified === 'interrupted') return words[unified]
  if (raw !== undefined && finishMeaning(raw) !== 'unknown') return raw
  return unified === 'other' ? raw || 'other' : words[unified]
}

function usageOf({ inputTokens: input, outputTokens: output }: LanguageModelV4Usage): Usage {
  const parts: Partial<Record<UsagePart, number>> = {
    cached_input_tokens: count(input.cacheRead),
    cache_write_tokens: count(input.cacheWrite),
    reasoning_tokens: count(output.reasoning),
    unknown_calls: isTold(input.total, input.noCache) && isTold(output.total, output.text) ? 0 : 1,
  }
  return {
    input_tokens: Math.max(
      count(input.total),
      count(input.noCache) + count(input.cacheRead) + count(input.cacheWrite),
    ),
    output_tokens: Math.max(count(output.total), count(output.text) + count(output.reasoning)),
    calls: 1,
    ...partsOfUsage((part) => parts[part] ?? 0),
  }
}

const isTold = (...counts: readonly (number | undefined)[]): boolean =>
  counts.some((tokens) => typeof tokens === 'number' && tokens >= 0 && tokens < Infinity)
const count = (tokens: number | undefined): number =>
  typeof tokens === 'number' && tokens > 0 && tokens < Infinity ? Math.round(tokens) : 0
