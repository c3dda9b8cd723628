// The conversation as the journal and the provider port see it.
import { z } from 'zod'

/** `arguments` is the text the model sent; it may not be JSON. */
export const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() })
export type ToolCall = z.infer<typeof toolCall>

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

/** Tokens as the provider reported them, summed over calls. */
export const usage = z.object({
  input_tokens: z.number().int().nonnegative(),
  output_tokens: z.number().int().nonnegative(),
  calls: z.number().int().nonnegative(),
})
export type Usage = z.infer<typeof usage>

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, calls: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return { input_tokens: a.input_tokens + b.input_tokens, output_tokens: a.output_tokens + b.output_tokens, calls: a.calls + b.calls }
}
