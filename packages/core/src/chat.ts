// The messages of a conversation, in the form in which the journal stores them and the provider port takes
// them.
import { z } from 'zod'
import type { ImagePart } from './images/image-part.ts'
import { jsonObject } from './json.ts'

/**
 * A tool call of a model. `arguments` is the text that the model sent; it may not be JSON. `extra_content`:
 * what its provider wants to have back with the call, unchanged, such as the signature of a thought.
 */
export const toolCall = z.object({
  id: z.string().describe('The id of the call, unique in its run.'),
  name: z.string().describe('The name of the tool.'),
  arguments: z.string().describe('The arguments as the model sent them. The text may not be JSON.'),
  extra_content: jsonObject
    .optional()
    .describe('What goes back to the provider of the answer with this call, unchanged. Absent: nothing.'),
})
export type ToolCall = z.infer<typeof toolCall>

/**
 * What a provider wants to have back with a message of its model: the fields as they came. Other providers do
 * not get them.
 */
export const providerState = z.object({
  provider: z.string().describe('The provider.'),
  fields: jsonObject.describe('The fields of the message, as they came.'),
})
export type ProviderState = z.infer<typeof providerState>

/**
 * One message of a conversation. The content of an assistant message is `null` if the model sent only tool
 * calls. `images`: what the message shows; the blob store has their content.
 */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string; readonly images?: readonly ImagePart[] }
  | {
      readonly role: 'assistant'
      readonly content: string | null
      readonly tool_calls?: readonly ToolCall[]
      readonly provider_state?: ProviderState
    }
  | {
      readonly role: 'tool'
      readonly tool_call_id: string
      readonly content: string
      readonly images?: readonly ImagePart[]
    }

const tokenCount = z.number().int().nonnegative()

/**
 * What provider calls used: the tokens that the provider reported, and the number of calls. Of a call that was
 * broken off, Beaver counts the bytes that were sent and received, each as a token. Values of several calls are
 * summed. The optional counts are parts of `input_tokens` or `output_tokens`, never additions to
 * them. Absent: zero, or the provider did not say it.
 */
export const usage = z.object({
  input_tokens: tokenCount.describe('The tokens that were sent to the model, as the provider reported them.'),
  output_tokens: tokenCount.describe('The tokens that the model wrote, as the provider reported them.'),
  calls: tokenCount.describe('The number of calls of the model.'),
  cached_input_tokens: tokenCount
    .optional()
    .describe('How many of input_tokens the provider read from a cache. Absent: none that it reported.'),
  cache_write_tokens: tokenCount
    .optional()
    .describe('How many of input_tokens the provider wrote to a cache. Absent: none that it reported.'),
  reasoning_tokens: tokenCount
    .optional()
    .describe('How many of output_tokens were thoughts. Absent: none that the provider reported.'),
  audio_input_tokens: tokenCount
    .optional()
    .describe('How many of input_tokens were audio. Absent: none that the provider reported.'),
  audio_output_tokens: tokenCount
    .optional()
    .describe('How many of output_tokens were audio. Absent: none that the provider reported.'),
  unknown_calls: tokenCount
    .optional()
    .describe(
      'How many calls have no token counts from the provider, or counts that cannot be right. Absent: none.',
    ),
  estimated_calls: tokenCount
    .optional()
    .describe(
      'How many calls have token counts that Beaver counted itself, because they were broken off or cancelled: each byte that was sent or received counts as a token. Absent: none.',
    ),
})
export type Usage = z.infer<typeof usage>
