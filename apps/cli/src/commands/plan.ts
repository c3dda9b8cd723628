// `beaver plan`: prints the ExecutionGraph of a workflow call without running it, and what tasks of its kind may
// use and have used. It needs no running system; without one, it has the history of the home, if there is one.
import { BeaverError, type JsonObject } from '@beaver/core'
import { type BudgetLimits, limitsText, lowerLimits } from '@beaver/core/budget'
import { requirementsOf } from '@beaver/core/evidence'
import type { ExecutionGraph, ExecutionNode } from '@beaver/core/graph'
import { type ToolKind, toolKindOf } from '@beaver/agent'
import { conditionOf, graphToMermaid, growthOf, shownPlan } from '@beaver/workflows'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { type Screen, screenOf } from '../screen.ts'
import { counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { toolKindText } from '../text/tool-kind.ts'
import { toolsetOf } from '../toolset.ts'
import { type PastUse, pastLines, pastUse } from '../view/past-use.ts'
import { findWorkflowNamed, planWithTools } from './find-workflow.ts'
import { ask, askingQuietly } from './query.ts'
import { readArguments } from './read-arguments.ts'

interface PlanOptions {
  readonly file?: string
  readonly json?: true
  readonly mermaid?: true
}

interface PlanError {
  readonly code: string
  readonly message: string
  readonly path: string
}

export async function plan(
  workflow: string | undefined,
  options: PlanOptions,
  globals: GlobalOptions,
): Promise<number> {
  const screen = screenOf({ colour: globals.color })
  if (workflow === undefined) return await planFree(options, globals)
  if (options.file === undefined)
    throw new UsageError(`Give the arguments of ${oneLine(workflow)} with -f <args.json>.`)
  const planned = await planOf(workflow, options.file, globals)
  if (!planned.ok) {
    if (options.json === true) screen.json(planned)
    const { code, path, message } = planned.error
    screen.warn(path === '' ? message : `${message} ${screen.style.dim(`[${code}, ${path}]`)}`)
    return 2
  }
  if (options.mermaid === true) {
    screen.write(graphToMermaid(planned.graph))
    return 0
  }
  const budget = budgetOfTask(globals)
  const past = await pastOf(planned.name, globals)
  if (options.json === true) screen.json({ ...shownPlan(planned.graph), budget: budget ?? {}, past })
  else
    screen.print(
      ...planLines(planned.graph, screen, {
        kinds: await kindsOfTools(planned.graph, globals),
        budget,
        past,
      }),
    )
  return 0
}

/** Without a workflow: what a task may use on which a root agent works. */
async function planFree({ file, json, mermaid }: PlanOptions, globals: GlobalOptions): Promise<number> {
  if (file !== undefined || mermaid === true)
    throw new UsageError(`Name the workflow: beaver plan <Workflow> -f <args.json>.`)
  const screen = screenOf({ colour: globals.color })
  const budget = budgetOfTask(globals)
  const past = await pastOf(null, globals)
  if (json === true) screen.json({ ok: true, budget: budget ?? {}, past })
  else
    screen.print(
      `${screen.style.bold('A task without a workflow')}: 1 agent, which may start teams`,
      ...useLines({ callsMin: 1, budget, past }, screen),
    )
  return 0
}

/** How many of the newest tasks are looked at. */
const pastMax = 100

/** @param workflow `null`: a root agent works on the task */
const pastOf = (workflow: string | null, globals: GlobalOptions): Promise<PastUse | null> =>
  askingQuietly(globals, async (answers, config) => {
    const input = { status: 'completed', workflow, tenant: config.tenant, limit: pastMax } as const
    return pastUse((await ask(answers, 'tasks', input)).tasks)
  })

async function planOf(
  name: string,
  file: string,
  globals: GlobalOptions,
): Promise<{ ok: true; name: string; graph: ExecutionGraph } | { ok: false; error: PlanError }> {
  try {
    const workflow = await findWorkflowNamed(name, globals)
    const planned = await planWithTools(workflow, await readArguments(file, workflow.name), globals)
    return planned.ok ? { ...planned, name: workflow.name } : planned
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return { ok: false, error: { code: error.code, message: error.message, path: '' } }
  }
}

/**
 * The kinds of the tools of the tool nodes. Empty if there are no tool nodes, or if the configuration cannot
 * be loaded.
 */
async function kindsOfTools(
  graph: ExecutionGraph,
  globals: GlobalOptions,
): Promise<ReadonlyMap<string, ToolKind>> {
  if (!graph.nodes.some(({ kind }) => kind === 'tool')) return new Map()
  try {
    const { tools } = await toolsetOf(contextOf(globals, 'tools').config)
    return new Map(tools.map((tool) => [tool.name, toolKindOf(tool)]))
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return new Map()
  }
}

/** What a task may use. `null`: the configuration cannot be loaded. */
function budgetOfTask(globals: GlobalOptions): BudgetLimits | null {
  try {
    const { budgets } = contextOf(globals).config
    return lowerLimits(budgets.find(({ of }) => of === 'task') ?? {}, {})
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return null
  }
}

/** What a task may use, and what others used. */
interface PlannedUse {
  readonly callsMin: number
  readonly budget: BudgetLimits | null
  /** Absent: nobody asked. */
  readonly past?: PastUse | null | undefined
}

/** `Spends  at least 3 calls of models, at most 10.00 USD and 5,000,000 tokens`, and what earlier tasks used. */
function useLines({ callsMin, budget, past }: PlannedUse, { style }: Pick<Screen, 'style'>): string[] {
  const most = limitsText(budget ?? {})
  const least = `at least ${counted(callsMin, 'call')} of models`
  return [
    `${style.dim('Spends')}  ${most === '' ? least : `${least}, at most ${most}`}`,
    ...(past === undefined ? [] : pastLines(past)).map(
      (line, i) => `${i === 0 ? style.dim('Past') : '    '}    ${line}`,
    ),
  ]
}

interface PlannedNode {
  readonly step: number
  readonly node: ExecutionNode
}

export function planLines(
  graph: ExecutionGraph,
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
  {
    kinds = new Map(),
    budget = null,
    past,
  }: Partial<Omit<PlannedUse, 'callsMin'>> & { readonly kinds?: ReadonlyMap<string, ToolKind> } = {},
): string[] {
  const steps = stepsOf(graph)
  const edges = graph.nodes.reduce((sum, node) => sum + node.depends_on.length, 0)
  const last = Math.max(...steps.values())
  const rows = graph.nodes.map((node): PlannedNode => ({ step: steps.get(node.node_id) ?? 1, node }))
  const mixed = graph.nodes.some((node) => node.kind !== 'agent')
  const most = growthOf(graph)
  const perhaps = graph.nodes.filter((node) => conditionOf(node) !== null).length
  const skilled = graph.nodes.some((node) => skillOf(node) !== '')
  const callsMin = graph.nodes.filter((node) => node.kind === 'agent' && conditionOf(node) === null).length
  return [
    `${style.bold(graph.workflow)}: ${kindsOf(graph.nodes)}, ${counted(edges, 'edge')}, ${counted(last, 'step')}`,
    `${style.dim('Task')}    ${oneLine(graph.task)}`,
    `${style.dim('Output')}  ${graph.output ?? `${graph.outputs.join(', ')} (put together)`}`,
    ...useLines({ callsMin, budget, past }, { style }),
    ...(most === null ? [] : [`${style.dim('Grows')}   while it runs, to at most ${most} agents and tools`]),
    ...(perhaps === 0
      ? []
      : [
          `${style.dim('Skips')}   ${counted(perhaps, 'node')} if ${perhaps === 1 ? 'its condition is' : 'their conditions are'} false`,
        ]),
    ...(graph.deadline_ms === undefined
      ? []
      : [`${style.dim('Bound')}   ${duration(graph.deadline_ms)} for all of it`]),
    ...(graph.shared_state === undefined
      ? []
      : [`${style.dim('Shared')}  ${oneLine(JSON.stringify(graph.shared_state), 400)}`]),
    '',
    ...table<PlannedNode>(
      [
        { title: 'STEP', cell: (row) => String(row.step), align: 'right', paint: style.dim },
        { title: mixed ? 'NODE' : 'AGENT', cell: ({ node }) => oneLine(node.node_id), paint: style.cyan },
        ...(mixed ? [{ title: 'KIND', cell: ({ node }: PlannedNode) => node.kind }] : []),
        { title: 'AFTER', cell: ({ node }) => afterOf(node) },
        { title: 'TOOLS', cell: ({ node }) => oneLine(scopeOf(node, kinds)).slice(0, 30), optional: 2 },
        { title: 'CHECKS', cell: ({ node }) => checksOf(node), align: 'right', optional: 3 },
        ...(skilled
          ? [
              {
                title: 'SKILL',
                cell: ({ node }: PlannedNode) => oneLine(skillOf(node)).slice(0, 24),
                optional: 1,
              },
            ]
          : []),
        {
          title: mixed ? 'WHAT' : 'INSTRUCTION',
          cell: ({ node }) => oneLine(onCondition(node) + whatOf(node), 400),
          flexible: true,
        },
      ],
      rows,
      { width: columns === Infinity ? 160 : columns, title: style.dim },
    ),
  ]
}

/** For example `3 agents` or `6 nodes (3 agents, 1 tool call, 2 computed)`. */
function kindsOf(nodes: readonly ExecutionNode[]): string {
  const of = (kind: ExecutionNode['kind']): number => nodes.filter((node) => node.kind === kind).length
  if (of('agent') === nodes.length) return counted(nodes.length, 'agent')
  const parts = [
    of('agent') && counted(of('agent'), 'agent'),
    of('tool') && counted(of('tool'), 'tool call'),
    of('code') && `${of('code')} computed`,
  ]
  return `${counted(nodes.length, 'node')} (${parts.filter((part) => part !== 0).join(', ')})`
}

const afterMax = 60

/**
 * The dependencies of a node, such as `a, b` or `2 of a, b, c`. If there is no room for all names, the text
 * ends with the number of the others.
 */
function afterOf({ depends_on, quorum }: ExecutionNode): string {
  if (depends_on.length === 0) return '-'
  const some = quorum === undefined || quorum >= depends_on.length ? '' : `${quorum} of `
  const all = some + depends_on.map((id) => oneLine(id)).join(', ')
  if (all.length <= afterMax) return all
  const names: string[] = []
  for (const id of depends_on) {
    if ([...names, id].join(', ').length > afterMax - 18) break
    names.push(oneLine(id))
  }
  return names.length === 0
    ? `${some}${depends_on.length} nodes`
    : `${some}${names.join(', ')} and ${depends_on.length - names.length} more`
}

function scopeOf(node: ExecutionNode, kinds: ReadonlyMap<string, ToolKind>): string {
  const kind = node.kind === 'tool' ? kinds.get(node.tool) : undefined
  if (kind !== undefined) return toolKindText(kind)
  if (node.kind !== 'agent') return '-'
  return node.allowed_tool_names === null
    ? 'any'
    : node.allowed_tool_names.length === 0
      ? 'none'
      : node.allowed_tool_names.join(', ')
}

const checksOf = (node: ExecutionNode): string =>
  node.kind === 'agent' ? String(requirementsOf(node).filter((each) => typeof each !== 'string').length) : '-'

function skillOf(node: ExecutionNode): string {
  if (node.kind !== 'agent') return ''
  return node.use_skill ?? (node.skill_query === undefined ? '' : `search: ${node.skill_query}`)
}

function onCondition(node: ExecutionNode): string {
  const when = conditionOf(node)
  return when === null ? '' : `when ${when}: `
}

const argumentsOf = (given: JsonObject = {}): string =>
  Object.keys(given).length === 0 ? '' : ` ${JSON.stringify(given)}`

function whatOf(node: ExecutionNode): string {
  const bound = node.deadline_ms === undefined ? '' : ` (within ${duration(node.deadline_ms)})`
  switch (node.kind) {
    case 'agent':
      return node.instruction + bound
    case 'tool':
      return `${node.tool}${argumentsOf(node.arguments)}${bound}`
    case 'code':
      return `${node.operation}${argumentsOf(node.settings)}`
    default:
      return node satisfies never
  }
}

/** For each node, the earliest step in which it can run, which is 1 for nodes without dependencies. */
function stepsOf(graph: ExecutionGraph): ReadonlyMap<string, number> {
  const steps = new Map<string, number>()
  const byId = new Map(graph.nodes.map((node) => [node.node_id, node]))
  const visit = (id: string): number => {
    const known = steps.get(id)
    if (known !== undefined) return known
    const step = 1 + Math.max(0, ...(byId.get(id)?.depends_on ?? []).map(visit))
    steps.set(id, step)
    return step
  }
  for (const node of graph.nodes) visit(node.node_id)
  return steps
}
