// Asks a server one step after the other and judges what came back. Each step ends within `stepMsMax`, and no
// step begins after `signal` is aborted or after `requestsMax` requests. If the first step fails, nothing
// else is asked: the address, the key or the model is wrong, and each further request would say so again. A
// step that meets a limit over time is asked once more, after the wait that the server asks for. No verdict
// contains the key, even if the server echoes it.
import { setTimeout as wait } from 'node:timers/promises'
import { type ChatProvider, ProviderError } from '@beaver/agent'
import { addUsage, type ModelSettings, type Usage } from '@beaver/core'
import { hideSecrets, protectSecrets } from '@beaver/core/secrets'
import { type HttpPost, openAiChatProvider, openAiResponsesProvider } from '@beaver/providers/endpoint'
import type { Heard } from './heard.ts'
import { probes, type Verdict, verdictOf } from './probes.ts'
import { type Exchange, recorder } from './recorder.ts'
import { type AskedRequest, type HeardSoFar, type StepName, type StepOptions, steps } from './steps.ts'

/** The server, and how it is asked. The names are those of the configuration. */
export interface AskedServer {
  /** `null`: OpenAI's. */
  readonly baseURL: string | null
  /** `null`: no key is sent. */
  readonly key: string | null
  /** The variable that has the key, for messages. */
  readonly keyName: string
  readonly keyHeader: string | null
  readonly model: string
  readonly protocol: 'chat_completions' | 'responses'
  readonly reasoningEffort: string | null
  readonly outputTokensMax: number
  readonly contextTokens: number | null
  readonly overflowTokensMax: number
}

export interface RunLimits {
  readonly stepMsMax: number
  /** Ends the run. */
  readonly signal: AbortSignal
  /** Waits for a limit over time. Default: in real time. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** How the requests of a step are sent. */
export type StepPost = (step: StepName) => HttpPost

export interface Judged extends Verdict {
  readonly name: string
  readonly needed: boolean
  readonly step: StepName
}

export interface ProbeRun {
  readonly judged: readonly Judged[]
  readonly steps: readonly {
    readonly name: StepName
    readonly ms: number
    readonly exchanges: readonly Exchange[]
  }[]
  readonly requests: number
  readonly usage: Usage
  /** The model in the spelling of the server. */
  readonly answeredBy: string | null
  /** Why nothing else was asked after the first step. `null`: the server answered it. */
  readonly failure: string | null
}

/** A server may have to be asked again without what it does not take. */
const requestsMax = 20
const limitMsMax = 20_000
const limitMsDefault = 2_000
/** Local servers need some key, but ignore its value. */
const noKey = 'none'
const providerName = 'probed'

/** What the exit code says: whether everything that a team needs was seen, and nothing is wrong. */
export const isFit = ({ judged }: Pick<ProbeRun, 'judged'>): boolean =>
  judged.every(({ needed, result }) => result === 'passed' || (!needed && result !== 'failed'))

/** @throws {BeaverError} `invalid_configuration` if the URL cannot be used */
export async function runProbes(server: AskedServer, posts: StepPost, limits: RunLimits): Promise<ProbeRun> {
  const secrets = server.key === null ? [] : [{ name: server.keyName, value: server.key }]
  const release = protectSecrets(secrets)
  try {
    return await askAll(server, posts, limits, hideSecrets(secrets))
  } finally {
    release()
  }
}

async function askAll(
  server: AskedServer,
  posts: StepPost,
  limits: RunLimits,
  hide: (text: string) => string,
): Promise<ProbeRun> {
  let at: StepName = 'plain'
  const record = recorder((...request) => posts(at)(...request))
  const options: StepOptions = {
    provider: providerName,
    contextTokens: server.contextTokens,
    overflowTokensMax: server.overflowTokensMax,
  }
  const asker = new Asker(server, record.http, limits)
  const heard: HeardSoFar = {}
  const done: { name: StepName; ms: number; exchanges: readonly Exchange[] }[] = []
  let failure: string | null = null
  for (const name of Object.keys(steps) as StepName[]) {
    at = name
    const begun = performance.now()
    const request = steps[name](heard, options) as AskedRequest | { readonly unasked: string }
    const sent = done.reduce((sum, { exchanges }) => sum + exchanges.length, 0)
    if (failure !== null)
      heard[name] = { kind: 'unasked', why: 'nothing is asked after the first request failed' }
    else if (sent >= requestsMax)
      heard[name] = { kind: 'unasked', why: `${requestsMax} requests were sent before it` }
    else
      heard[name] =
        'unasked' in request ? { kind: 'unasked', why: request.unasked } : await asker.ask(request)
    done.push({ name, ms: Math.round(performance.now() - begun), exchanges: record.take() })
    const { plain } = heard
    if (name === 'plain' && plain !== undefined && plain.kind !== 'answer')
      failure = plain.kind === 'failure' ? plain.message : `The server did not answer: ${plain.why}.`
  }
  const judged = probes.map((probe): Judged => {
    const exchanges = done.find(({ name }) => name === probe.step)?.exchanges ?? []
    const { result, seen } = verdictOf(probe, heard[probe.step] ?? { kind: 'unasked', why: '' }, {
      heard,
      exchanges,
      options,
    })
    return { name: probe.name, needed: probe.needed, step: probe.step, result, seen: hide(seen) }
  })
  return {
    judged,
    steps: done,
    requests: done.reduce((sum, { exchanges }) => sum + exchanges.length, 0),
    usage: asker.usage,
    answeredBy: heard.plain?.kind === 'answer' ? heard.plain.answer.model : null,
    failure,
  }
}

class Asker {
  readonly #server: AskedServer
  readonly #http: HttpPost
  readonly #limits: RunLimits
  readonly #main: ChatProvider
  usage: Usage = { input_tokens: 0, output_tokens: 0, calls: 0 }

