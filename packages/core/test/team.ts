// A team in tests. It is stepped and folded as its supervisor does it, and each event is shown as one line.
import { evaluateNode } from '@beaver/evidence'
import type { DomainEvent } from '../src/index.ts'
import { evolveTeam, startTeam, type TeamState } from '../src/fold/index.ts'
import { type ExecutionGraph, type NodeEnd, stepTeam, type TeamProgram } from '../src/graph/index.ts'

export const team = (of: ExecutionGraph, concurrentNodesMax = 16): TeamState =>
  startTeam(
    {
      team_run_id: 'team1' as never,
      run_id: 'root' as never,
      call_id: 'c1',
      graph: of,
      concurrent_nodes_max: concurrentNodesMax,
    },
    0,
  )

export const facts = (outputText = 'done', tools: NodeEnd['facts']['tools'] = []): NodeEnd['facts'] => ({
  outputText,
  outputSeq: 7,
  tools,
})

const ended = (nodeId: string, end: Pick<NodeEnd, 'status' | 'facts' | 'failure'>): NodeEnd => ({
  nodeId,
  runId: `run-${nodeId}`,
  ...end,
})
export const completed = (nodeId: string, of = facts()): NodeEnd =>
  ended(nodeId, { status: 'completed', facts: of, failure: null })
export const failed = (nodeId: string): NodeEnd =>
  ended(nodeId, {
    status: 'failed',
    facts: facts(''),
    failure: { class: 'tool_crash', message: `${nodeId} broke` },
  })
export const cancelled = (nodeId: string): NodeEnd =>
  ended(nodeId, { status: 'cancelled', facts: facts(''), failure: { class: 'cancelled', message: 'stop' } })

export interface Stepping {
  readonly cancelReason?: string | null
  readonly runsOpen?: boolean
  readonly program?: TeamProgram | null
  readonly outputs?: ReadonlyMap<string, string>
  readonly graphMax?: { readonly agents: number; readonly edges: number }
}

/** The events of one step. The team does not change. */
export function eventsOf(
  of: TeamState,
  ended: readonly NodeEnd[],
  { cancelReason = null, program = null, outputs = new Map(), ...more }: Stepping = {},
): DomainEvent[] {
  return stepTeam(of, ended, {
    newRunId: () => 'r',
    cancelReason,
    program,
    gate: evaluateNode,
    outputs,
    ...more,
  })
}

/** Steps the team and folds the events that follow, as its supervisor does. */
export function step(of: TeamState, ended: readonly NodeEnd[], options: Stepping = {}): string[] {
  const events = eventsOf(of, ended, options)
  for (const event of events) evolveTeam(of, event, { clockMs: 0 })
  return events.map(told)
}

function told(event: DomainEvent): string {
  const data = event.data as {
    node_id?: string
    outcome?: string
    cause_node_id?: string
    passed?: boolean
    output?: string
    code?: string
    nodes?: unknown[]
  }
  const name = `${event.type} ${data.node_id ?? data.outcome}`
  if (data.cause_node_id !== undefined) return `${name} by ${data.cause_node_id}`
  if (data.passed !== undefined) return `${name} ${data.passed ? 'passed' : 'refused'}`
  if (event.type === 'node_computed') return `${name} = ${data.output}`
  if (event.type === 'graph_extended') return `${name} by ${data.nodes?.length}`
  return event.type === 'team_diagnostic_recorded' ? `${name} ${data.code}` : name
}
