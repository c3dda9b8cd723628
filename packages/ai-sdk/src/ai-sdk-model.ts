// A language model of the AI SDK as a ChatProvider: `aiSdkModel(openai('gpt-5'))`. It speaks the
// specification of models (`LanguageModelV4`), which every provider of the AI SDK has, and uses neither its
// loop nor its retries: those are Beaver's. One call of the port is one call of the model. Only a model that
// refuses the form of the answer, or an image, is asked again without it. A streamed answer and a whole one
// are read by the same rules. A call ends when its signal aborts, even if the model goes on.
import type { LanguageModelV4, LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ChatAnswer, ChatProvider, ChatRequest } from '@beaver/agent'
import { BeaverError } from '@beaver/core'
import {
  FormHabits,
  formRefusedBy,
  ImageHabits,
  refusalThrown,
  type SentForm,
  type StructuredOutput,
  untilAborted,
} from '@beaver/providers'
import { answerOf } from './answer.ts'
import { callOptions } from './call-options.ts'
import { modelError } from './model-error.ts'
import { promptOf } from './prompt.ts'
import { type ModelOutput, streamedOutput } from './streamed-output.ts'
import { type TellWarning, warningTeller } from './warnings.ts'

/** How Beaver uses a model of the AI SDK. */
export interface AiSdkModelOptions {
  /**
   * The context window of the model, in tokens. A conversation is shortened before it is longer. Default: the
   * model says when it is too long.
   */
  readonly contextTokens?: number
  /**
   * Options for the provider of each call, by its name: `{ openai: { serviceTier: 'flex' } }`. Default: none.
   */
  readonly providerOptions?: SharedV4ProviderOptions
  /** Further headers of each call. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Whether the model takes images. If not, it reads a text in place of each. Default: the model says so when
   * it is asked.
   */
  readonly images?: boolean
  /**
   * When the model itself is asked for an answer of a JSON Schema: in each call, in calls without tools, or
   * never. Default: `auto`, without tools.
   */
  readonly structuredOutput?: StructuredOutput
  /**
   * Gets each warning of the model once, such as that it does not know a setting. Default:
   * `process.emitWarning`.
   */
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

  /** Asks, and again without what the model refuses. Each refusal teaches one thing, so it ends. */
  async #asked(request: ChatRequest): Promise<ModelOutput> {
    const { structuredOutput = 'auto' } = this.#options
    for (let shown = false; ;) {
      const form = this.#form.sentFor(request, structuredOutput)
      const given = this.#given(request, form)
      const images = this.#images.sent(request)
      const show = request.onText
      try {
        const output = await this.#output(given, {
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
    given: LanguageModelV4CallOptions,
    { signal, onText }: Pick<ChatRequest, 'signal' | 'onText'>,
  ): Promise<ModelOutput> {
    if (onText === undefined) return untilAborted(this.#model.doGenerate(given), signal)
    const { stream } = await untilAborted(this.#model.doStream(given), signal)
    return streamedOutput(stream, { signal, onText })
  }

  #learnsImages(error: unknown, sent: readonly string[]): boolean {
    const said = refusalThrown(error)
    return said !== null && (this.#images.learns(said, sent) || this.#images.learnsBad(said, sent))
  }

  #given(request: ChatRequest, form: SentForm | null): LanguageModelV4CallOptions {
    const { providerOptions, headers } = this.#options
    return {
      prompt: promptOf(request, { name: this.name, shown: this.#images.shown(request) }),
      ...callOptions(request, {
        form,
        provider: this.name,
        ...(providerOptions === undefined ? {} : { providerOptions }),
      }),
      ...(headers === undefined ? {} : { headers: { ...headers } }),
      abortSignal: request.signal,
    }
  }
}

function modelFault(model: unknown): string | null {
  const given = 'A model of the AI SDK is needed, such as openai("gpt-5"):'
  if (typeof model !== 'object' || model === null)
    return `${given} this is a ${typeof model}. A name alone is not enough, because Beaver has no gateway.`
  const { specificationVersion: version, doGenerate, doStream } = model as Partial<LanguageModelV4>
  if (typeof doGenerate !== 'function' || typeof doStream !== 'function')
    return `${given} this object has no doGenerate and doStream.`
  return version === 'v4'
    ? null
    : `${given} this one has the specification ${String(version)}, and Beaver knows v4. Update its package.`
}
