// What this daemon has loaded for its agents, as the answer to the requests `loaded` and `plan`. It is read from
// the live objects and costs nothing while nobody asks. Of an MCP server, only the name and the state are read
// here, so no secret of its configuration can come into an answer.
import {
  type AgentProfile,
  externalTool,
  type ExternalTool,
  isBuiltin,
  type LoadDiagnostic,
  rulesAbout,
  rulesOf,
  type Skill,
  type Tool,
  toolKindOf,
} from '@beaver/agent'
import type { LoadedAnswer, LoadedEntry, RequestOutput, RequestRead } from '@beaver/contracts'
import { BeaverError, type JsonObject, messageOf } from '@beaver/core'
import { lowerLimits } from '@beaver/core/budget'
import { maskedData } from '@beaver/core/secrets'
import { clip } from '@beaver/core/task-view'
import type { Config } from '@beaver/platform'
import { planTask, type Toolset, workflowNamed } from '@beaver/tools'
import { shownPlan, type Workflow, wholeSchema } from '@beaver/workflows'
import type { Agents } from './agents.ts'

interface LoadedOf {
  readonly daemonId: string
  readonly agents: Pick<Agents, 'toolset' | 'skills' | 'findings' | 'workflows' | 'findWorkflow'>
  readonly config: Pick<Config, 'mcp' | 'permissions'>
  /** The tools of this process, which include those of MCP servers. */
  readonly external: readonly ExternalTool[]
  /** What the daemon knows of its MCP servers. Empty: nothing. */
  readonly servers: readonly ServerState[]
  /** For each workflow that can start with one text: the argument for that text. */
  readonly texts: Readonly<Record<string, string>>
}

type Entry<Kind extends LoadedEntry['kind']> = Extract<LoadedEntry, { kind: Kind }>
/** What the report of the MCP servers says of one. */
type ServerState = Pick<Entry<'mcp_server'>, 'name' | 'state' | 'tools' | 'left_out' | 'reason'>

/** Every answer fits one message of NATS. */
const answerBytesMax = 640 * 1024
const textBytesMax = 512 * 1024
const schemaBytesMax = 256 * 1024
const descriptionCharsMax = 1_000
const reasonCharsMax = 300
const findingsMax = 200
const rulesMax = 50
const profilesMax = 100

/** @throws {BeaverError} `not_found` if the request names something that is not loaded */
export function loadedOf(of: LoadedOf, { kind, name, limit, after }: RequestRead<'loaded'>): LoadedAnswer {
  const whole = name !== undefined
  const all = entriesOf(of, whole).filter(
    (each) => (kind === undefined || each.kind === kind) && (name === undefined || each.name === name),
  )
  if (whole && all.length === 0)
    throw new BeaverError(
      'not_found',
      `The daemon has loaded no ${(kind ?? 'entry').replace('_', ' ')} ${JSON.stringify(name)}.`,
    )
  const entries: LoadedEntry[] = []
  let bytes = 0
  for (const make of all.slice(after, after + limit)) {
    const entry = maskedData(make.entry())
    bytes += bytesOf(entry)
    if (bytes > answerBytesMax && entries.length > 0) break
    entries.push(entry)
  }
  const next = after + entries.length
  const more = next < all.length
  return {
    daemon: of.daemonId,
    entries,
    total: all.length,
    findings: findingsOf(of.agents.findings, whole ? entries : null),
    more,
    next: more ? next : null,
  }
}

/** An entry that is made when it is in the answer: there may be thousands of tools. */
interface Lazy {
  readonly kind: LoadedEntry['kind']
  readonly name: string
  entry(): LoadedEntry
}

