// Makes one call of the model, with as many tries as it takes: the models of its route in their order, and
// after a pause from the first again (PR-02). Every failed step is durable before the next one begins. A try
// asks main, and then each fallback as long as another model may answer instead. The failure policies bound
// the tries, the pauses and the whole time. Which provider answers makes no difference to what follows.
// Earlier tries, steps and waits are read from the run's record: a run that is resumed in a pause asks at
// once and continues to count, and one that is resumed in a route continues after the step that failed. The
// host waits, never this thread. The host may drop the loop in any pause. A try goes on without the tools
// whose schemas the provider refuses (left-out-tools.ts). A fallback whose context window is known to be too
// small for the request is not asked. It counts as a step that failed.
import {
  type DataOf,
  type DomainEvent,
  event,
  fallbackClasses,
  maskedData,
  paidTriesMax,
  retryPauseMs,
} from '@beaver/core'
import { outgrows, tokensOver } from '../context/outgrows.ts'
import { beginningOf } from '../provider/cached-beginning.ts'
import {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  ProviderError,
  type TurnWait,
} from '../provider/chat-provider.ts'
import { contentsOf } from '../images/asked-images.ts'
import { endedAnswer } from '../provider/finish-reason.ts'
import type { AskedProviders } from '../provider/provider-bundle.ts'
import { leaveOut, toolsFor } from './left-out-tools.ts'
import { type LoopWork, untilOurs } from './loop-work.ts'

export interface Question extends Pick<ChatRequest, 'messages' | 'tools' | 'settings' | 'output'> {
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
  | { readonly kind: 'cancelled' }
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
  { messages, tools, settings, output, live }: Question,
  { provider, admitted }: Turn,
): Promise<Tried> {
  const { signal, host } = work
  await untilOurs(work)
  const images = await contentsOf(messages, host)
  if (signal.aborted) return { kind: 'cancelled' }
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
    const given = await provider.chat({
      ...{ messages, tools, settings, signal, ...turn },
      ...(output === undefined ? {} : { output }),
      ...(live ? { cache: beginningOf(work.spec.sessionId, work.start, messages) } : {}),
      ...(images === undefined ? {} : { images }),
      ...(writer === null ? {} : { onText: writer.write }),
      ...(works === undefined ? {} : { onRead: () => works({ kind: 'answer' }) }),
    })
    const answer = endedAnswer(given, work.isTool)
    writer?.finish()
    // From here on, also in this process, nobody sees a secret that the model repeats.
    return { kind: 'answered', provider: provider.name, answer: maskedData(answer), durationMs: durationMs() }
  } catch (error) {
    if (signal.aborted) return { kind: 'cancelled' }
    if (!(error instanceof ProviderError)) throw error
    return { kind: 'failed', provider: provider.name, error, durationMs: durationMs() }
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
  const said = further
    .map(
      ({ provider, error }) =>
        ` The fallback ${provider} failed too: ${error.message.slice(0, reasonCharsMax)}`,
    )
    .join('')
  const { class: failureClass, status } = overflow?.error ?? first.error
  return new ProviderError(failureClass, `${first.error.message}${said}`, {
    status,
    cause: further.at(-1)?.error,
  })
}
