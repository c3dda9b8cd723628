// Resolves the ids of a `tool_ids_inventory`: `system:` (built-in tools and team workflows), `workflow:`
// (definition files), `kb:` (knowledge bases). A bad id is a diagnostic, and the others are used, once each
// and in order. AgentTeam is a way to submit a task and never a model's tool.
import {
  addedWorkflowTools,
  createTeamWorkflowTools,
  findTaskWorkflow,
  findWorkflow,
  type Workflow,
} from '@beaver/workflows'
import { brokenFile, type LoadDiagnostic } from '../load-diagnostic.ts'
import type { ToolSchema } from '../provider/chat-provider.ts'
import { type ToolKind, toolKindOf } from '../taint/tool-kind.ts'
import type { Tool } from '../tools/tool.ts'

/** What ids may name. */
export interface ToolCatalog {
  readonly tools: readonly Tool[]
  /** The workflows of the loaded definition files. */
  readonly definitions: readonly Workflow[]
  /**
   * What was wrong with the files of definitions, so that a broken one is named as broken. Default: nothing.
   */
  readonly diagnostics?: readonly LoadDiagnostic[]
}

/** What the ids of an inventory name. */
export interface Inventory {
  readonly tools: readonly Tool[]
  /** Routing and the mode lock concern these (D-02, D-05). */
  readonly teamWorkflows: readonly Workflow[]
  /** For routing and the mode lock, these are ordinary tools. */
  readonly definitions: readonly Workflow[]
  readonly diagnostics: readonly InventoryDiagnostic[]
}

/** What is wrong with one id of an inventory. */
export interface InventoryDiagnostic {
  readonly code:
    | 'prefix_missing'
    | 'unknown_prefix'
    | 'unknown_tool'
    | 'knowledge_base_missing'
    | 'listed_twice'
  readonly message: string
  /** The index in the inventory. */
  readonly index: number
}

/** One tool that an inventory may list. */
export interface CatalogEntry {
  /** The id with its prefix. */
  readonly id: string
  readonly kind: 'tool' | 'team_workflow' | 'workflow'
  /** The schema in the form that a model reads. */
  readonly schema: ToolSchema
  /** What a tool reads and does. Absent: it is a workflow, whose agents' calls are judged one by one. */
  readonly does?: ToolKind
}

/**
 * What a root agent without a profile has: every tool and the five workflow tools.
 *
 * @example
 * defaultInventory({ tools: [], definitions: [] }).teamWorkflows.length // => 5
 */
export function defaultInventory({ tools }: ToolCatalog): Inventory {
  return { tools, teamWorkflows: createTeamWorkflowTools(), definitions: [], diagnostics: [] }
}

/**
 * Resolves the ids of an inventory against the catalog. It never throws.
 *
 * @example
 * const { teamWorkflows, diagnostics } = resolveInventory(['system:GraphWorkflow', 'system:fly'], { tools: [], definitions: [] })
 * teamWorkflows.map(({ name }) => name) // => ['GraphWorkflow']
 * diagnostics.map(({ index, code }) => [index, code]) // => [[1, 'unknown_tool']]
 */
