// Estimates how many tokens each part of a run's first prompt costs, for people who want to know where the
// tokens go (`beaver show`).
import {
  type ChatMessage,
  type ContextPart,
  estimateTokens,
  type ImagePart,
  imageTokens,
  skillMessage,
} from '@beaver/core'
import type { PromptSection } from './context-builder.ts'

/**
 * The parts in the order in which the model reads them, the tools last. Parts that cost nothing are left out.
 */
export function contextCosts(of: {
  readonly sections: readonly PromptSection[]
  readonly skills: readonly { readonly name: string; readonly content: string }[]
  readonly history: readonly ChatMessage[]
  readonly message: string
  /** What the message shows. */
  readonly images: readonly ImagePart[]
  readonly mark: string
  readonly toolsTokens: number
}): ContextPart[] {
  const sum = (messages: readonly ChatMessage[]): number =>
    messages.reduce((tokens, { content }) => tokens + estimateTokens(content ?? ''), 0)
  const costs: [ContextPart['part'], number][] = [
    ...of.sections.map(({ part, text }): [ContextPart['part'], number] => [part, estimateTokens(text)]),
    ['skills', of.skills.length === 0 ? 0 : sum(of.skills.map((skill) => skillMessage(skill, of.mark)))],
    ['history', sum(of.history)],
    ['message', of.images.reduce((tokens, image) => tokens + imageTokens(image), estimateTokens(of.message))],
    ['tools', of.toolsTokens],
  ]
  return costs.flatMap(([part, tokens_estimated]) =>
    tokens_estimated === 0 ? [] : [{ part, tokens_estimated }],
  )
}