function entriesOf(of: LoadedOf, whole: boolean): Lazy[] {
  const { toolset, skills, workflows } = of.agents
  const known = new Set(toolset.tools.map((tool) => tool.name))
  const foreign = of.external.filter((tool) => !known.has(tool.name))
  const describedBy = new Map(of.external.map((tool) => [tool.name, tool.describedBy ?? null]))
  const tools = [...toolset.tools, ...foreign.map(externalTool)]
  const listing = listedBy(toolset)
  return [
    ...skills.map((skill): Lazy => ({
      kind: 'skill',
      name: skill.name,
      entry: () => skillEntry(skill, whole),
    })),
    ...[...toolset.profiles.values()].map((profile): Lazy => ({
      kind: 'profile',
      name: profile.name,
      entry: () => profileEntry(profile, toolset, whole),
    })),
    ...tools.map((tool): Lazy => ({
      kind: 'tool',
      name: tool.name,
      entry: () => toolEntry(tool, { of, whole, listing, describedBy: describedBy.get(tool.name) ?? null }),
    })),
    ...workflows.names.flatMap((name): Lazy[] => {
      const workflow = of.agents.findWorkflow(name)
      const entry = (found: Workflow) => workflowEntry(found, { of, whole, listing })
      return workflow === null ? [] : [{ kind: 'workflow', name, entry: () => entry(workflow) }]
    }),
    ...Object.keys(of.config.mcp).map((name): Lazy => ({
      kind: 'mcp_server',
      name,
      entry: () => serverEntry(name, of),
    })),
  ]
}

const skillEntry = (skill: Skill, whole: boolean): Entry<'skill'> => ({
  kind: 'skill',
  name: skill.name,
  description: shown(skill.description, whole),
  folder: skill.folder,
  from: isBuiltin(skill) ? 'built_in' : skill.fromWorkspace === true ? 'workspace' : 'configured',
  model_invocable: skill.modelInvocable,
  allowed_tools: skill.allowedTools === null ? null : [...skill.allowedTools],
  license: skill.license,
  compatibility: skill.compatibility,
  sha256: skill.sha256,
  guides: skill.guidance?.preferred_tool ?? null,
  ...(whole ? wholeText(skill.body) : {}),
})

const profileEntry = (
  profile: AgentProfile,
  { fileOf, profileDefault }: Toolset,
  whole: boolean,
): Entry<'profile'> => ({
  kind: 'profile',
  name: profile.name,
  description: shown(profile.description ?? '', whole),
  file: fileOf.profile.get(profile.name) ?? null,
  is_default: profile.name === profileDefault,
  model: profile.model ?? null,
  model_choice: profile.modelChoice === true,
  tool_ids: profile.toolIds === null ? null : [...profile.toolIds],
  max_tool_iterations: profile.maxToolIterations,
  budget: profile.budget ?? null,
  ...(whole && profile.outputSchema !== undefined ? { output_schema: profile.outputSchema } : {}),
  ...(whole && profile.systemPrompt !== null ? wholeText(profile.systemPrompt) : {}),
})

interface Around {
  readonly of: LoadedOf
  readonly whole: boolean
  readonly listing: (id: string) => string[]
}

function toolEntry(
  tool: Tool,
  { of, whole, listing, describedBy }: Around & { readonly describedBy: string | null },
): Entry<'tool'> {
  const id = tool.name.startsWith('kb:') ? tool.name : `system:${tool.name}`
  return {
    kind: 'tool',
    name: tool.name,
    id,
    description: shown(tool.description, whole),
    described_by: describedBy,
    ...toolKindOf(tool),
    permission: tool.permission ?? 'allow',
    rules: rulesAbout(tool, rulesOf(of.config.permissions))
      .slice(0, rulesMax)
      .map((rule) => ({ decision: rule.decision, tool: rule.tool, pattern: rule.pattern ?? null })),
    profiles: listing(id),
    ...(whole ? { schema: bounded(tool.parameters as JsonObject) } : {}),
  }
}

