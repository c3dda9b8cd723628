// Finds checks of an agent that no output can pass, because they need a tool that the agent cannot have
// (D-62); core's `requirementFault` finds those that are impossible by themselves. A name with `{{ … }}` is a
// template, and not judged before it is filled in.
import {
  evidenceRequirement,
  type EvidenceRequirement,
  type MachineRequirement,
  requirementsOf,
} from '@beaver/core/evidence'
import { authorsOf, type ExecutionGraph } from '@beaver/core/graph'
import { isRecord } from './arguments/json-text.ts'
import { didYouMean, quote, quoteAll } from './arguments/wording.ts'
import { type Refusal, refuse } from './workflow-error.ts'

/** The tools that agents of a team may have. */
export interface KnownTools {
  readonly names: readonly string[]
  has(name: string): boolean
}

/**
 * Tools by their names, and those of servers whose tools are not known here.
 *
 * @param servers names of MCP servers: their tools begin with the name and `_`
 * @example
 * const tools = knownTools(['read_file'], ['files'])
 * tools.has('files_write') // => true
 * tools.has('raed_file') // => false
 */
export function knownTools(names: readonly string[], servers: readonly string[] = []): KnownTools {
  const all = new Set([...names, teamTool])
  return {
    names: [...all],
    has: (name) => all.has(name) || servers.some((server) => name.startsWith(`${server}_`)),
  }
}

/** Every team with a shared state has it. */
const teamTool = 'team_shared_state'

const fields = ['required_evidence', 'requiredEvidence', 'validation_rules', 'validationRules'] as const

/**
 * The first check within a value that its agent cannot pass. `null`: there is none.
 *
 * @param tools absent: only the agent's own limits are judged
 * @example
 * const agent = { name: 'a', required_evidence: [{ kind: 'tool_succeeded', tool: 'raed_file' }] }
 * evidenceFault({ agents: [agent] }, knownTools(['read_file']))?.error.path // => 'agents.0.required_evidence.0.tool'
 * evidenceFault({ agents: [agent] }, knownTools(['raed_file'])) // => null
 */
export function evidenceFault(value: unknown, tools?: KnownTools, path = ''): Refusal | null {
  if (Array.isArray(value))
    return first(value.entries(), (each, index) => evidenceFault(each, tools, at(path, index)))
  if (!isRecord(value)) return null
  const allowed = value['allowed_tool_names'] ?? value['allowedToolNames']
  const limits = Array.isArray(allowed) ? allowed.filter((name) => typeof name === 'string') : null
  const own = first(fields.entries(), (field) => {
    const checks = value[field]
    return Array.isArray(checks)
      ? first(checks.entries(), (check, index) =>
          checkFault(check, { limits, tools, path: at(at(path, field), index), value }),
        )
      : null
  })
  return (
    own ??
    first(Object.entries(value), (each, key) =>
      (fields as readonly string[]).includes(key) ? null : evidenceFault(each, tools, at(path, key)),
    )
  )
}

/**
 * The first check of a complete graph that wants quotations of an agent which receives no output. `null`:
 * there is none.
 */
export function quotesFault({ nodes }: ExecutionGraph): Refusal | null {
  for (const node of nodes) {
    if (node.kind !== 'agent' || node.depends_on.length > 0) continue
    if (
      !requirementsOf(node).some(
        (each) => typeof each === 'object' && each.kind === 'quotes_from_dependencies',
      )
    )
      continue
    const message = `The check "quotes_from_dependencies" of ${quote(node.node_id)} needs the output of another agent, but that agent waits for none, so no output can pass. Connect it, or remove the check.`
    return refuse('impossible_evidence', '', message)
  }
  return null
}

/**
 * The first check of a task's final text that wants quotations of authors who receive no output. `null`:
 * there is none.
 *
 * @param graph of the workflow that is the task; it is complete
 * @example
 * finalQuotesFault(graph, [{ kind: 'quotes_from_dependencies' }]) // => null
 */
export function finalQuotesFault(
  graph: ExecutionGraph,
  checks: readonly EvidenceRequirement[],
): Refusal | null {
  const at = checks.findIndex((each) => typeof each === 'object' && each.kind === 'quotes_from_dependencies')
  const authors = authorsOf(graph)
  if (at === -1 || authors.some((node) => node.depends_on.length > 0)) return null
  const names = quoteAll(authors.map(({ node_id }) => node_id))
  const message = `The check "quotes_from_dependencies" needs an output that the author of the result was given, but the result comes from ${names}, and none of them waits for another agent, so no result can pass. Remove the check.`
  return refuse('impossible_evidence', `required_evidence.${at}`, message)
}

interface Agent {
  readonly limits: readonly string[] | null
  readonly tools: KnownTools | undefined
  readonly path: string
  readonly value: Readonly<Record<string, unknown>>
}

function checkFault(check: unknown, { limits, tools, path, value }: Agent): Refusal | null {
  const parsed = evidenceRequirement.safeParse(check)
  if (!parsed.success || typeof parsed.data === 'string') return null
  const named = toolsOf(parsed.data).filter(({ name }) => !name.includes('{{'))
  const missing = named.find(({ name }) => tools?.has(name) === false)
  const agent = agentOf(value)
  if (missing !== undefined) {
    const near = didYouMean(missing.name, tools?.names ?? [])
    return refuse(
      'impossible_evidence',
      `${path}.${missing.field}`,
      `The check ${quote(parsed.data.kind)}${agent} needs the tool ${quote(missing.name)}, but there is no such tool, so no output can pass.${near === '' ? ` Tools: ${tools?.names.join(', ')}.` : near}`,
    )
  }
  const [outside] = named
  if (limits === null || outside === undefined || named.some(({ name }) => limits.includes(name))) return null
  return refuse(
    'impossible_evidence',
    `${path}.${outside.field}`,
    `The check ${quote(parsed.data.kind)}${agent} needs the tool ${quote(outside.name)}, which allowed_tool_names of that agent does not list, so no output can pass. Add the tool there, or remove the check.`,
  )
}

/** For a message: ` of "extractor"`. */
function agentOf(value: Agent['value']): string {
  const name = [value['name'], value['node_id'], value['id']].find((each) => typeof each === 'string')
  return name === undefined ? '' : ` of ${quote(name)}`
}

function toolsOf(requirement: MachineRequirement): { name: string; field: string }[] {
  switch (requirement.kind) {
    case 'tool_succeeded':
      return [{ name: requirement.tool, field: 'tool' }]
    case 'output_cites':
      return requirement.from_tool === undefined ? [] : [{ name: requirement.from_tool, field: 'from_tool' }]
    case 'numbers_from_tools':
      return requirement.tools.map((name, index) => ({ name, field: `tools.${index}` }))
    default:
      return []
  }
}

const at = (path: string, key: string | number): string => (path === '' ? String(key) : `${path}.${key}`)

function first<Key, Value>(
  entries: Iterable<readonly [Key, Value]>,
  find: (value: Value, key: Key) => Refusal | null,
): Refusal | null {
  for (const [key, value] of entries) {
    const found = find(value, key)
    if (found !== null) return found
  }
  return null
}
