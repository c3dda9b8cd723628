// `beaver plan`: the ExecutionGraph of a workflow call, without running it. Needs no system.
import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { type ExecutionGraph, messageOf } from '@beaver/core'
import { createTeamWorkflowTools, findWorkflow, graphToMermaid } from '@beaver/workflows'
import type { GlobalOptions } from '../context.ts'
import { type Screen, screenOf } from '../screen.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

interface PlanOptions {
  readonly file: string
  readonly json?: true
  readonly mermaid?: true
}

interface PlanError {
  readonly code: string
  readonly message: string
  readonly path: string
}

export async function plan(workflow: string, options: PlanOptions, globals: GlobalOptions): Promise<number> {
  const screen = screenOf({ colour: globals.color })
  const planned = await planOf(workflow, options.file)
  if (!planned.ok) {
    if (options.json === true) screen.json(planned)
    screen.warn(planned.error.message)
    return 2
  }
  if (options.json === true) screen.json(planned)
  else if (options.mermaid === true) screen.raw(graphToMermaid(planned.graph))
  else screen.print(...planLines(planned.graph, screen))
  return 0
}

async function planOf(name: string, file: string): Promise<{ ok: true; graph: ExecutionGraph } | { ok: false; error: PlanError }> {
  const refuse = (code: string, message: string) => ({ ok: false, error: { code, message, path: '' } }) as const
  const workflow = findWorkflow(name)
  if (workflow === null) {
    const known = createTeamWorkflowTools().map((each) => each.name)
    const meant = known.find((each) => each.toLowerCase().startsWith(name.toLowerCase().slice(0, 4)) && name.length >= 4)
    return refuse(
      'unknown_workflow',
      `There is no workflow ${JSON.stringify(name)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Workflows: ${known.join(', ')}.`,
    )
  }
  let text: string
  try {
    text = file === '-' ? await textOf(process.stdin) : await readFile(file, 'utf8')
  } catch (error) {
    return refuse('invalid_arguments', `The file ${file} cannot be read: ${messageOf(error)}`)
  }
  let args: unknown
  try {
    args = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    return refuse(
      'invalid_arguments',
      `${file === '-' ? 'The input' : `The file ${file}`} is not JSON: ${messageOf(error)}. It must hold one JSON object: the arguments of ${workflow.name}.`,
    )
  }
  return workflow.plan(args)
}

interface PlannedNode {
  readonly step: number
  readonly node: ExecutionGraph['nodes'][number]
}

export function planLines(graph: ExecutionGraph, { columns, style }: Pick<Screen, 'columns' | 'style'>): string[] {
  const steps = stepsOf(graph)
  const edges = graph.nodes.reduce((sum, node) => sum + node.depends_on.length, 0)
  const last = Math.max(...steps.values())
  const rows = graph.nodes.map((node): PlannedNode => ({ step: steps.get(node.node_id) ?? 1, node }))
  const checks = ({ node }: PlannedNode): number => node.required_evidence.filter((each) => typeof each !== 'string').length
  const scope = ({ node }: PlannedNode): string =>
    node.allowed_tool_names === null ? 'any' : node.allowed_tool_names.length === 0 ? 'none' : node.allowed_tool_names.join(', ')
  const skillOf = ({ node }: PlannedNode): string => node.use_skill ?? (node.skill_query === undefined ? '' : `search: ${node.skill_query}`)
  const skilled = rows.some((row) => skillOf(row) !== '')
  return [
    `${style.bold(graph.workflow)}: ${counted(graph.nodes.length, 'agent')}, ${counted(edges, 'edge')}, ${counted(last, 'step')} one after the other`,
    `${style.dim('Task')}    ${oneLine(graph.task)}`,
    `${style.dim('Output')}  ${graph.output ?? `${graph.outputs.join(', ')} (put together)`}`,
    '',
    ...table<PlannedNode>(
      [
        { title: 'STEP', cell: (row) => String(row.step), align: 'right', paint: style.dim },
        { title: 'AGENT', cell: (row) => oneLine(row.node.node_id), paint: style.cyan },
        { title: 'AFTER', cell: (row) => (row.node.depends_on.length === 0 ? '-' : row.node.depends_on.map((id) => oneLine(id)).join(', ')).slice(0, 60) },
        { title: 'TOOLS', cell: (row) => oneLine(scope(row)).slice(0, 30), optional: 2 },
        { title: 'CHECKS', cell: (row) => String(checks(row)), align: 'right', optional: 3 },
        ...(skilled ? [{ title: 'SKILL', cell: (row: PlannedNode) => oneLine(skillOf(row)).slice(0, 24), optional: 1 }] : []),
        { title: 'INSTRUCTION', cell: (row) => oneLine(row.node.instruction), flexible: true },
      ],
      rows,
      { width: columns === Infinity ? 160 : columns, title: style.dim },
    ),
  ]
}

/** The earliest step a node can run in: 1 for those that wait for nobody. */
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
