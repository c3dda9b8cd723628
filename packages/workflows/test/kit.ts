// What the tests of this package share: short ways to write arguments and to read what a plan says.
import type { AgentNode, ExecutionGraph } from '@beaver/core'
import { expect } from 'vitest'
import type { PlanOptions, PlanResult, Workflow, WorkflowError } from '../src/index.ts'

export interface AgentArgs {
  name: string
  instruction: string
}

export const agents = (...names: string[]): AgentArgs[] =>
  names.map((name) => ({ name, instruction: `Do the work of ${name}.` }))

export function graphOf(result: PlanResult): ExecutionGraph {
  if (!result.ok) expect.fail(`refused: ${JSON.stringify(result.error)}`)
  return result.graph
}

export function errorOf(result: PlanResult): WorkflowError {
  if (result.ok) expect.fail('accepted')
  return result.error
}

/** The nodes of a graph that has agents only. */
export const agentNodes = (graph: ExecutionGraph): AgentNode[] =>
  graph.nodes.map((node) => (node.kind === 'agent' ? node : expect.fail(`${node.node_id} is no agent`)))

/** `name → depends_on`, in the order of the nodes. */
export const dependencies = (graph: ExecutionGraph): [string, string[]][] =>
  graph.nodes.map((node) => [node.node_id, node.depends_on])

/** Claims that a call is refused with this code and path, in a message that holds each of `parts`. */
export function refuses(
  workflow: Workflow,
  args: unknown,
  wanted: { code: string; path: string; parts: string[] },
  options?: PlanOptions,
): void {
  const error = errorOf(workflow.plan(args, options))
  expect({ code: error.code, path: error.path, message: error.message }).toEqual({
    code: wanted.code,
    path: wanted.path,
    message: error.message,
  })
  for (const part of wanted.parts) expect(error.message).toContain(part)
}
