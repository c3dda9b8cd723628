// What the settings of a model mean. Requests and events have them.
import type { ModelSettings } from '@beaver/core'
import type { TextsOf } from './field-texts.ts'

export const ofModelSettings: TextsOf<ModelSettings> = {
  temperature: 'From 0, the same each time, to 2. Absent: the server decides.',
  top_p: 'Only the most probable tokens, up to this sum of their probabilities. Absent: the server decides.',
  output_tokens_max: 'The most tokens of one answer. Absent: the server decides.',
  reasoning_effort:
    "How much the model thinks before it answers, in the server's word. Absent: the server decides.",
  extra_body: 'Further fields of the request. Absent: none.',
}
