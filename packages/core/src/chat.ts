// The messages of a conversation, in the form in which the journal stores them and the provider port takes them.
import { z } from 'zod'
import { jsonObject } from './json.ts'

/**
 * A tool call of a model. `arguments` is the text that the model sent; it may not be JSON. `extra_content`: what its provider wants to have back
 * with the call, unchanged, such as the signature of a thought.
 */
export const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string(), extra_content: jsonObject.optional() })
export type ToolCall = z.infer<typeof toolCall>

/**
 * What a provider wants to have back with a message of its model: the fields as they came. Other providers do not get them.
 */
export const providerState = z.object({ provider: z.string(), fields: jsonObject })
export type ProviderState = z.infer<typeof providerState>

/** One message of a conversation. The content of an assistant message is `null` if the model sent only tool calls. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant'
      readonly content: string | null
      readonly tool_calls?: readonly ToolCall[]
      readonly provider_state?: ProviderState
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

/** What provider calls used: the tokens that the provider reported, and the number of calls. Values of several calls are summed. */
export const usage = z.object({
  input_tokens: z.number().int().nonnegative(),
  output_tokens: z.number().int().nonnegative(),
  calls: z.number().int().nonnegative(),
})
export type Usage = z.infer<typeof usage>

/** The usage before the first call. */
export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, calls: 0 }

/**
 * The sum of two usages.
 *
 * @example
 * addUsage({ input_tokens: 100, output_tokens: 20, calls: 1 }, { input_tokens: 50, output_tokens: 5, calls: 1 }) // => { input_tokens: 150, output_tokens: 25, calls: 2 }
 */
export function addUsage(a: Usage, b: Usage): Usage {
  return { input_tokens: a.input_tokens + b.input_tokens, output_tokens: a.output_tokens + b.output_tokens, calls: a.calls + b.calls }
}
