// Shortens the conversation when the model says that it is too long. First references replace old results,
// then a summary replaces old exchanges, and last the outputs of other nodes or the newest results are cut,
// whichever are longer. What was left out is recorded, and a run that is resumed continues without it. An
// image costs more than most texts, so the last ones go before a text is cut. Each measure is used at most
// `timesMax` times between two answers; then the run fails. Every measure makes the conversation shorter, or
// it is not taken. Every answer that was asked for as a summary is journaled and paid. After
// `summariesRefusedMax` that are none, or if no model answers, the older exchanges are left out with a note
// in their place. So they are if another summary would hardly save anything.
import { type DataOf, event, type RunState } from '@beaver/core'
import { compaction, newestCut, newestParts } from '../context/compaction.ts'
import { allImages } from '../images/surplus-images.ts'
import { outputChars, overflowCuts } from '../context/output-cuts.ts'
import { boundedSummary, summaryFault, summaryRequest } from '../context/summary-request.ts'
import { askProvider, tryFailed } from './ask-provider.ts'
import { type LoopWork, providersOf } from './loop-work.ts'

const timesMax = 3
const summariesRefusedMax = 2

/**
 * Returns `false` if nothing is left that could be left out, or if the run was cancelled.
 *
 * @param tokensTooMany by how many tokens the conversation is too long, by an estimate; `null`: nobody knows
 */
export async function shortenConversation(work: LoopWork, tokensTooMany: number | null): Promise<boolean> {
  const run = work.run()
  const runId = run.start.run_id
  const mayCompact = run.compactions < timesMax
  const left = mayCompact ? compaction(run, work.spec.history) : null
  const request = left === null && run.summaries < timesMax ? summaryRequest(run) : null
  const compacted = left ?? (request === null && mayCompact ? lastCut(run, tokensTooMany) : null)
  if (compacted !== null) {
    await work.record([event('context_compacted', compacted, runId)])
    return true
  }
  if (request === null) return false
  const cut = event('context_compacted', { results: [], messages_dropped: request.dropped }, runId)
  if (!request.saves || run.summariesRefused >= summariesRefusedMax) {
    await work.record([cut])
    return true
  }
  const { main, fallbacks } = providersOf(work) ?? work.services.providers
  const { auxiliary } = work.services.providers
  const providers = auxiliary === null ? { main, fallbacks } : { main: auxiliary, fallbacks: [main] }
  const asked = await askProvider(work, { providers, messages: request.messages, tools: [], live: false })
  if (asked.kind === 'cancelled') return false
  if (asked.kind === 'given_up') {
    await work.record([tryFailed(work, asked.last, { tries: asked.tries, retryInMs: null }), cut])
    return true
  }
  const { answer, provider: provider_name } = asked
  const { usage, model } = answer
  const fault = summaryFault(answer, request, work.isTool)
  if (fault !== null) {
    await work.record([
      event('summary_refused', { reason: `The answer ${fault}`, usage, provider_name, model }, runId),
    ])
    return shortenConversation(work, tokensTooMany)
  }
  const content = boundedSummary(answer.content ?? '')
  await work.record([
    event(
      'context_summarized',
      { content, messages_dropped: request.dropped, usage, provider_name, model },
      runId,
    ),
  ])
  return true
}

/**
 * What is cut last: the longest of what the newest exchange and the message with which the run began have.
 */
function lastCut(run: RunState, tokensTooMany: number | null): DataOf<'context_compacted'> | null {
  const images = allImages(run)
  if (images.length > 0) return { results: [], images }
  const newest = newestParts(run)
  const [args, results, outputs] = [charsOf(newest.arguments), charsOf(newest.results), outputChars(run)]
  if (args > Math.max(results, outputs)) return { results: [], arguments: newest.arguments }
  const cuts = results > outputs ? null : overflowCuts(run)
  if (cuts !== null) return { results: [], outputs: [...cuts] }
  const cut = newestCut(newest, tokensTooMany === null ? null : results * (1 - tokensTooMany / newest.tokens))
  if (cut !== null) return { results: cut }
  return args === 0 ? null : { results: [], arguments: newest.arguments }
}

const charsOf = (parts: readonly { readonly chars: number }[]): number =>
  parts.reduce((sum, { chars }) => sum + chars, 0)