  constructor(server: AskedServer, http: HttpPost, limits: RunLimits) {
    this.#server = server
    this.#http = http
    this.#limits = limits
    this.#main = this.#provider(server.model)
  }

  #provider(model: string): ChatProvider {
    const { baseURL, key, keyName, keyHeader, protocol, reasoningEffort, contextTokens } = this.#server
    const options = {
      ...{
        name: providerName,
        apiKey: key ?? noKey,
        keyName,
        model,
        timeoutMs: this.#limits.stepMsMax,
        http: this.#http,
      },
      ...(baseURL === null ? {} : { baseURL }),
      ...(keyHeader === null ? {} : { keyHeader }),
      ...(reasoningEffort === null ? {} : { settings: { reasoning_effort: reasoningEffort } }),
      ...(contextTokens === null ? {} : { contextTokens }),
    }
    return protocol === 'responses' ? openAiResponsesProvider(options) : openAiChatProvider(options)
  }

  async ask(request: AskedRequest): Promise<Heard> {
    const first = await this.#once(request)
    if (first.kind !== 'failure' || first.class !== 'rate_limited') return first
    const ms = first.retryAfterMs ?? limitMsDefault
    if (ms > limitMsMax) return first
    try {
      await (this.#limits.pause ?? realPause)(ms, this.#limits.signal)
    } catch {
      return first
    }
    return this.#once(request)
  }

  async #once({
    messages,
    tools = [],
    output,
    images,
    streamed,
    model,
    outputTokensMax,
  }: AskedRequest): Promise<Heard & { retryAfterMs?: number | null }> {
    const { signal } = this.#limits
    const pieces: string[] = []
    const settings: ModelSettings = { output_tokens_max: outputTokensMax ?? this.#server.outputTokensMax }
    const provider = model === undefined ? this.#main : this.#provider(model)
    try {
      const onText =
        streamed === undefined ? {} : { onText: (text: string) => void (text === '' || pieces.push(text)) }
      const answer = await provider.chat({ messages, tools, settings, output, images, signal, ...onText })
      this.usage = addUsage(this.usage, answer.usage)
      return { kind: 'answer', answer, pieces }
    } catch (error) {
      if (signal.aborted) return { kind: 'unasked', why: `the run ended, because ${reasonOf(signal)}` }
      if (!(error instanceof ProviderError)) throw error
      if (error.paid !== null) this.usage = addUsage(this.usage, error.paid.usage)
      return {
        kind: 'failure',
        class: error.class,
        status: error.status,
        message: error.message,
        retryAfterMs: error.retryAfterMs,
      }
    }
  }
}

const realPause = (ms: number, signal: AbortSignal): Promise<unknown> => wait(ms, undefined, { signal })

const reasonOf = ({ reason }: AbortSignal): string =>
  reason instanceof Error ? reason.message : String(reason)
