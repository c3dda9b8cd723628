// The arguments of the workflows of v1, as a TypeScript program writes them. They follow from the schemas, so
// they cannot differ from what is checked when a task is submitted.
import type { z } from 'zod'
import type { agentRearrange } from './graphs/agent-rearrange.ts'
import type { concurrentWorkflow } from './graphs/concurrent.ts'
import type { graphWorkflow } from './graphs/graph-workflow.ts'
import type { mixtureOfAgents } from './graphs/mixture-of-agents.ts'
import type { sequentialWorkflow } from './graphs/sequential.ts'
import type { TypedWorkflow } from './workflow.ts'

/** What a program may write for a type: the same, read-only at every depth. Free objects of JSON stay. */
export type Written<Value> = Value extends readonly unknown[]
  ? { readonly [Key in keyof Value]: Written<Value[Key]> }
  : Value extends object
    ? string extends keyof Value
      ? Value
      : { readonly [Key in keyof Value]: Written<Value[Key]> }
    : Value

/** The arguments of a workflow, as a program writes them. */
export type WrittenArguments<Made> = Made extends TypedWorkflow<infer Input> ? Written<z.input<Input>> : never

/** The arguments of the five workflows of v1, by name. */
export interface CommonWorkflowArguments {
  readonly SequentialWorkflow: WrittenArguments<typeof sequentialWorkflow>
  readonly ConcurrentWorkflow: WrittenArguments<typeof concurrentWorkflow>
  readonly MixtureOfAgents: WrittenArguments<typeof mixtureOfAgents>
  readonly AgentRearrange: WrittenArguments<typeof agentRearrange>
  readonly GraphWorkflow: Omit<WrittenArguments<typeof graphWorkflow>, 'edges'> & {
    /** `to` gets the output of `from`. */
    readonly edges: readonly (readonly [from: string, to: string])[]
  }
}
