// Makes one call of the model, with as many tries as the failure policies allow. A try asks main and then
// each fallback, as long as another model may answer instead (PR-02). Every failed step is durable before the
// next one, and counts are read from the run's record: a resumed run asks at once and continues after the
// step that failed. The host waits, never this thread, and may drop the loop in any pause. A try leaves out
// tools whose schemas the provider refuses. A fallback whose context window is known to be too small is not
// asked and counts as failed.
import {
  type ChatMessage,
  type DataOf,
  type DomainEvent,
  estimateTokens,
  event,
  type ModelSettings,
} from '@beaver/core'
import { imageTokens } from '@beaver/core/images'
import { maskedData } from '@beaver/core/secrets'
import { type Failure, fallbackClasses, paidTriesMax, retryPauseMs } from '@beaver/core/supervision'
import { contentsOf } from '../images/image-contents.ts'
import {
  beginningOf,
  cancelledCall,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  ProviderError,
  type ToolSchema,
  type TurnWait,
} from '../provider/chat-provider.ts'
import { endedAnswer } from '../provider/finish-reason.ts'
import type { AskedProviders } from '../provider/provider-bundle.ts'
import { type LoopWork, untilOurs } from './loop-work.ts'
import { traceOfModelCall } from './told-trace.ts'
import { boundedSettings, knownInput, reserveCall } from './reserve-call.ts'

export interface Question extends Pick<
  ChatRequest,
  'messages' | 'tools' | 'settings' | 'output' | 'mustCall'
> {
  readonly providers: AskedProviders
  /**
   * Whether the call belongs to the dialogue. Such a call is streamed if somebody follows, and the host waits
   * for its turn under a limit.
   */
  readonly live: boolean
}

export interface FailedTry {
  readonly kind: 'failed'
  readonly provider: string
  readonly error: ProviderError
  readonly durationMs: number
}

/**
 * A call that failed for good. `error` is what the run fails with; `last` is the step that is not recorded
 * yet.
 */
export interface GivenUp {
  readonly error: ProviderError
  readonly tries: number
  /** The whole wait, including failed tries. */
  readonly waitedMs: number
  readonly last: FailedTry
}

export type Asked =
  | {
      readonly kind: 'answered'
      readonly provider: string
      readonly answer: ChatAnswer
      readonly durationMs: number
    }
  /** `cut`: the call that was under way and must be paid. `null`: there was none. */
  | { readonly kind: 'cancelled'; readonly cut: FailedTry | null }
  /** A budget has no place for the call. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  | ({ readonly kind: 'given_up' } & GivenUp)

type Tried = Exclude<Asked, { kind: 'given_up' }> | FailedTry
/** The steps of a try that all failed, in the order of the route. */
type FailedSteps = readonly [FailedTry, ...FailedTry[]]

export async function askProvider(work: LoopWork, question: Question): Promise<Asked> {
  for (;;) {
    const tries = work.run().tries + 1
    const tried = await askRoute(work, question, tries)
    if (!isFailed(tried)) return tried
    const last = tried.at(-1) ?? tried[0]
    const waitedMs = work.run().due.waitedMs + last.durationMs
    const paid = work.run().due.paidTries + (last.error.paid === null ? 0 : 1)
    const pauseMs = paid >= paidTriesMax ? null : pauseAfter(work, tried, waitedMs)
    if (pauseMs === null) return { kind: 'given_up', error: reasonOf(tried), tries, waitedMs, last }
    await work.record([tryFailed(work, last, { tries, retryInMs: pauseMs })])
    const { class: failureClass, message } = last.error
    await work.host.pause(
      { ms: pauseMs, waitsFor: failureClass === 'rate_limited' ? 'limit' : 'provider', reason: message },
      work.signal,
    )
  }
}

/**
 * One try: asks the models of the route that have not failed in it, one after the other. The last failure is
 * not recorded.
 */
async function askRoute(
  work: LoopWork,
  question: Question,
  tries: number,
): Promise<Exclude<Tried, FailedTry> | FailedSteps> {
  const { main, fallbacks } = question.providers
  // A wait for a turn belongs to the model that was due before it.
  let admitted = question.live && work.takeAdmission()
  let failed = fallbacks.length === 0 ? [] : failedBefore(work, question.providers)
  let provider: ChatProvider | undefined = failed.length === 0 ? main : nextOf(question.providers, failed)
  if (provider === undefined) {
    // The route is shorter by now, so the try begins anew.
    failed = []
    provider = main
  }
  for (;;) {
    const tooLong: boolean = provider !== main && hasNoRoom(work, question, provider)
    const tried: Tried = tooLong ? notAsked(provider) : await tryOnce(work, question, { provider, admitted })
    if (tried.kind !== 'failed') return tried
    const [first, ...further] = [...failed, tried]
    const all: FailedSteps = [first, ...further]
    provider = goesOn(tried, provider === main) ? nextOf(question.providers, all) : undefined
    if (provider === undefined) return all
    await work.record([tryFailed(work, tried, { tries, retryInMs: 0 })])
    failed = [...all]
    admitted = false
  }
}

