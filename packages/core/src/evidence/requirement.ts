// What a node's result must rest on. A string is for people and the model: shown, recorded, never checked (D-11).
import { z } from 'zod'

export const machineRequirement = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('tool_succeeded'),
      tool: z.string().min(1),
      times_min: z.number().int().min(1).max(1000).optional(),
    })
    .describe('The named tool was called and succeeded, at least times_min times (default 1).'),
  z
    .strictObject({ kind: z.literal('output_length'), min: z.number().int().min(0).optional(), max: z.number().int().min(1).optional() })
    .describe('The final output has at least min and at most max characters.'),
  z.strictObject({ kind: z.literal('output_matches'), pattern: z.string().min(1).max(500) }).describe('The final output matches the regular expression.'),
])
export type MachineRequirement = z.infer<typeof machineRequirement>

export const evidenceRequirement = z.union([z.string().min(1).max(2000), machineRequirement])
export type EvidenceRequirement = z.infer<typeof evidenceRequirement>

/** `rests_on` are the `taskseq`s of the events the verdict was read from. */
export const evidenceCheck = z.object({
  requirement: evidenceRequirement,
  status: z.enum(['passed', 'failed', 'not_checked']),
  detail: z.string(),
  rests_on: z.array(z.number().int().positive()),
})
export type EvidenceCheck = z.infer<typeof evidenceCheck>
