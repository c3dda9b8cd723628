// Whom a client of another protocol can ask by one name: the default profile, a profile, or a workflow of a
// definition file.
import type { DaemonStatus } from '@beaver/contracts'
import type { TaskHost } from './host.ts'

/** The agent that stands for the default profile. */
export const defaultAgent = 'beaver'
const workflowPrefix = 'workflow:'

export const isWorkflow = (agent: string): boolean => agent.startsWith(workflowPrefix)

/** All of them, as a daemon knows them. */
export const agentsIn = ({ profiles, workflows }: Pick<DaemonStatus, 'profiles' | 'workflows'>): string[] => [
  ...new Set([defaultAgent, ...profiles, ...workflows.filter(isWorkflow)]),
]

export const agentNames = async (host: TaskHost): Promise<string[]> => agentsIn(await host.client().status())

/** The name of the agent that a task was asked of. */
export const agentOf = ({
  workflow,
  profile,
}: {
  readonly workflow?: { readonly name: string } | undefined
  readonly profile?: string | undefined
}): string => workflow?.name ?? profile ?? defaultAgent

/** `more`: the workflow needs more than one text. */
export type ReadArguments =
  | { readonly kind: 'read'; readonly arguments: Record<string, unknown> }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'more'; readonly message: string }

/**
 * A workflow has no root agent that reads a conversation: a message is its arguments as JSON, or the text of
 * its one input.
 */
export async function argumentsOf(workflow: string, text: string, host: TaskHost): Promise<ReadArguments> {
  const given = objectOf(text)
  if (given !== null) return { kind: 'read', arguments: given }
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
