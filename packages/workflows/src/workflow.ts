// Workflow: one tool the root agent may choose. It fills slots; this package turns them into an ExecutionGraph (S0 §1, §6.1).
// What runs the graph, which skills exist and what a provider is told belong to others.
// W1. `plan` is pure: the same arguments give an equal graph. W2. An accepted graph keeps the invariants of ExecutionGraph.
// W3. `plan` never throws for anything a model may send.
import type { ExecutionGraph, JsonObject } from '@beaver/core'
import { z } from 'zod'
import { readArguments } from './read-arguments.ts'
import type { Refusal } from './workflow-error.ts'

/** Bounds of one graph (D-39). */
export interface WorkflowLimits {
  readonly agentsMax: number
  readonly edgesMax: number
}

export const defaultWorkflowLimits: WorkflowLimits = { agentsMax: 512, edgesMax: 8192 }

export type PlanResult = { readonly ok: true; readonly graph: ExecutionGraph } | Refusal

export interface PlanOptions {
  /** Default: `defaultWorkflowLimits`. */
  readonly limits?: Partial<WorkflowLimits>
}

export type WorkflowName = 'SequentialWorkflow' | 'ConcurrentWorkflow' | 'MixtureOfAgents' | 'AgentRearrange' | 'GraphWorkflow'

export interface Workflow {
  readonly name: WorkflowName
  /** For the model: when to choose this tool, and when not. */
  readonly description: string
  readonly input: z.ZodType
  /** The JSON schema of `input`, as a provider's tool schema wants it. */
  readonly parameters: JsonObject
  /** The graph of a call, or what is wrong with its arguments: the first fault, in the order of the checks. */
  plan(args: unknown, options?: PlanOptions): PlanResult
}

export interface WorkflowDefinition<Input extends z.ZodType> {
  readonly name: WorkflowName
  readonly description: string
  readonly input: Input
  /** Faults of shape that have a code or a hint of their own; asked before the schema. */
  readonly shapeFault?: (args: Readonly<Record<string, unknown>>) => Refusal | null
  readonly build: (args: z.output<Input>, limits: WorkflowLimits) => PlanResult
}

/** A workflow from its schema and its builder. */
export function defineWorkflow<Input extends z.ZodType>({ name, description, input, shapeFault, build }: WorkflowDefinition<Input>): Workflow {
  const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: 'input' })
  return {
    name,
    description,
    input,
    parameters: parameters as JsonObject,
    plan(args, options) {
      const read = readArguments({ input, parameters: parameters as JsonObject, ...(shapeFault === undefined ? {} : { shapeFault }) }, args)
      return read.ok ? build(read.value, { ...defaultWorkflowLimits, ...options?.limits }) : read
    },
  }
}