const workflowEntry = (workflow: Workflow, { of, whole, listing }: Around): Entry<'workflow'> => {
  const file = of.agents.toolset.fileOf.workflow.get(workflow.name) ?? null
  return {
    kind: 'workflow',
    name: workflow.name,
    description: shown(workflow.description, whole),
    file,
    is_tool: workflow.tool !== false,
    text_input: of.texts[workflow.name] ?? null,
    profiles: listing(file === null ? `system:${workflow.name}` : workflow.name),
    ...(whole ? { schema: bounded(wholeSchema(workflow.input)) } : {}),
  }
}

function serverEntry(name: string, { config, servers }: LoadedOf): Entry<'mcp_server'> {
  const known = servers.find((each) => each.name === name)
  return {
    kind: 'mcp_server',
    name,
    transport: 'url' in (config.mcp[name] ?? {}) ? 'http' : 'program',
    state: known?.state ?? null,
    tools: known?.tools ?? null,
    left_out: known?.left_out ?? null,
    reason: known === undefined || known.reason === null ? null : clip(known.reason, reasonCharsMax),
  }
}

/** The profiles that list an id. */
function listedBy({ profiles }: Toolset): (id: string) => string[] {
  const byId = new Map<string, string[]>()
  for (const { name, toolIds } of profiles.values())
    for (const id of toolIds ?? []) {
      const names = byId.get(id) ?? []
      if (names.length < profilesMax) names.push(name)
      byId.set(id, names)
    }
  return (id) => byId.get(id) ?? []
}

/** @param entries only what is about their files and folders. `null`: everything */
function findingsOf(
  findings: readonly LoadDiagnostic[],
  entries: readonly LoadedEntry[] | null,
): LoadedAnswer['findings'] {
  const places = (entries ?? []).flatMap((each) =>
    each.kind === 'skill' ? [each.folder] : 'file' in each && each.file !== null ? [each.file] : [],
  )
  return findings
    .filter(
      ({ file }) =>
        entries === null || places.some((place) => file === place || file.startsWith(`${place}/`)),
    )
    .slice(0, findingsMax)
    .map(({ file, severity, message }) => ({ file, severity, message: clip(message, descriptionCharsMax) }))
}

const shown = (text: string, whole: boolean): string => (whole ? text : clip(text, descriptionCharsMax))
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const bounded = (schema: JsonObject): JsonObject | null => (bytesOf(schema) > schemaBytesMax ? null : schema)

/** The text, or as much of it as fits into an answer. */
function wholeText(text: string): { readonly text: string; readonly cut?: true } {
  let kept = text
  for (let bytes = bytesOf(kept); bytes > textBytesMax; bytes = bytesOf(kept))
    kept = kept.slice(0, Math.floor((kept.length * textBytesMax) / bytes) - 1).toWellFormed()
  return kept === text ? { text } : { text: kept, cut: true }
}

interface PlanOf {
  readonly agents: Pick<Agents, 'findings' | 'workflows' | 'findWorkflow'>
  readonly config: Pick<Config, 'budgets'>
}

/** @throws {BeaverError} `too_large` if the graph does not fit into an answer */
export function planOf(
  { agents, config }: PlanOf,
  { workflow: name, arguments: args }: RequestRead<'plan'>,
): RequestOutput<'plan'> {
  const { names, resolve } = agents.workflows
  let workflow: Workflow
  try {
    const find = (each: string): Workflow | null => agents.findWorkflow(each)
    workflow = workflowNamed(name, { find, names }, agents.findings)
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return maskedData({
      ok: false as const,
      error: { code: error.code, message: messageOf(error), path: '' },
    })
  }
  const planned = planTask(workflow, args, { resolve, options: {} })
  if (!planned.ok) return maskedData(planned)
  const budget = lowerLimits(config.budgets.find(({ of }) => of === 'task') ?? {}, {})
  const answer = maskedData({ ...shownPlan(planned.graph), budget })
  if (bytesOf(answer) > answerBytesMax)
    throw new BeaverError(
      'too_large',
      `The graph has ${planned.graph.nodes.length} nodes, and its plan is larger than an answer may be. "beaver plan" shows it.`,
    )
  return answer
}
