// The graph of a workflow call before it runs, as `POST /api/v1/plan` gives it.
import type { RequestOutput } from '@beaver/contracts'
import { type ReactNode, useMemo, useState } from 'react'
import { request } from '../data/api.ts'
import { Block } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import { Graph, type GraphItem } from '../task/graph.tsx'
import '../task/task.css'
import './plan.css'

export type Plan = RequestOutput<'plan'>
type Planned = Extract<Plan, { ok: true }>
type PlannedNode = Planned['graph']['nodes'][number]

export const askPlan = (
  workflow: string,
  given: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<Plan> =>
  request<Plan>('/api/v1/plan', {
    method: 'POST',
    body: { workflow, arguments: given },
    ...(signal === undefined ? {} : { signal }),
  })

export function PlanView({ plan, note }: { readonly plan: Planned; readonly note: string }): ReactNode {
  const items = useMemo(() => plan.graph.nodes.map(itemOf), [plan])
  const [selected, setSelected] = useState<string | null>(null)
  const node = plan.graph.nodes.find(({ node_id }) => node_id === selected)
  const { length } = items
  return (
    <section className="card plan" aria-label="Plan">
      <h2>Its graph</h2>
      <p className="quiet">
        {length} {length === 1 ? 'node' : 'nodes'}
        {plan.grows_to_max === null ? '' : `, which may grow to ${plan.grows_to_max}`}. {note}
      </p>
      <div className="plan-graph">
        <Graph nodes={items} selected={selected} select={setSelected} />
      </div>
      {node === undefined ? (
        <p className="quiet small">Select a node to see what it is to do.</p>
      ) : (
        <NodeDetails node={node} when={plan.conditions.find(({ node_id }) => node_id === selected)?.when} />
      )}
    </section>
  )
}

const itemOf = (node: PlannedNode): GraphItem => ({
  key: node.node_id,
  id: node.node_id,
  name: node.kind === 'agent' ? node.agent.name : node.node_id,
  dependsOn: node.depends_on,
  status: node.kind,
  durationMs: null,
})

function NodeDetails({
  node,
  when,
}: {
  readonly node: PlannedNode
  readonly when: string | undefined
}): ReactNode {
  return (
    <>
      <h3>{visible(node.node_id)}</h3>
      {when === undefined ? null : <p>It runs only if {visible(when)}.</p>}
      {node.depends_on.length === 0 ? null : (
        <p className="quiet">It starts after {visible(node.depends_on.join(', '))}.</p>
      )}
      {node.kind === 'agent' ? (
        <Block text={node.instruction} linesMax={12} />
      ) : node.kind === 'tool' ? (
        <Block text={`${node.tool} ${JSON.stringify(node.arguments, null, 2)}`} linesMax={12} />
      ) : (
        <p>The program of the workflow computes it: {visible(node.operation)}.</p>
      )}
    </>
  )
}