export function resolveInventory(ids: readonly string[], catalog: ToolCatalog): Inventory {
  const tools = new Map<string, Tool>()
  const teamWorkflows = new Map<string, Workflow>()
  const definitions = new Map<string, Workflow>()
  const diagnostics: InventoryDiagnostic[] = []
  for (const [index, id] of ids.entries()) {
    const diagnostic = place(id)
    if (diagnostic !== null) diagnostics.push({ ...diagnostic, index })
  }
  return {
    tools: [...tools.values()],
    teamWorkflows: [...teamWorkflows.values()],
    definitions: [...definitions.values()],
    diagnostics,
  }

  function place(id: string): Omit<InventoryDiagnostic, 'index'> | null {
    const at = id.indexOf(':')
    const prefix = id.slice(0, Math.max(0, at))
    const name = id.slice(at + 1)
    if (at < 0)
      return {
        code: 'prefix_missing',
        message: `The tool id ${JSON.stringify(id)} has no prefix. ${meant(id, catalog) ?? prefixes}`,
      }
    switch (prefix) {
      case 'system': {
        const tool = catalog.tools.find((each) => idOf(each) === id)
        if (tool !== undefined) return put(tools, tool, id)
        const workflow = findWorkflow(name)
        return workflow === null ? missing(id) : put(teamWorkflows, workflow, id)
      }
      case 'workflow': {
        const workflow = catalog.definitions.find((each) => each.name === id)
        return workflow === undefined ? missing(id) : put(definitions, workflow, id)
      }
      case 'kb':
        return putKnowledgeBase(id)
      default:
        return {
          code: 'unknown_prefix',
          message: `The tool id ${JSON.stringify(id)} has the unknown prefix ${JSON.stringify(`${prefix}:`)}. ${prefixes}`,
        }
    }
  }

  function putKnowledgeBase(id: string): Omit<InventoryDiagnostic, 'index'> | null {
    const tool = catalog.tools.find(({ name }) => name === id)
    if (tool !== undefined) return put(tools, tool, id)
    const ids = catalog.tools.flatMap(({ name }) => (name.startsWith('kb:') ? [name] : []))
    const why =
      ids.length === 0
        ? 'There is none. Name its folder in "knowledge_bases" of the configuration.'
        : (meant(id, catalog) ?? known(id, catalog))
    return {
      code: 'knowledge_base_missing',
      message: `The tool id ${JSON.stringify(id)} does not name a knowledge base. ${why}`,
    }
  }

  function put<Kind extends { readonly name: string }>(
    into: Map<string, Kind>,
    tool: Kind,
    id: string,
  ): Omit<InventoryDiagnostic, 'index'> | null {
    if (into.has(tool.name))
      return {
        code: 'listed_twice',
        message: `The tool id ${JSON.stringify(id)} names ${tool.name}, which is listed before it.`,
      }
    into.set(tool.name, tool)
    return null
  }

  function missing(id: string): Omit<InventoryDiagnostic, 'index'> {
    const broken = id.startsWith('workflow:')
      ? brokenFile(id.slice('workflow:'.length), catalog.diagnostics ?? [])
      : null
    if (broken !== null)
      return {
        code: 'unknown_tool',
        message: `The tool id ${JSON.stringify(id)} names a workflow whose file is broken. ${broken}`,
      }
    const why =
      id.startsWith('system:') && findTaskWorkflow(id.slice('system:'.length))?.tool === false
        ? `A model cannot call ${id.slice('system:'.length)}. Submit it as a task.`
        : (meant(id, catalog) ?? known(id, catalog))
    return { code: 'unknown_tool', message: `The tool id ${JSON.stringify(id)} does not name a tool. ${why}` }
  }
}

/**
 * Every tool that an inventory may list, in a fixed order.
 *
 * @example
 * const echo = defineTool({ name: 'echo', description: 'Repeats a text.', input: z.strictObject({ text: z.string() }), run: ({ text }) => text })
 * catalogEntries({ tools: [echo], definitions: [] })[0]?.id // => 'system:echo'
 */
export function catalogEntries({ tools, definitions }: ToolCatalog): readonly CatalogEntry[] {
  const schemaOf = ({ name, description, parameters }: ToolSchema): ToolSchema => ({
    name,
    description,
    parameters,
  })
  return [
    ...tools.map((tool): CatalogEntry => ({
      id: idOf(tool),
      kind: 'tool',
      schema: schemaOf(tool),
      does: toolKindOf(tool),
    })),
    ...[...createTeamWorkflowTools(), ...addedWorkflowTools()].map((workflow): CatalogEntry => ({
      id: `system:${workflow.name}`,
      kind: 'team_workflow',
      schema: schemaOf(workflow),
    })),
    ...definitions.map((workflow): CatalogEntry => ({
      id: workflow.name,
      kind: 'workflow',
      schema: schemaOf(workflow),
    })),
  ]
}

const prefixes =
  'The prefixes are "system:" for built-in tools and team workflows, "workflow:" for definition files and "kb:" for knowledge bases.'

/** The name of a knowledge base is its id. */
const idOf = ({ name }: Pick<Tool, 'name'>): string => (name.startsWith('kb:') ? name : `system:${name}`)

/** The hint "Did you mean …?" for an id that differs from a known one only in its prefix or its case. */
function meant(id: string, catalog: ToolCatalog): string | null {
  const bare = (text: string): string => text.slice(text.indexOf(':') + 1).toLowerCase()
  const near = catalogEntries(catalog).find((entry) => bare(entry.id) === bare(id))
  return near === undefined ? null : `Did you mean ${JSON.stringify(near.id)}?`
}

function known(id: string, catalog: ToolCatalog): string {
  const prefix = id.slice(0, id.indexOf(':') + 1)
  const ids = catalogEntries(catalog).flatMap((entry) => (entry.id.startsWith(prefix) ? [entry.id] : []))
  const shown = ids.slice(0, 20).join(', ')
  if (ids.length === 0)
    return 'No definition file is loaded. Name their folders in "workflows" of the configuration.'
  return `There are ${shown}${ids.length > 20 ? ` and ${ids.length - 20} more` : ''}.`
}
