// The form in which a workflow answers by itself, and a check of the final text that asks for another one
// (D-62). Only the form of one agent whose output is the final text counts. A text that is put together of
// several has none.
import type { JsonObject } from '@beaver/core'
import { type EvidenceRequirement, schemaClash } from '@beaver/core/evidence'
import type { ExecutionGraph } from '@beaver/core/graph'
import { operations } from './definitions/settings.ts'
import { type Refusal, refuse } from './workflow-error.ts'

/**
 * The first check of a task's final text for a JSON Schema that no answer in the workflow's own form fits.
 * `null`: there is none.
 *
 * @param graph of the workflow that is the task; it is complete
 * @example
 * finalFormFault(graph, [{ kind: 'output_schema', schema: { type: 'object' } }]) // => null
 */
export function finalFormFault(
  graph: ExecutionGraph,
  checks: readonly EvidenceRequirement[],
): Refusal | null {
  const own = finalForm(graph)
  if (own === null) return null
  for (const [index, check] of checks.entries()) {
    if (typeof check !== 'object' || check.kind !== 'output_schema') continue
    const clash = schemaClash(own, check.schema)
    if (clash === null) continue
    const place = clash.path === '' ? 'the whole answer' : clash.path
    const message = `The workflow answers in the form of its own "output_schema", and no such answer fits the form that is asked for: at ${place}, ${clash.message}. Leave the form out, ask for the form of the workflow, or change the workflow.`
    return refuse('impossible_evidence', `required_evidence.${index}`, message)
  }
  return null
}

/** The JSON Schema of the agent whose output is the final text. `null`: any text. */
function finalForm({ nodes, output }: ExecutionGraph): JsonObject | null {
  const last = nodes.find(({ node_id }) => node_id === output)
  const author =
    last?.kind === 'code' && last.operation === 'outputs'
      ? nodes.find(({ node_id }) => node_id === onlyNodeOf(last.settings))
      : last
  return author?.kind === 'agent' ? (author.output_schema ?? null) : null
}

/** The node whose output is the only output of a definition. */
function onlyNodeOf(settings: unknown): string | null {
  const [only, ...more] = operations.outputs.parse(settings).outputs
  if (only === undefined || more.length > 0 || typeof only.value !== 'string') return null
  const [, plain, quoted] = oneNode.exec(only.value) ?? []
  return plain ?? (quoted === undefined ? null : (JSON.parse(quoted) as string))
}

/** `{{ nodes.a.output }}` or `{{ nodes["a"].json }}`, and nothing besides. */
const oneNode = /^\s*\{\{\s*nodes(?:\.([\p{L}\p{N}_-]+)|\[("(?:[^"\\]|\\.)*")\])\.(?:output|json)\s*\}\}\s*$/u
