// A part of the task: an agent, a node of a team, or a team.
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Json } from '../parts/json.tsx'
import { Loading, Problem } from '../parts/problem.tsx'
import { Status } from '../parts/status.tsx'
import { Block } from '../parts/text.tsx'
import { Elapsed } from '../parts/when.tsx'
import { Evidence } from './evidence.tsx'
import { RunCalls } from './run-calls.tsx'
import type { TaskPageSearch } from './selection.ts'
import { type Item, type Node, nodeKey, type Run, type Team } from './tree.ts'
import { Usage } from './usage.tsx'
import { FailedCalls } from './why-failed.tsx'

export interface PartProps {
  readonly taskId: string
  readonly item: Item
  readonly select: (key: string | null) => void
  readonly show: (change: TaskPageSearch) => void
}

export function PartDetails(props: PartProps): ReactNode {
  const { taskId, item, show } = props
  return (
    <>
      {item.team === null ? null : <TeamDetails team={item.team} show={show} />}
      <RunOrNode {...props} />
      {item.runId === null ? null : <RunCalls taskId={taskId} runId={item.runId} />}
    </>
  )
}

/** A run or a node. Of a large task, the answer leaves nodes out; they are asked for one by one. */
function RunOrNode({ taskId, item, select }: PartProps): ReactNode {
  const { nodeId, teamRunId } = item
  const read = useQuery({
    queryKey: ['node', taskId, teamRunId, nodeId],
    enabled: nodeId !== null && item.node === null,
    queryFn: ({ signal }) =>
      ask(
        'node',
        {
          task_id: taskId,
          node_id: nodeId ?? '',
          limit: 1,
          ...(teamRunId === null ? {} : { team_run_id: teamRunId }),
        },
        signal,
      ),
  })
  if (nodeId !== null && item.node === null) {
    if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
    if (read.data === undefined) return <Loading />
  }
  const node = item.node ?? read.data?.node ?? null
  const run = item.run ?? node?.run ?? null
  return (
    <>
      {node === null || teamRunId === null ? null : (
        <NodeDetails taskId={taskId} node={node} select={select} teamRunId={teamRunId} />
      )}
      {run === null ? null : <RunDetails run={run} />}
      {node?.kind === 'agent' && item.runId === null ? <p className="quiet">It has not started.</p> : null}
    </>
  )
}

interface NodeProps {
  readonly taskId: string
  readonly node: Node
  readonly teamRunId: string
  readonly select: PartProps['select']
}

function NodeDetails({ taskId, node, teamRunId, select }: NodeProps): ReactNode {
  const link = (id: string): ReactNode => (
    <button key={id} type="button" className="link" onClick={() => select(nodeKey(teamRunId, id))}>
      {id}
    </button>
  )
  return (
    <>
      {node.failure === null ? null : (
        <section className="card failed">
          <h2>Why it failed</h2>
          <p>
            <code>{node.failure.class}</code>
          </p>
          <Block text={node.failure.message} linesMax={12} />
          <FailedCalls taskId={taskId} runId={node.run_id} />
        </section>
      )}
      {node.cause_node_id === null ? null : (
        <p className="card waits">It did not start, because {link(node.cause_node_id)} did not complete.</p>
      )}
      {node.depends_on.length === 0 ? null : (
        <p className="links">
          <span className="quiet">Depends on </span>
          {node.depends_on.slice(0, 30).map(link)}
          {node.depends_on.length > 30 ? (
            <span className="quiet"> and {node.depends_on.length - 30} more</span>
          ) : null}
        </p>
      )}
      {node.evidence.length === 0 ? null : <Evidence checks={node.evidence} />}
    </>
  )
}

function RunDetails({ run }: { readonly run: Run }): ReactNode {
  return (
    <section className="card">
      <h2>Used</h2>
      <Usage of={run} />
      <dl>
        <dt>Model</dt>
        <dd>{run.model ?? 'no model has answered'}</dd>
        <dt>Took</dt>
        <dd>
          <Elapsed from={run.started_at} ms={run.duration_ms} />
        </dd>
        <dt>Tool calls</dt>
        <dd>
          {run.tool_calls}
          {run.tool_calls_failed === 0 ? '' : `, ${run.tool_calls_failed} of them failed`}
        </dd>
        {run.skills.length === 0 ? null : (
          <>
            <dt>Skills</dt>
            <dd>{run.skills.join(', ')}</dd>
          </>
        )}
        {run.restarts === 0 ? null : (
          <>
            <dt>Restarts</dt>
            <dd>{run.restarts}</dd>
          </>
        )}
      </dl>
    </section>
  )
}

function TeamDetails({ team, show }: { readonly team: Team } & Pick<PartProps, 'show'>): ReactNode {
  return (
    <>
      <section className="card">
        <h2>Team</h2>
        <Block text={team.task} linesMax={6} />
        <dl>
          {Object.entries(team.nodes_by_status).map(([status, nodes]) => (
            <div key={status} className="pair">
              <dt>
                <Status status={status} />
              </dt>
              <dd>{nodes} nodes</dd>
            </div>
          ))}
        </dl>
        <button type="button" onClick={() => show({ view: 'graph' })}>
          Show the graph
        </button>
      </section>
      {team.message === null ? null : (
        <section className="card failed">
          <h2>Why it is not complete</h2>
          <Block text={team.message} linesMax={12} />
        </section>
      )}
      {team.diagnostics.length === 0 ? null : (
        <section className="card">
          <h2>Worth knowing</h2>
          {team.diagnostics.map(({ taskseq, node_id, message }) => (
            <p key={taskseq}>
              <strong>{node_id}</strong>: {message}
            </p>
          ))}
        </section>
      )}
      {team.shared_state === null ? null : (
        <section className="card">
          <h2>Shared state</h2>
          <Json value={team.shared_state} />
        </section>
      )}
    </>
  )
}
