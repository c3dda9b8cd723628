// Makes one call of the model, with as many tries as it takes: the main provider, then the fallback, and after a pause main again (PR-02).
// P1. Every failed try is durable before the next one begins.
// P2. A try asks main, and then the fallback if it may answer instead. The failure policies bound the tries, the pauses and the whole time.
// P3. Which provider answers makes no difference to what follows.
// P4. Earlier tries and waits are read from the run's record: a run that is resumed in a pause asks at once and continues to count.
// P5. The host waits, never this thread. The host may drop the loop in any pause.
import { type DomainEvent, event, fallbackClasses, maskedData, retryPauseMs } from '@beaver/core'
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError, type TurnWait } from '../provider/chat-provider.ts'
import { endedAnswer } from '../provider/finish-reason.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import { type LoopWork, untilOurs } from './loop-work.ts'

export interface Question extends Pick<ChatRequest, 'messages' | 'tools' | 'settings'> {
  readonly providers: Pick<ProviderBundle, 'main' | 'fallback'>
  /** Whether the call belongs to the dialogue. Such a call is streamed if somebody follows, and the host waits for its turn under a limit. */
  readonly live: boolean
}

export interface FailedTry {
  readonly kind: 'failed'
  readonly provider: string
  readonly error: ProviderError
  readonly durationMs: number
}

/** A call that failed for good. `error` is what the run fails with; `last` is the try that is not recorded yet. */
export interface GivenUp {
  readonly error: ProviderError
  readonly tries: number
  /** The whole wait, including failed tries. */
  readonly waitedMs: number
  readonly last: FailedTry
}

export type Asked =
  | { readonly kind: 'answered'; readonly provider: string; readonly answer: ChatAnswer; readonly durationMs: number }
  | { readonly kind: 'cancelled' }
  | ({ readonly kind: 'given_up' } & GivenUp)

type Tried = Exclude<Asked, { kind: 'given_up' }> | FailedTry

export async function askProvider(work: LoopWork, question: Question): Promise<Asked> {
  const { main, fallback } = question.providers
  for (;;) {
    const tries = work.run().tries + 1
    const admitted = question.live && work.takeAdmission()
    // If main had failed before the wait, the turn belongs to the fallback.
    const known = admitted && fallback !== null ? mainFailedBefore(work) : null
    const first = known ?? (await tryOnce(work, question, { provider: main, admitted }))
    if (first.kind !== 'failed') return first
    let last = first
    if (fallback !== null && fallbackClasses.has(first.error.class)) {
      if (known === null) await work.record([tryFailed(work, first, { tries, retryInMs: 0 })])
      const second = await tryOnce(work, question, { provider: fallback, admitted: known !== null })
      if (second.kind !== 'failed') return second
      last = second
    }
    const waitedMs = work.run().due.waitedMs + last.durationMs
    const pauseMs = pauseAfter(work, first.error, waitedMs) ?? pauseAfter(work, last.error, waitedMs)
    if (pauseMs === null) return { kind: 'given_up', error: reasonOf(first, last), tries, waitedMs, last }
    await work.record([tryFailed(work, last, { tries, retryInMs: pauseMs })])
    const { class: failureClass, message } = last.error
    await work.host.pause({ ms: pauseMs, waitsFor: failureClass === 'rate_limited' ? 'limit' : 'provider', reason: message }, work.signal)
  }
}

async function tryOnce(
  work: LoopWork,
  { messages, tools, settings, live }: Question,
  { provider, admitted }: { provider: ChatProvider; admitted: boolean },
): Promise<Tried> {
  const { signal, host } = work
  await untilOurs(work)
  if (signal.aborted) return { kind: 'cancelled' }
  const writer = live && work.live !== null ? work.live.begin(work.run().answers + 1) : null
  const turn = live
    ? { admitted, waitTurn: (wait: TurnWait) => host.pause({ ...wait, waitsFor: 'limit', admitted: true }, signal).then(() => untilOurs(work)) }
    : {}
  const begun = work.services.clock.now()
  const durationMs = (): number => Math.max(0, Math.round(work.services.clock.now() - begun))
  try {
    const { works } = work.host
    const given = await provider.chat({
      ...{ messages, tools, settings, signal, ...turn },
      ...(writer === null ? {} : { onText: writer.write }),
      ...(works === undefined ? {} : { onRead: () => works({ kind: 'answer' }) }),
    })
    const answer = endedAnswer(given)
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

/** The recorded failed try of main after which the fallback is still due. */
function mainFailedBefore(work: LoopWork): FailedTry | null {
  const { mainFailed } = work.run().due
  if (mainFailed === null) return null
  const { failure, provider } = mainFailed
  return { kind: 'failed', provider, error: new ProviderError(failure.class, failure.message), durationMs: 0 }
}

function pauseAfter({ services, run }: LoopWork, { class: name, retryAfterMs }: ProviderError, waitedMs: number): number | null {
  const tries = (run().due.triesOf[name] ?? 0) + 1
  return retryPauseMs(services.failurePolicies[name], { tries, waitedMs, random: services.random(), ...(retryAfterMs === null ? {} : { retryAfterMs }) })
}

/** @param next `retryInMs`: 0 if the fallback is asked at once, `null` if nobody is asked again */
export function tryFailed(work: LoopWork, { error, provider, durationMs }: FailedTry, next: { tries: number; retryInMs: number | null }): DomainEvent {
  const failure = { class: error.class, message: error.message }
  return event(
    'provider_call_failed',
    { failure, tries: next.tries, retry_in_ms: next.retryInMs, status: error.status, provider_name: provider, duration_ms: durationMs },
    work.start.run_id,
  )
}

/** Main's error is the reason. But if the conversation is too long for the fallback, the loop can help that. */
function reasonOf(first: FailedTry, last: FailedTry): ProviderError {
  if (first === last || last.error.class === 'context_overflow') return last.error
  const message = `${first.error.message} The fallback ${last.provider} failed too: ${last.error.message}`
  return new ProviderError(first.error.class, message, { status: first.error.status, cause: last.error })
}
