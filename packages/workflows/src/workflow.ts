// Workflow: one tool that the root agent may choose. The agent fills slots, and this package turns them into
// an ExecutionGraph (GEN-05, WT-01). Running the graph, loading skills and talking to providers belong to other
// packages. `plan` is pure: the same arguments give an equal graph. An accepted graph keeps the invariants of
// ExecutionGraph. `plan` never throws, whatever a model sends.
import type { ExecutionGraph, JsonObject, TeamProgram } from '@beaver/core'
import { z } from 'zod'
import { readArguments } from './arguments/read-arguments.ts'
import { briefSchema, wholeSchema } from './arguments/tool-schema.ts'
import { evidenceFault, type KnownTools, quotesFault } from './evidence-fault.ts'
import type { Refusal } from './workflow-error.ts'

/** The limits of one graph (D-39). */
export interface WorkflowLimits {
  readonly agentsMax: number
  readonly edgesMax: number
  /**
   * Whether agents may name `model` and `model_settings`. Default: true; a root agent may only if its profile
   * says so.
   */
  readonly modelChoice?: boolean
}

export const defaultWorkflowLimits: WorkflowLimits = { agentsMax: 512, edgesMax: 8192 }

/** An accepted graph, or a refusal. */
export type PlanResult = { readonly ok: true; readonly graph: ExecutionGraph } | Refusal

/** Options of `Workflow.plan`. */
export interface PlanOptions {
  /** Default: `defaultWorkflowLimits`. */
  readonly limits?: Partial<WorkflowLimits>
  /**
   * How many teams of this workflow the session had before, so that a round robin continues (D-48). Default:
   * 0.
   */
  readonly turn?: number
  /**
   * The tools that agents may have. A check that needs another one is refused. Default: only
   * `allowed_tool_names` of an agent is compared.
   */
  readonly tools?: KnownTools
}

/** A workflow that the root agent may choose, or that a task may be. */
export interface Workflow {
  /** `SequentialWorkflow`, or `workflow:<id>` for a definition file. */
  readonly name: string
  /** For the model: when to choose this tool, and when not. */
  readonly description: string
  readonly input: z.ZodType
  /**
   * The JSON schema of `input` for a provider, as brief as possible: `plan` checks more than it says. For
   * several tools in one request, use `workflowToolSchemas`.
   */
  readonly parameters: JsonObject
  /** The graph of a call, or the first fault of its arguments in the order of the checks. */
  plan(args: unknown, options?: PlanOptions): PlanResult
  /** Decides while a graph of this workflow runs. Absent: the graph alone decides. */
  readonly program?: TeamProgram
  /**
   * Calls of one session with the same key take turns: `PlanOptions.turn` says how many came before. `null`:
   * no turns.
   */
  readonly turnKey?: (args: unknown) => string | null
}

/** A slot of every workflow tool (D-61). */
const deliverField = z
  .enum(['root', 'user'])
  .optional()
  .describe('user: the result is your answer, word for word.')

export interface WorkflowDefinition<Input extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Input
  /** Faults of shape with a code or a hint of their own. They are checked before the schema. */
  readonly shapeFault?: (args: Readonly<Record<string, unknown>>) => Refusal | null
  readonly build: (args: z.output<Input>, limits: WorkflowLimits, turn: number) => PlanResult
  readonly program?: TeamProgram
  /**
   * Whether the arguments have the slot `deliver`. `false` for a workflow that no model calls. Default: true.
   */
  readonly delivers?: boolean
}

/** Makes a workflow from its schema and its builder. */
export function workflowOf<Input extends z.ZodObject>(definition: WorkflowDefinition<Input>): Workflow {
  const { name, description, shapeFault, build, program, delivers = true } = definition
  const input = delivers ? definition.input.extend({ deliver: deliverField }) : definition.input
  // Made when they are first needed, because a daemon that starts needs none of them.
  let whole: JsonObject | null = null
  let parameters: JsonObject | null = null
  const schema = (): JsonObject => (whole ??= wholeSchema(input))
  return {
    name,
    description,
    input,
    get parameters() {
      return (parameters ??= briefSchema(schema(), name))
    },
    ...(program === undefined ? {} : { program }),
    plan(args, options) {
      const read = readArguments(
        { input, schema: schema(), ...(shapeFault === undefined ? {} : { shapeFault }) },
        args,
      )
      if (!read.ok) return read
      const { deliver, ...slots } = read.value as Record<string, unknown>
      const planned = build(
        slots as z.output<Input>,
        { ...defaultWorkflowLimits, ...options?.limits },
        options?.turn ?? 0,
      )
      if (!planned.ok) return planned
      const impossible =
        evidenceFault(read.value, options?.tools) ??
        (program === undefined ? quotesFault(planned.graph) : null)
      if (impossible !== null) return impossible
      return deliver === 'user' ? { ok: true, graph: { ...planned.graph, deliver } } : planned
    },
  }
}