const isFailed = (tried: Exclude<Tried, FailedTry> | FailedSteps): tried is FailedSteps =>
  Array.isArray(tried)

/**
 * A conversation that is too long for main is shortened, but a further fallback may have a larger window than
 * the one before it.
 */
const goesOn = ({ error }: FailedTry, isMain: boolean): boolean =>
  fallbackClasses.has(error.class) || (!isMain && error.class === 'context_overflow')

function nextOf({ main, fallbacks }: AskedProviders, failed: readonly FailedTry[]): ChatProvider | undefined {
  const isDue = ({ name }: ChatProvider): boolean => !failed.some(({ provider }) => provider === name)
  // What comes before the step that failed last had its turn in this try.
  const last = fallbacks.findIndex(({ name }) => name === failed.at(-1)?.provider)
  return last < 0 && isDue(main) ? main : fallbacks.slice(last + 1).find(isDue)
}

/** Whether a model would have no room for its answer. */
export function hasNoRoom(
  { assembly }: LoopWork,
  { messages, settings, tools }: Question,
  { contextTokens }: ChatProvider,
): boolean {
  return (
    contextTokens !== undefined &&
    outgrows(contextTokens, {
      messages,
      settings,
      toolsTokens: tools.length === 0 ? 0 : assembly.toolsTokens,
    })
  )
}

/**
 * By how many tokens the conversation is too long for the main model, by an estimate. `null`: its window is
 * not known.
 */
export function tokensTooMany(
  { assembly }: LoopWork,
  { messages, settings, tools, providers }: Question,
): number | null {
  const { contextTokens } = providers.main
  return contextTokens === undefined
    ? null
    : tokensOver(contextTokens, {
        messages,
        settings,
        toolsTokens: tools.length === 0 ? 0 : assembly.toolsTokens,
      })
}

const notAsked = ({ name, contextTokens }: ChatProvider): FailedTry => ({
  kind: 'failed',
  provider: name,
  error: new ProviderError(
    'context_overflow',
    `The conversation is too long for the ${contextTokens} tokens of its model, so it was not asked.`,
  ),
  durationMs: 0,
})

interface Turn {
  readonly provider: ChatProvider
  readonly admitted: boolean
}

/** One try. It asks again at once without the tools whose schemas the provider refuses. */
async function tryOnce(work: LoopWork, question: Question, turn: Turn): Promise<Tried> {
  for (let { admitted } = turn; ; admitted = false) {
    const tools = await toolsFor(work, turn.provider, question.tools)
    const tried = await requestOnce(work, { ...question, tools }, { ...turn, admitted })
    if (
      tried.kind !== 'failed' ||
      work.signal.aborted ||
      !(await leaveOut(work, turn.provider, tools, tried.error.refusedTools))
    )
      return tried
  }
}

async function requestOnce(
  work: LoopWork,
  { messages, tools, settings, output, mustCall, live }: Question,
  { provider, admitted }: Turn,
): Promise<Tried> {
  const { signal, host } = work
  await untilOurs(work)
  const images = await contentsOf(messages, host)
  if (signal.aborted) return { kind: 'cancelled', cut: null }
  const granted = await reserveCall(work, provider, { messages, tools, settings, output })
  if (granted?.kind === 'cancelled') return { kind: 'cancelled', cut: null }
  if (granted?.kind === 'refused') return granted
  const asked = granted === null ? settings : boundedSettings(settings, granted)
  const writer = live && work.live !== null ? work.live.begin(work.run().answers + 1) : null
  const turn = live
    ? {
        admitted,
        waitTurn: (wait: TurnWait) =>
          host.pause({ ...wait, waitsFor: 'limit', admitted: true }, signal).then(() => untilOurs(work)),
      }
    : {}
  const begun = work.services.clock.now()
  const durationMs = (): number => Math.max(0, Math.round(work.services.clock.now() - begun))
  try {
    const { works } = work.host
    const chatAnswer = await provider.chat({
      ...{ messages, tools, settings: asked, signal, ...turn, ...traceOfModelCall(work) },
      ...(output === undefined ? {} : { output }),
      ...(mustCall === true && tools.length > 0 ? { mustCall } : {}),
      ...(live ? { cache: beginningOf(work.spec.sessionId, work.start, messages) } : {}),
      ...(images === undefined ? {} : { images }),
      ...(writer === null ? {} : { onText: writer.write }),
      ...(works === undefined ? {} : { onRead: () => works({ kind: 'answer' }) }),
    })
    const answer = endedAnswer(chatAnswer, work.isTool)
    writer?.finish()
    work.reservation.answered = knownInput(
      { messages, tools, output },
      { usage: answer.usage, provider: provider.name },
    )
    // From here on, also in this process, nobody sees a secret that the model repeats.
    return { kind: 'answered', provider: provider.name, answer: maskedData(answer), durationMs: durationMs() }
  } catch (error) {
    const { name } = provider
    if (signal.aborted) {
      const paid = error instanceof ProviderError ? error.paid : null
      const cut = { kind: 'failed', provider: name, durationMs: durationMs() } as const
      return {
        kind: 'cancelled',
        cut: paid === null ? null : { ...cut, error: cancelledCall(paid, signal.reason) },
      }
    }
    if (!(error instanceof ProviderError)) throw error
    return { kind: 'failed', provider: name, error, durationMs: durationMs() }
  } finally {
    writer?.drop()
  }
}

