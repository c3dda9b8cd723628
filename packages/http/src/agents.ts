// The names under which clients of other protocols address an agent: the default profile, a profile, or a
// workflow of a definition file.
import type { DaemonStatus } from '@beaver/contracts'
import type { TaskHost } from './host.ts'

/** The name of the default profile. */
export const defaultAgent = 'beaver'
const workflowPrefix = 'workflow:'

export const isWorkflow = (agent: string): boolean => agent.startsWith(workflowPrefix)

/** The names of all agents in the status of a daemon. */
export const agentsIn = ({ profiles, workflows }: Pick<DaemonStatus, 'profiles' | 'workflows'>): string[] => [
  ...new Set([defaultAgent, ...profiles, ...workflows.filter(isWorkflow)]),
]

export const agentNames = async (host: TaskHost): Promise<string[]> => agentsIn(await host.client().status())

/** The name of the agent to which a task was submitted. */
export const agentOf = ({
  workflow,
  profile,
}: {
  readonly workflow?: { readonly name: string } | undefined
  readonly profile?: string | undefined
}): string => workflow?.name ?? profile ?? defaultAgent

/** `unknown`: there is no such workflow. `more`: the workflow needs more than one text. */
export type ReadArguments =
  | { readonly kind: 'read'; readonly arguments: Record<string, unknown> }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'more'; readonly message: string }

/**
 * Reads a message to a workflow as its arguments. A workflow has no root agent that could read a
 * conversation, so the message must be the arguments as a JSON object, or the text of its only input.
 */
export async function argumentsOf(workflow: string, text: string, host: TaskHost): Promise<ReadArguments> {
  const argumentsInJson = objectOf(text)
  if (argumentsInJson !== null) return { kind: 'read', arguments: argumentsInJson }
  const { workflows, workflow_texts: texts = {} } = await host.client().status()
  if (!workflows.includes(workflow)) return { kind: 'unknown' }
  const input = Object.hasOwn(texts, workflow) ? texts[workflow] : undefined
  if (input !== undefined) return { kind: 'read', arguments: { [input]: text } }
  return {
    kind: 'more',
    message: `The workflow ${JSON.stringify(workflow)} needs more than one text. Send its arguments as a JSON object.`,
  }
}

function objectOf(text: string): Record<string, unknown> | null {
  if (!text.trimStart().startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
