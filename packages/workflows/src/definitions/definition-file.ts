// WorkflowDefinitionFile: the shape of a definition file (CT-06); read-definition.ts checks how its parts fit
// together. `interfaceInputs` and `interfaceOutputs` follow CT-09 and may contain what editors add; nodes
// contain only known fields. docs/reference/workflow-definitions.md says which fields are templates.
import { jsonObject, jsonValue } from '@beaver/core'
import { z } from 'zod'
import { workflowAgentSpec } from '../agent-spec.ts'

const filled = z.string().refine((text) => text.trim() !== '', 'is blank: write some text')

const config = z.looseObject({ default: jsonValue.optional(), suggestions: z.array(jsonValue).optional() })

const named = {
  description: z.string().optional(),
  customDescription: z.string().optional(),
  displayName: z.string().optional(),
  dataFlowType: z.string(),
  isStream: z.boolean().optional(),
}

export const interfaceInput = z.looseObject({
  ...named,
  required: z.boolean().optional(),
  multi: z.boolean().optional(),
  matchCategories: z.array(z.string()).optional(),
  suggestions: z.array(jsonValue).optional(),
  config: config.optional(),
})
export type InterfaceInput = Readonly<z.infer<typeof interfaceInput>>

const interfaceOutput = z.looseObject({
  ...named,
  multi: z.boolean().optional(),
  /** A template. Default: the output of the node of the same name. */
  value: jsonValue.optional(),
})

const spec = workflowAgentSpec.shape
const run = { deadlineMs: z.number().int().positive().optional() }
const nodeFields = {
  agent: {
    kind: z.literal('agent'),
    instruction: filled,
    useSkill: spec.use_skill,
    skillQuery: spec.skill_query,
    allowedToolNames: spec.allowed_tool_names,
    requiredEvidence: spec.required_evidence,
    validationRules: spec.validation_rules,
    evidenceContract: spec.evidence_contract,
    model: spec.model,
    modelSettings: spec.model_settings,
    outputSchema: spec.output_schema,
    ...run,
  },
  tool: { kind: z.literal('tool'), tool: filled, arguments: jsonObject.optional(), ...run },
  template: { kind: z.literal('template'), template: jsonValue },
  workflow: { kind: z.literal('workflow'), workflow: filled, inputs: jsonObject.optional() },
}

export const mapItemsMax = 100

export const bodyShapes = {
  agent: z.strictObject(nodeFields.agent),
  tool: z.strictObject(nodeFields.tool),
  template: z.strictObject(nodeFields.template),
  workflow: z.strictObject(nodeFields.workflow),
}
export type BodyKind = keyof typeof bodyShapes
export type Body = { [K in BodyKind]: z.infer<(typeof bodyShapes)[K]> }[BodyKind]

const place = {
  id: z.string(),
  /** One expression. If it is false, the node is skipped. */
  when: z.string().optional(),
  description: z.string().optional(),
  /** The place at which an editor draws the node. */
  position: jsonValue.optional(),
}

export const nodeShapes = {
  agent: z.strictObject({ ...place, ...nodeFields.agent }),
  tool: z.strictObject({ ...place, ...nodeFields.tool }),
  template: z.strictObject({ ...place, ...nodeFields.template }),
  workflow: z.strictObject({ ...place, ...nodeFields.workflow }),
  condition: z.strictObject({ ...place, kind: z.literal('condition'), if: z.string() }),
  map: z.strictObject({
    ...place,
    kind: z.literal('map'),
    items: z.string(),
    maxItems: z.number().int().min(1).max(512).optional(),
    body: z.looseObject({ kind: z.string() }),
  }),
}
export type NodeKind = keyof typeof nodeShapes
type MapNode = Omit<z.infer<typeof nodeShapes.map>, 'body'> & { readonly body: Body }
export type DefinitionNode =
  | { [K in Exclude<NodeKind, 'map'>]: z.infer<(typeof nodeShapes)[K]> }[Exclude<NodeKind, 'map'>]
  | MapNode
export type NodeOf<K extends NodeKind> = Extract<DefinitionNode, { kind: K }>

/** The file without its nodes, which are read one by one. */
export const fileShape = z.strictObject({
  name: filled.optional(),
  description: z.string().optional(),
  version: jsonValue.optional(),
  metadata: jsonObject.optional(),
  deadlineMs: run.deadlineMs,
  interfaceInputs: z.record(z.string(), interfaceInput).default({}),
  interfaceOutputs: z.record(z.string(), interfaceOutput),
  nodes: z.array(z.unknown()).min(1),
  edges: z.array(z.tuple([z.string(), z.string()])).default([]),
})

type NodeInput = { [K in NodeKind]: Readonly<z.input<(typeof nodeShapes)[K]>> }[NodeKind]

/** A definition in the form of its file. */
export interface WorkflowDefinitionInput extends Readonly<Omit<z.input<typeof fileShape>, 'nodes'>> {
  readonly nodes: readonly NodeInput[]
}

/** A definition file that was read and has no fault. */
export interface WorkflowDefinitionFile extends Readonly<Omit<z.infer<typeof fileShape>, 'nodes'>> {
  /** The name of the file, without its extension. */
  readonly id: string
  readonly nodes: readonly DefinitionNode[]
}

/** A message about a definition file, for its author. */
export interface DefinitionDiagnostic {
  /** `warning`: the tool is still offered. */
  readonly severity: 'error' | 'warning'
  readonly code: string
  /** The id of the file. */
  readonly workflow: string
  /** The dotted path in the file (`nodes.2.instruction`). Empty for the whole file. */
  readonly path: string
  readonly message: string
  /** The id of the workflow that a node calls and that does not exist. */
  readonly called?: string
}