/** The recorded steps of this try that failed, as far as they are of this route. */
function failedBefore(work: LoopWork, { main, fallbacks }: AskedProviders): FailedTry[] {
  const { failedSteps } = work.run().due
  return failedSteps
    .filter(({ provider }) => provider === main.name || fallbacks.some(({ name }) => name === provider))
    .map(({ failure, provider }) => ({
      kind: 'failed',
      provider,
      error: new ProviderError(failure.class, failure.message),
      durationMs: 0,
    }))
}

/** The pause that the first of the failures asks for that may be tried again. */
function pauseAfter({ services, run }: LoopWork, steps: FailedSteps, waitedMs: number): number | null {
  for (const { error } of steps) {
    const { class: name, retryAfterMs } = error
    const tries = (run().due.triesOf[name] ?? 0) + 1
    const known = {
      tries,
      waitedMs,
      random: services.random(),
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    }
    const pauseMs = retryPauseMs(services.failurePolicies[name], known)
    if (pauseMs !== null) return pauseMs
  }
  return null
}

/**
 * @param next `retryInMs`: 0 if the next model of the route is asked at once, `null` if nobody is asked again
 */
export function tryFailed(
  work: LoopWork,
  { error, provider, durationMs }: FailedTry,
  next: { tries: number; retryInMs: number | null },
): DomainEvent {
  return event(
    'provider_call_failed',
    failedData({ error, provider, durationMs }, { tries: next.tries, retry_in_ms: next.retryInMs }),
    work.start.run_id,
  )
}

/** What is recorded of a try that failed. */
export function failedData(
  { error, provider, durationMs }: Omit<FailedTry, 'kind'>,
  next: Pick<DataOf<'provider_call_failed'>, 'tries' | 'retry_in_ms'>,
): DataOf<'provider_call_failed'> {
  const failure = { class: error.class, message: error.message }
  return {
    failure,
    ...next,
    status: error.status,
    provider_name: provider,
    duration_ms: durationMs,
    ...error.paid,
  }
}

/** What is told of each further failure at most. */
const reasonCharsMax = 300

/**
 * The first error is the reason. But if the conversation is too long for a fallback, the loop can help that.
 */
function reasonOf([first, ...further]: FailedSteps): ProviderError {
  if (further.length === 0) return first.error
  const overflow = further.findLast(({ error }) => error.class === 'context_overflow')
  const fallbackFailures = further
    .map(
      ({ provider, error }) =>
        ` The fallback ${provider} failed too: ${error.message.slice(0, reasonCharsMax)}`,
    )
    .join('')
  const { class: failureClass, status } = overflow?.error ?? first.error
  return new ProviderError(failureClass, `${first.error.message}${fallbackFailures}`, {
    status,
    cause: further.at(-1)?.error,
  })
}

// Estimates whether a request is too long for the context window of a model, so that a conversation is
// shortened before it is refused. Servers that cut a conversation that is too long do not say so.

/** An estimate may be wrong by so much: it may fill only this part of the window. */
const filledMax = 0.9
/** What the answer needs if nobody said how long it may be. */
const answerTokens = 4_096

/** The part of a request that grows with a conversation, and what is sent beside it. */
interface Sent {
  readonly messages: readonly ChatMessage[]
  /** The estimated tokens of the tools. */
  readonly toolsTokens: number
  readonly settings: ModelSettings | undefined
}

