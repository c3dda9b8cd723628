// The SkillAssembler: finds the skills for a task that names none (SA-01…SA-05), by recall over all skills
// and then one model call. No model is asked if recall finds nothing. There is one answer. If an endpoint
// fails in a way that another may not, the next is asked; a single one is asked once more. If no endpoint
// answers, or if the answer cannot be read, nothing is chosen and `failure` says why. The run continues
// without a skill. Only an abort throws, and what `beforeAsking` throws. A skill that models may not invoke
// is neither recalled nor chosen.
import { type Failure, fallbackClasses, messageOf, noUsage, type Usage } from '@beaver/core'
import {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  type PaidAnswer,
  ProviderError,
} from '../provider/chat-provider.ts'
import { endedAnswer } from '../provider/finish-reason.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import { choiceMessages, parseChoice } from './choose-skills.ts'
import { embedSkills } from './embed-skills.ts'
import { recallByVectors, recallByWords, type Recalled } from './recall.ts'
import type { Skill } from './skill.ts'

/** The result of a search for skills. */
export interface SkillSelection {
  readonly recall: 'embedding' | 'lexical'
  /** Best first. Scores are from 0 to 1. */
  readonly candidates: readonly { readonly name: string; readonly score: number }[]
  /** In the model's order of relevance. */
  readonly chosen: readonly Skill[]
  /** The usage of the chat call. */
  readonly usage: Usage
  /** `null` if no provider answered. */
  readonly provider: string | null
  readonly model: string | null
  /** Why nothing was chosen, if the model could not be asked or understood. */
  readonly failure: Failure | null
  /** Calls that were paid and gave no answer. */
  readonly failedCalls: readonly (PaidAnswer & { readonly provider: string })[]
}

/** What the search for skills needs. */
export interface AssembleOptions {
  readonly skills: readonly Skill[]
  readonly providers: Pick<ProviderBundle, 'main' | 'fallbacks' | 'auxiliary' | 'embeddings'>
  readonly signal: AbortSignal
  /** The mark of the frames in the question, from `frameMark`. */
  readonly mark: string
  /** Awaited before an endpoint is asked for anything. An error that it throws ends the search. */
  readonly beforeAsking?: () => Promise<void>
  /** Told when the embeddings failed, so that skills were compared by words. */
  readonly onEmbeddingsFailed?: (reason: string) => void
}

/**
 * Returns `null` if no skill may fit, so that nothing was asked.
 *
 * @throws the abort of `signal`, and what `beforeAsking` throws
 */
export async function assembleSkills(
  query: string,
  options: AssembleOptions,
): Promise<SkillSelection | null> {
  const { skills, providers, signal, beforeAsking } = options
  signal.throwIfAborted()
  const invocable = skills.filter((skill) => skill.modelInvocable)
  if (invocable.length === 0 || query.trim() === '') return null
  if (providers.embeddings !== null) await beforeAsking?.()
  const { recall, recalled } = await recallSkills(query, invocable, options)
  if (recalled.length === 0) return null
  const candidates = recalled.map(({ skill, score }) => ({ name: skill.name, score }))
  await beforeAsking?.()
  const choice = await choose(query, recalled, options)
  return { recall, candidates, ...choice }
}

async function recallSkills(
  query: string,
  skills: readonly Skill[],
  { providers: { embeddings }, signal, onEmbeddingsFailed }: AssembleOptions,
): Promise<{ recall: SkillSelection['recall']; recalled: Recalled[] }> {
  if (embeddings !== null) {
    const vectors = await embedSkills(query, skills, embeddings, signal).catch(
      (error: unknown) => (onEmbeddingsFailed?.(messageOf(error)), null),
    )
    signal.throwIfAborted()
    if (vectors !== null)
      return { recall: 'embedding', recalled: recallByVectors(vectors.query, vectors.skills) }
  }
  return { recall: 'lexical', recalled: recallByWords(query, skills) }
}

type Choice = Pick<SkillSelection, 'chosen' | 'usage' | 'provider' | 'model' | 'failure' | 'failedCalls'>

/**
 * The providers in the order in which they are asked: auxiliary, main, fallbacks. A single one is asked
 * twice.
 */
function choosers({ auxiliary, main, fallbacks }: AssembleOptions['providers']): readonly ChatProvider[] {
  const others = [auxiliary, main, ...fallbacks].filter((each) => each !== null)
  return others.length === 1 ? [main, main] : others
}

async function choose(
  query: string,
  recalled: readonly Recalled[],
  { providers, signal, mark }: AssembleOptions,
): Promise<Choice> {
  const offered = recalled.map(({ skill }) => skill)
  const asked = await askFirst(choosers(providers), {
    messages: choiceMessages(query, offered, mark),
    tools: [],
    signal,
  })
  if ('failure' in asked)
    return {
      chosen: [],
      usage: noUsage,
      provider: null,
      model: null,
      failure: asked.failure,
      failedCalls: asked.failedCalls,
    }
  const { answer, provider, failedCalls } = asked
  const told = { failedCalls, usage: answer.usage, provider: provider.name, model: answer.model }
  const names = parseChoice(
    answer.content ?? '',
    offered.map(({ name }) => name),
  )
  if (names === null)
    return {
      ...told,
      chosen: [],
      failure: {
        class: 'malformed_output',
        message: 'The model that was to choose skills did not answer with {"skills": [...]}.',
      },
    }
  return {
    ...told,
    chosen: names.flatMap((name) => offered.find((skill) => skill.name === name) ?? []),
    failure: null,
  }
}

/** The first answer of one of them. An error that another endpoint could not help ends the search. */
async function askFirst(
  providers: readonly ChatProvider[],
  request: ChatRequest,
): Promise<
  ({ readonly answer: ChatAnswer; readonly provider: ChatProvider } | { readonly failure: Failure }) &
    Pick<Choice, 'failedCalls'>
> {
  const failedCalls: Choice['failedCalls'][number][] = []
  let failure: Failure = { class: 'internal', message: 'There is no provider to ask.' }
  for (const provider of providers) {
    try {
      return { answer: endedAnswer(await provider.chat(request), () => false), provider, failedCalls }
    } catch (error) {
      request.signal.throwIfAborted()
      failure = failureOf(error)
      if (error instanceof ProviderError && error.paid !== null)
        failedCalls.push({ ...error.paid, provider: provider.name })
      if (!fallbackClasses.has(failure.class)) break
    }
  }
  return { failure, failedCalls }
}

const failureOf = (error: unknown): Failure => ({
  class: error instanceof ProviderError ? error.class : 'internal',
  message: messageOf(error),
})
