// The SkillAssembler: which skills a task gets that names none (SA-01…SA-05). Recall over all skills, then one model call.
// A1. Nothing is asked when recall finds nothing. A2. One answer: where one endpoint gives none, the next is asked; one that is
//     alone is asked once more. A3. When nobody answers, or the answer cannot be read, nothing is chosen and it says why: the run
//     goes on without a skill. Only an abort throws.
// A4. A skill that models may not invoke is neither recalled nor chosen.
import { type Failure, fallbackClasses, messageOf, noUsage, type Usage } from '@beaver/core'
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError } from '../provider/chat-provider.ts'
import type { EmbeddingProvider } from '../provider/embedding-provider.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import { choiceMessages, parseChoice } from './choose-skills.ts'
import { embedSkills } from './embed-skills.ts'
import { recallByVectors, recallByWords, type Recalled } from './recall.ts'
import type { Skill } from './skill.ts'

export interface SkillSelection {
  readonly recall: 'embedding' | 'lexical'
  /** Best first; scores from 0 to 1. */
  readonly candidates: readonly { readonly name: string; readonly score: number }[]
  /** In the order of relevance the model gave them. */
  readonly chosen: readonly Skill[]
  /** Of the chat call. */
  readonly usage: Usage
  /** `null` when no provider answered. */
  readonly provider: string | null
  readonly model: string | null
  /** Why nothing was chosen, when the model could not be asked or understood. */
  readonly failure: Failure | null
}

export interface AssembleOptions {
  readonly skills: readonly Skill[]
  readonly providers: Pick<ProviderBundle, 'main' | 'fallback' | 'auxiliary' | 'embeddings'>
  readonly signal: AbortSignal
  /** Awaited before an endpoint is asked for anything; what it throws ends the search. */
  readonly beforeAsking?: () => Promise<void>
}

/** `null`: no skill may fit, so nothing was asked. @throws the abort of `signal` */
export async function assembleSkills(query: string, { skills, providers, signal, beforeAsking }: AssembleOptions): Promise<SkillSelection | null> {
  signal.throwIfAborted()
  const invocable = skills.filter((skill) => skill.modelInvocable)
  if (invocable.length === 0 || query.trim() === '') return null
  if (providers.embeddings !== null) await beforeAsking?.()
  const { recall, recalled } = await recallSkills(query, invocable, providers.embeddings, signal)
  if (recalled.length === 0) return null
  const candidates = recalled.map(({ skill, score }) => ({ name: skill.name, score }))
  await beforeAsking?.()
  const choice = await choose(query, recalled, choosers(providers), signal)
  return { recall, candidates, ...choice }
}

async function recallSkills(
  query: string,
  skills: readonly Skill[],
  embeddings: EmbeddingProvider | null,
  signal: AbortSignal,
): Promise<{ recall: SkillSelection['recall']; recalled: Recalled[] }> {
  if (embeddings !== null) {
    const vectors = await embedSkills(query, skills, embeddings, signal).catch(() => null)
    signal.throwIfAborted()
    if (vectors !== null) return { recall: 'embedding', recalled: recallByVectors(vectors.query, vectors.skills) }
  }
  return { recall: 'lexical', recalled: recallByWords(query, skills) }
}

type Choice = Pick<SkillSelection, 'chosen' | 'usage' | 'provider' | 'model' | 'failure'>

/** Who is asked, in this order: the auxiliary provider, the main one, its fallback; one that is alone is asked twice. */
function choosers({ auxiliary, main, fallback }: AssembleOptions['providers']): readonly ChatProvider[] {
  const others = [auxiliary, main, fallback].filter((each) => each !== null)
  return others.length === 1 ? [main, main] : others
}

async function choose(query: string, recalled: readonly Recalled[], providers: readonly ChatProvider[], signal: AbortSignal): Promise<Choice> {
  const offered = recalled.map(({ skill }) => skill)
  const asked = await askFirst(providers, { messages: choiceMessages(query, offered), tools: [], signal })
  if ('failure' in asked) return { chosen: [], usage: noUsage, provider: null, model: null, failure: asked.failure }
  const { answer, provider } = asked
  const told = { usage: answer.usage, provider: provider.name, model: answer.model }
  const names = parseChoice(
    answer.content ?? '',
    offered.map(({ name }) => name),
  )
  if (names === null)
    return {
      ...told,
      chosen: [],
      failure: { class: 'malformed_output', message: 'The model that was to choose skills did not answer with {"skills": [...]}.' },
    }
  return { ...told, chosen: names.flatMap((name) => offered.find((skill) => skill.name === name) ?? []), failure: null }
}

/** The first answer of one of them. What another endpoint could not answer either ends it. */
async function askFirst(
  providers: readonly ChatProvider[],
  request: ChatRequest,
): Promise<{ readonly answer: ChatAnswer; readonly provider: ChatProvider } | { readonly failure: Failure }> {
  let failure: Failure = { class: 'internal', message: 'There is no provider to ask.' }
  for (const provider of providers) {
    try {
      return { answer: await provider.chat(request), provider }
    } catch (error) {
      request.signal.throwIfAborted()
      failure = failureOf(error)
      if (!fallbackClasses.has(failure.class)) break
    }
  }
  return { failure }
}

const failureOf = (error: unknown): Failure => ({ class: error instanceof ProviderError ? error.class : 'internal', message: messageOf(error) })