/** @param windowTokens the context window of the model, in tokens */
function outgrows(windowTokens: number, { messages, ...sent }: Sent): boolean {
  const room = roomFor(windowTokens, sent)
  let tokens = 0
  for (const message of messages) {
    tokens += tokensOf(message)
    if (tokens > room) return true
  }
  return false
}

/** How many tokens the conversation may have. */
function roomFor(windowTokens: number, { toolsTokens, settings }: Omit<Sent, 'messages'>): number {
  const answer = Math.min(settings?.output_tokens_max ?? answerTokens, windowTokens / 4)
  return windowTokens * filledMax - answer - toolsTokens
}

/** By how many tokens a conversation is too long, by an estimate. Negative: so much room is left. */
const tokensOver = (windowTokens: number, { messages, ...sent }: Sent): number =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0) - roomFor(windowTokens, sent)

/** A message never changes, and each turn asks again. */
const known = new WeakMap<ChatMessage, number>()

function tokensOf(message: ChatMessage): number {
  const before = known.get(message)
  if (before !== undefined) return before
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  const state =
    message.role === 'assistant' && message.provider_state !== undefined
      ? JSON.stringify(message.provider_state.fields)
      : ''
  const text = [
    message.content ?? '',
    state,
    ...calls.map(({ name, arguments: args }) => `${name} ${args}`),
  ].join('\n')
  const images = message.role === 'user' || message.role === 'tool' ? (message.images ?? []) : []
  const tokens = images.reduce((sum, image) => sum + imageTokens(image), estimateTokens(text))
  known.set(message, tokens)
  return tokens
}

// Tools that a run asks a provider without, because the provider refuses their schemas: one such schema would
// fail every run. The omission is durable before the request, so a resumed run sends the same one. Later runs
// of the thread use it too, as long as the thread has the same tools.

type LeftOutTool = DataOf<'tools_left_out'>['tools'][number]

/** More refusals of one provider end the try. */
const leftOutMax = 64
/** What a thread remembers. The oldest is forgotten first, and is learned again by one refusal. */
const rememberedMax = 1_000
const remembered = new WeakMap<object, Map<string, string>>()

/** The tools for a request to the provider. */
async function toolsFor(
  work: LoopWork,
  provider: ChatProvider,
  tools: readonly ToolSchema[],
): Promise<readonly ToolSchema[]> {
  const known = memoryOf(work)
  const left = tools.flatMap((tool): LeftOutTool[] => {
    const reason = known.get(keyOf(provider, tool.name))
    return reason === undefined || isLeftOut(work, provider, tool.name) ? [] : [{ name: tool.name, reason }]
  })
  if (left.length > 0) await record(work, provider, left)
  return tools.some(({ name }) => isLeftOut(work, provider, name))
    ? tools.filter(({ name }) => !isLeftOut(work, provider, name))
    : tools
}

/**
 * Leaves the tools out of all later requests to the provider. Returns `false` if that would not change the
 * request.
 */
async function leaveOut(
  work: LoopWork,
  provider: ChatProvider,
  sent: readonly ToolSchema[],
  refused: readonly LeftOutTool[],
): Promise<boolean> {
  const left = refused.filter(({ name }) => sent.some((tool) => tool.name === name))
  if (left.length === 0 || namesOf(work, provider).length + left.length > leftOutMax) return false
  const known = memoryOf(work)
  for (const { name, reason } of left) {
    known.set(keyOf(provider, name), reason)
    if (known.size > rememberedMax) known.delete(known.keys().next().value as string)
    const message = `The provider ${provider.name} refuses the schema of the tool ${name}. Agents do not have this tool there. It says: ${reason}`
    work.services.logger?.warn('tool_left_out', message, { provider: provider.name, tool: name, reason })
  }
  await record(work, provider, left)
  return true
}

const record = (work: LoopWork, provider: ChatProvider, tools: LeftOutTool[]): Promise<void> =>
  work.record([event('tools_left_out', { provider_name: provider.name, tools }, work.start.run_id)])

function namesOf(work: LoopWork, { name }: ChatProvider): readonly string[] {
  const { toolsLeftOut } = work.run()
  return Object.hasOwn(toolsLeftOut, name) ? (toolsLeftOut[name] ?? []) : []
}

const isLeftOut = (work: LoopWork, provider: ChatProvider, tool: string): boolean =>
  namesOf(work, provider).includes(tool)
const keyOf = ({ name, model }: ChatProvider, tool: string): string => JSON.stringify([name, model, tool])

function memoryOf({ services }: LoopWork) {
  const owner = services.toolboxesOf ?? services
  const known = remembered.get(owner) ?? new Map<string, string>()
  remembered.set(owner, known)
  return known
}
