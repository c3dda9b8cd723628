// One call of the model, however many tries it takes: main first, then the fallback, after a pause main again (PR-02).
// P1. Every failed try is durable before the next begins. P2. A try is main, and the fallback where one may answer what main did not;
//     how many there are, and the pauses between them, the failure policies say. P3. Who answers makes no difference to what follows.
import { type DomainEvent, event, failurePolicies, fallbackClasses, pause, retryPauseMs } from '@beaver/core'
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError } from '../provider/chat-provider.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import type { LoopWork } from './loop-work.ts'

export interface Question extends Pick<ChatRequest, 'messages' | 'tools'> {
  readonly providers: Pick<ProviderBundle, 'main' | 'fallback'>
  /** Of the dialogue: passed on live, where somebody follows. */
  readonly live: boolean
}

export interface FailedTry {
  readonly kind: 'failed'
  readonly provider: string
  readonly error: ProviderError
}

export type Asked =
  | { readonly kind: 'answered'; readonly provider: string; readonly answer: ChatAnswer; readonly durationMs: number }
  | { readonly kind: 'cancelled' }
  /** For good. `error`: what the run fails with; `last`: the try that is not recorded yet. */
  | { readonly kind: 'given_up'; readonly error: ProviderError; readonly tries: number; readonly last: FailedTry }

type Tried = Exclude<Asked, { kind: 'given_up' }> | FailedTry

export async function askProvider(work: LoopWork, question: Question): Promise<Asked> {
  const { main, fallback } = question.providers
  for (let tries = work.run().tries + 1; ; tries++) {
    const first = await tryOnce(work, question, main)
    if (first.kind !== 'failed') return first
    let last = first
    if (fallback !== null && fallbackClasses.has(first.error.class)) {
      await work.record([tryFailed(work, first, { tries, retryInMs: 0 })])
      const second = await tryOnce(work, question, fallback)
      if (second.kind !== 'failed') return second
      last = second
    }
    const pauseMs = pauseAfter(work, first.error, tries) ?? pauseAfter(work, last.error, tries)
    if (pauseMs === null) return { kind: 'given_up', error: reasonOf(first, last), tries, last }
    await work.record([tryFailed(work, last, { tries, retryInMs: pauseMs })])
    await pause(work.services.clock, pauseMs, work.signal)
  }
}

async function tryOnce(work: LoopWork, { messages, tools, live }: Question, provider: ChatProvider): Promise<Tried> {
  const { signal } = work
  if (signal.aborted) return { kind: 'cancelled' }
  const writer = live && work.live !== null ? work.live.begin(work.run().answers + 1) : null
  const begun = work.services.clock.now()
  try {
    const answer = await provider.chat(writer === null ? { messages, tools, signal } : { messages, tools, signal, onText: writer.write })
    writer?.finish()
    return { kind: 'answered', provider: provider.name, answer, durationMs: Math.round(work.services.clock.now() - begun) }
  } catch (error) {
    if (signal.aborted) return { kind: 'cancelled' }
    if (!(error instanceof ProviderError)) throw error
    return { kind: 'failed', provider: provider.name, error }
  } finally {
    writer?.drop()
  }
}

function pauseAfter({ services }: LoopWork, { class: failureClass, retryAfterMs }: ProviderError, tries: number): number | null {
  return retryPauseMs(failurePolicies[failureClass], { tries, random: services.random(), ...(retryAfterMs === null ? {} : { retryAfterMs }) })
}

/** @param next `retryInMs`: 0 when the fallback is asked at once, `null` when nobody is asked again */
export function tryFailed(work: LoopWork, { error, provider }: FailedTry, next: { tries: number; retryInMs: number | null }): DomainEvent {
  const failure = { class: error.class, message: error.message }
  return event(
    'provider_call_failed',
    { failure, tries: next.tries, retry_in_ms: next.retryInMs, status: error.status, provider_name: provider },
    work.start.run_id,
  )
}

/** What main says is why; that the conversation is too long for the fallback is something that can be helped. */
function reasonOf(first: FailedTry, last: FailedTry): ProviderError {
  if (first === last || last.error.class === 'context_overflow') return last.error
  const message = `${first.error.message} The fallback ${last.provider} failed too: ${last.error.message}`
  return new ProviderError(first.error.class, message, { status: first.error.status, cause: last.error })
}
