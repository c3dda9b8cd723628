// What the result of a node must rest on. A string is for people and the model: it is recorded and never
// checked (D-11). An object is a check by code; docs/how-to/write-skills.md explains each.
import { z } from 'zod'

const text = z.string().min(1).max(2000)
const anyObject = z.record(z.string(), z.unknown())
/** Its JSON Schema does not refer to itself, as one of all JSON would. What comes over the wire is JSON. */
const anyJson = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown()), anyObject])
const times = z.number().int().min(1).max(1000)
/**
 * A field that may be given and that few need, so a request to a model does not name it
 * (workflows/src/arguments/tool-schema.ts).
 */
const rare = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.optional().meta({ brief: null, description })

/**
 * Where in an output that is JSON a check looks: a JSON Pointer (RFC 6901). If it is absent, the check reads
 * the whole output.
 */
const path = rare(
  z.string().max(500),
  'A JSON Pointer (RFC 6901) to the part of the output, which is JSON, that is checked. Absent: the whole output.',
)

/** A requirement that code checks. Each kind describes itself. */
export const machineRequirement = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('tool_succeeded'),
      tool: z.string().min(1).describe('The name of the tool.'),
      times_min: rare(times, 'How many calls must succeed. Absent: one.'),
      arguments_match: anyObject
        .optional()
        .describe('What the arguments of these calls must contain. Absent: the arguments do not matter.'),
    })
    .describe(
      'The named tool was called, with arguments that contain these, and succeeded, at least times_min times (default 1).',
    ),
  z
    .strictObject({
      kind: z.literal('output_length'),
      path,
      min: z.number().int().min(0).optional().describe('The least number of characters. Absent: no limit.'),
      max: z
        .number()
        .int()
        .min(1)
        .optional()
        .describe('The greatest number of characters. Absent: no limit.'),
    })
    .describe('The final output has at least min and at most max characters.'),
  z
    .strictObject({
      kind: z.literal('output_matches'),
      path,
      pattern: z
        .string()
        .min(1)
        .max(500)
        .describe('A regular expression (RE2), which may match anywhere in the output.'),
    })
    .describe('The final output matches the regular expression (RE2).'),
  z
    .strictObject({
      kind: z.literal('output_contains'),
      path,
      texts: z.array(text).min(1).max(100).describe('The texts. The output must contain each exactly.'),
    })
    .describe('The final output contains each text, exactly so.'),
  z
    .strictObject({
      kind: z.literal('output_schema'),
      path,
      schema: anyObject.describe('The JSON Schema that the output must fit.'),
    })
    .describe('The final output is JSON that fits the JSON Schema.'),
  z
    .strictObject({
      kind: z.literal('output_cites'),
      path,
      sources: z
        .array(text)
        .min(1)
        .max(100)
        .optional()
        .describe('The sources that the output must name. Absent: any source that from_tool gave.'),
      from_tool: z
        .string()
        .min(1)
        .optional()
        .describe('The tool whose successful calls must have the sources. Absent: the tools do not matter.'),
      times_min: rare(
        times,
        'How many sources the output must name. Absent: all of sources; without sources, one.',
      ),
      only: rare(z.boolean(), 'Whether the output may name no other sources. Absent: it may name others.'),
    })
    .describe('The final output names each source; with from_tool, sources that tool really gave.'),
  z
    .strictObject({
      kind: z.literal('numbers_from_tools'),
      path,
      tools: z
        .array(z.string().min(1))
        .min(1)
        .max(20)
        .describe('The tools whose successful results must have the numbers.'),
      allow: z
        .array(z.number())
        .max(100)
        .optional()
        .describe('Numbers that are allowed anyway. Absent: none.'),
      integers_below: rare(
        z.number().int().min(0).max(10_000),
        'Whole numbers below this one are allowed anyway. Absent: 0.',
      ),
    })
    .describe('Every number of the final output occurs in a result of these tools.'),
  z
    .strictObject({
      kind: z.literal('numbers_from_dependencies'),
      path,
      allow: rare(z.array(z.number()).max(100), 'Numbers that are allowed anyway. Absent: none.'),
      integers_below: rare(
        z.number().int().min(0).max(10_000),
        'Whole numbers below this one are allowed anyway. Absent: 0.',
      ),
    })
    .describe('Every number of the final output occurs in what the agent was given.'),
  z
    .strictObject({
      kind: z.literal('quotes_from_dependencies'),
      path,
      times_min: rare(times, 'How many quotations the output must have. Absent: one.'),
      chars_min: rare(
        z.number().int().min(4).max(1000),
        'The least number of characters of a quotation. Shorter texts in quotation marks are not checked. Absent: 12.',
      ),
    })
    .describe('Every quotation of the final output occurs in an output that the agent received.'),
  z
    .strictObject({
      kind: z.literal('output_value'),
      path: z
        .string()
        .max(500)
        .describe('A JSON Pointer (RFC 6901) to the value in the output, which is JSON.'),
      equals: anyJson.optional().describe('The value. Absent: it may be any value within the bounds.'),
      min: z.number().optional().describe('The least number. Absent: no limit.'),
      max: z.number().optional().describe('The greatest number. Absent: no limit.'),
    })
    .describe(
      'The final output is JSON and has a value at path, a JSON Pointer: this one, or a number within the bounds.',
    )
    .meta({ brief: null }),
  z
    .strictObject({
      kind: z.literal('files_exist'),
      paths: z
        .array(z.string().min(1).max(1000))
        .min(1)
        .max(100)
        .describe('The paths of the files, relative to the workspace.'),
    })
    .describe('These files exist in the workspace when the run ends.'),
])
export type MachineRequirement = z.infer<typeof machineRequirement>

/** A requirement in natural language, with at most 2,000 characters, or one that code checks. */
export const evidenceRequirement = z.union([text, machineRequirement])
export type EvidenceRequirement = z.infer<typeof evidenceRequirement>

/** `message` continues a sentence that begins with the name of the place: "… is 9, more than max". */
export interface RequirementFault {
  /** The place within the requirement. */
  readonly path: readonly string[]
  readonly message: string
}

/**
 * What a node demands of its result: evidence, rules for the output, and in words how the worker must give
 * evidence.
 */
export interface EvidenceDemands {
  readonly required_evidence: readonly EvidenceRequirement[]
  readonly validation_rules?: readonly EvidenceRequirement[] | undefined
  readonly evidence_contract?: string | undefined
}

/**
 * The requirements that are checked for a node, in the order of the fields.
 *
 * @example
 * requirementsOf({ required_evidence: ['Name a source.'], validation_rules: [{ kind: 'output_length', max: 500 }] }).length // => 2
 */
export function requirementsOf(demands: EvidenceDemands): readonly EvidenceRequirement[] {
  return demands.validation_rules === undefined
    ? demands.required_evidence
    : [...demands.required_evidence, ...demands.validation_rules]
}

/**
 * The verdict on one requirement. `rests_on`: the `taskseq` of each event from which the verdict was read.
 */
export const evidenceCheck = z.object({
  field: z
    .enum(['validation_rules', 'evidence_contract'])
    .optional()
    .describe('The field of the node that has the requirement. Absent: required_evidence.'),
  requirement: evidenceRequirement.describe('The requirement as the node has it.'),
  status: z
    .enum(['passed', 'failed', 'not_checked'])
    .describe('The verdict. not_checked: the requirement is a sentence, which code does not check.'),
  detail: z.string().describe('The verdict in one sentence.'),
  rests_on: z
    .array(z.number().int().positive())
    .describe('The taskseq of each event from which the verdict was read.'),
})
export type EvidenceCheck = z.infer<typeof evidenceCheck>
