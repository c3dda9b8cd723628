// Workflow: one tool that the root agent may choose. The agent fills slots, and `plan` turns them into an
// ExecutionGraph (GEN-05, WT-01). Running the graph, loading skills and talking to providers belong to other
// packages. `plan` is pure and never throws, whatever a model sends.
import type { JsonObject, ModelSettings } from '@beaver/core'
import type { ExecutionGraph, TeamProgram } from '@beaver/core/graph'
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

/** What a profile gives to an agent that names it. */
export interface MemberProfile {
  readonly system_prompt?: string
  readonly allowed_tool_names?: readonly string[]
  readonly model?: string
  /** Without `extra_body`, which only the profile of a root has. */
  readonly model_settings?: ModelSettings
}

/** A team as its author configured it. */
export interface ConfiguredTeam {
  readonly team: string
  readonly strategy: string
  /** The names of the members, in declared order. */
  readonly members: readonly string[]
  readonly coordinator: string | null
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
  /** Whether a model may call it. `false`: only a task can be one. Default: true. */
  readonly tool?: boolean
  /** Decides while a graph of this workflow runs. Absent: the graph alone decides. */
  readonly program?: TeamProgram
  /** The most agents and tools that a graph may have when it ends. Absent or `null`: it has all from the start. */
  readonly growthOf?: (graph: ExecutionGraph) => number | null
  /** The configured team of a graph. Absent or `null`: the team is the agents of the graph. */
  readonly teamOf?: (graph: ExecutionGraph) => ConfiguredTeam | null
  /**
   * Replaces the profiles that the arguments name by what they give, before a task keeps the arguments (D-17).
   * Absent: arguments name no profiles.
   */
  readonly withProfiles?: (
    args: unknown,
    profileOf: (name: string) => MemberProfile | null,
  ) => { readonly ok: true; readonly args: unknown } | Refusal
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

/** A workflow whose slots have a type in TypeScript. */
export interface TypedWorkflow<Input extends z.ZodObject> extends Workflow {
  readonly input: Input
}

/** What `workflowOf` makes a workflow of. */
export interface WorkflowDefinition<Input extends z.ZodObject> extends Omit<
  Workflow,
  'input' | 'parameters' | 'plan'
> {
  /** Its slots. A workflow that a model may call also gets the slot `deliver`. */
  readonly input: Input
  /** Faults of shape with a code or a hint of their own. They are checked before the schema. */
  readonly shapeFault?: (args: Readonly<Record<string, unknown>>) => Refusal | null
  readonly build: (args: z.output<Input>, limits: WorkflowLimits, turn: number) => PlanResult
}

/**
 * Makes a workflow from its schema and its builder. The arguments that `build` gets are valid.
 *
 * @example
 * import { z } from 'zod'
 *
 * const agents = [
 *   { name: 'writer', instruction: 'Draft.' },
 *   { name: 'checker', instruction: 'Check the draft.' },
 * ]
 * const relay = workflowOf({
 *   name: 'Relay',
 *   description: 'One agent drafts, one checks. Choose it for short texts. Not for research.',
 *   input: z.strictObject({ task: z.string() }),
 *   build: ({ task }, limits) => sequentialWorkflow.plan({ task, agents }, { limits }),
 * })
 * relay.plan({ task: 'Describe the tides.' }).ok // => true
 */
export function workflowOf<Input extends z.ZodObject>(
  definition: WorkflowDefinition<Input>,
): TypedWorkflow<Input> {
  const { shapeFault, build, input: slots, ...rest } = definition
  const input = (rest.tool === false ? slots : slots.extend({ deliver: deliverField })) as Input
  // Made when they are first needed, because a daemon that starts needs none of them.
  let whole: JsonObject | null = null
  let parameters: JsonObject | null = null
  const schema = (): JsonObject => (whole ??= wholeSchema(input))
  return {
    ...rest,
    input,
    get parameters() {
      return (parameters ??= briefSchema(schema(), rest.name))
    },
    plan(callArguments, options) {
      const read = readArguments(
        { input, schema: schema(), ...(shapeFault === undefined ? {} : { shapeFault }) },
        callArguments,
      )
      if (!read.ok) return read
      const { deliver, ...args } = read.value as Record<string, unknown>
      const planned = build(
        args as z.output<Input>,
        { ...defaultWorkflowLimits, ...options?.limits },
        options?.turn ?? 0,
      )
      if (!planned.ok) return planned
      const impossible =
        evidenceFault(read.value, options?.tools) ??
        (rest.program === undefined ? quotesFault(planned.graph) : null)
      if (impossible !== null) return impossible
      return deliver === 'user' ? { ok: true, graph: { ...planned.graph, deliver } } : planned
    },
  }
}
