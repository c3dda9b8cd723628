// Checks what a definition file says about tools against the tools that are loaded. Tools of MCP servers and
// of worker threads come later, so an unknown tool is a warning. Anything else is certain, and an error. A
// value with a template is not known yet. Only whether its argument exists is checked.
import { type EvidenceRequirement, type JsonObject, schemaFault, schemaMismatch } from '@beaver/core'
import type { WorkflowDefinitionFile } from '@beaver/workflows'
import type { Tool } from '../tools/tool.ts'

export interface ToolUseFault {
  readonly severity: 'error' | 'warning'
  /** The dotted path in the file. */
  readonly path: string
  readonly message: string
}

type Step = Readonly<Record<string, unknown>> & { readonly kind: string }

export function toolUseFaults({ nodes }: WorkflowDefinitionFile, tools: readonly Tool[]): ToolUseFault[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return nodes.flatMap((node, index) => {
    const path = `nodes.${index}`
    return node.kind === 'map'
      ? stepFaults(node.body, `${path}.body`, byName)
      : stepFaults(node, path, byName)
  })
}

function stepFaults(step: Step, path: string, tools: ReadonlyMap<string, Tool>): ToolUseFault[] {
  if (step.kind === 'agent') return scopeFaults(step, path)
  if (step.kind !== 'tool') return []
  const name = String(step['tool'])
  const tool = tools.get(name)
  if (tool === undefined) {
    const message = `There is no tool ${JSON.stringify(name)} now. The node fails unless an MCP server or a program brings it.`
    return [{ severity: 'warning', path: `${path}.tool`, message }]
  }
  const message = argumentsFault(tool, (step['arguments'] ?? {}) as JsonObject)
  return message === null ? [] : [{ severity: 'error', path: `${path}.arguments`, message }]
}

function argumentsFault(tool: Tool, args: JsonObject): string | null {
  const misfit = (what: string): string => `The arguments of ${tool.name} do not fit: ${what}.`
  if (!hasTemplate(args)) {
    const fault = faultOf(tool, args)
    if (fault !== null) return fault
  }
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = tool.parameters as {
    properties?: Readonly<Record<string, JsonObject>>
    required?: readonly string[]
    additionalProperties?: unknown
  }
  const missing = required.find((key) => !Object.hasOwn(args, key))
  if (missing !== undefined) return misfit(`${JSON.stringify(missing)} is missing`)
  for (const [key, value] of Object.entries(args)) {
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (schema === undefined) {
      if (additionalProperties === false)
        return misfit(
          `${JSON.stringify(key)} is not one of ${Object.keys(properties).join(', ') || 'them; it takes none'}`,
        )
    } else if (!hasTemplate(value) && schemaFault(schema) === null) {
      const mismatch = schemaMismatch(schema, JSON.stringify(value))
      if (mismatch !== null) return misfit(`${JSON.stringify(key)} ${mismatch}`)
    }
  }
  return null
}

/** A tool that throws proves nothing. */
function faultOf(tool: Tool, args: JsonObject): string | null {
  try {
    return tool.inputFault?.(args) ?? null
  } catch {
    return null
  }
}

const hasTemplate = (value: unknown): boolean => JSON.stringify(value)?.includes('{{') === true

/** A check that only a call of a tool can pass, of a tool that the agent cannot have. */
function scopeFaults(step: Step, path: string): ToolUseFault[] {
  const allowed = step['allowedToolNames'] as readonly string[] | null | undefined
  if (allowed === undefined || allowed === null) return []
  return ['requiredEvidence', 'validationRules'].flatMap((field) =>
    ((step[field] ?? []) as readonly EvidenceRequirement[]).flatMap((requirement, i): ToolUseFault[] => {
      const needed = toolsNeeded(requirement)
      if (needed.length === 0 || needed.some((tool) => allowed.includes(tool))) return []
      const message = `It needs a call of ${needed.join(' or ')}, but the node may only call ${allowed.join(', ') || 'no tool'}. Add the tool to "allowedToolNames", or remove the check.`
      return [{ severity: 'error', path: `${path}.${field}.${i}`, message }]
    }),
  )
}

function toolsNeeded(requirement: EvidenceRequirement): readonly string[] {
  if (typeof requirement === 'string') return []
  if (requirement.kind === 'tool_succeeded') return [requirement.tool]
  return requirement.kind === 'output_cites' && requirement.from_tool !== undefined
    ? [requirement.from_tool]
    : []
}
