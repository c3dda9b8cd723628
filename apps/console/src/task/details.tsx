// The details of what is selected: an event, a node, a run, a team, or the task as a whole.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { ask } from '../data/api.ts'
import { Cost } from '../parts/cost.tsx'
import { Json } from '../parts/json.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Status } from '../parts/status.tsx'
import { Block, Copy, Line } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { Elapsed, When } from '../parts/when.tsx'
import { EventDetails } from './event-details.tsx'
import { MarkedFigure } from './marked-figure.tsx'
import { Report } from './report.tsx'
import { RunCalls } from './run-calls.tsx'
import type { LiveState } from './live-text.ts'
import type { TaskPageSearch } from './selection.ts'
import { isOpen, type Item, type Node, nodeKey, type Run, type Team } from './tree.ts'
import { FailedCalls, WhyTaskFailed } from './why-failed.tsx'
import { Waits } from './why-waits.tsx'
import { Writes } from './writes.tsx'

type Answer = QueryOutput<'task'>

export interface DetailsProps {
  readonly answer: Answer
  readonly items: readonly Item[]
  readonly selected: Item | null
  readonly event: number | null
  readonly select: (key: string | null) => void
  readonly show: (change: TaskPageSearch) => void
  readonly live: LiveState
}

export function Details({ answer, items, selected, event, select, show, live }: DetailsProps): ReactNode {
  const taskId = answer.task.task_id
  return (
    <aside className="details" aria-label="Details">
      {event !== null ? (
        <>
          <MarkedFigure show={show} />
          <EventDetails
            taskId={taskId}
            taskseq={event}
            last={answer.task.last_taskseq}
            items={items}
            select={select}
            show={show}
          />
        </>
      ) : selected === null ? (
        <>
          <Waits answer={answer} runId={null} />
          <Writes live={live} runId={null} />
          <TaskDetails answer={answer} items={items} show={show} />
        </>
      ) : (
        <>
          <header className="page-head">
            <Status status={selected.status} />
            <h2>
              <Line text={selected.name} />
            </h2>
            <span className="quiet">{selected.what}</span>
            <button type="button" className="quiet-button" onClick={() => select(null)}>
              Show the whole task
            </button>
          </header>
          {selected.runId === null || !isOpen(selected.status) ? null : (
            <>
              <Waits answer={answer} runId={selected.runId} />
              <Writes live={live} runId={selected.runId} />
            </>
          )}
          {selected.team === null ? null : <TeamDetails team={selected.team} show={show} />}
          <ItemDetails taskId={taskId} item={selected} select={select} show={show} />
          {selected.runId === null ? null : <RunCalls taskId={taskId} runId={selected.runId} show={show} />}
        </>
      )}
    </aside>
  )
}

interface ItemProps extends Pick<DetailsProps, 'select' | 'show'> {
  readonly taskId: string
  readonly item: Item
}

/** A run or a node. Of a large task, the answer leaves nodes out; they are asked for one by one. */
function ItemDetails({ taskId, item, select, show }: ItemProps): ReactNode {
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
        <NodeDetails taskId={taskId} node={node} select={select} teamRunId={teamRunId} show={show} />
      )}
      {run === null ? null : <RunDetails run={run} />}
      {node?.kind === 'agent' && item.runId === null ? <p className="quiet">It has not started.</p> : null}
    </>
  )
}

function TaskDetails({ answer, items, show }: Pick<DetailsProps, 'answer' | 'items' | 'show'>): ReactNode {
  const { task, final_output, unfit_output, outputs, failures, evidence = [] } = answer
  const checks = useMemo(
    () => [...(answer.evidence ?? []), ...items.flatMap(({ node }) => node?.evidence ?? [])],
    [answer.evidence, items],
  )
  return (
    <>
      <WhyTaskFailed answer={answer} items={items} show={show} />
      {final_output === null || (final_output === '' && failures.length > 0) ? null : (
        <section className="card">
          <h2>Result</h2>
          {final_output === '' ? <p className="quiet">It is empty.</p> : null}
          <Report taskId={task.task_id} text={final_output} checks={checks} show={show} />
          {answer.final_output_chars > final_output.length ? (
            <p className="quiet">
              The first {numberText(final_output.length)} characters of{' '}
              {numberText(answer.final_output_chars)}.
            </p>
          ) : null}
        </section>
      )}
      {unfit_output === undefined ? null : (
        <section className="card">
          <h2>The answer that did not fit</h2>
          <Block text={unfit_output} />
        </section>
      )}
      {final_output !== null || outputs.length === 0 ? null : (
        <section className="card">
          <h2>What completed</h2>
          {outputs.map(({ node_id, output }) => (
            <div key={node_id}>
              <h3>{node_id}</h3>
              <Block text={output} linesMax={12} />
            </div>
          ))}
        </section>
      )}
      {final_output === null && failures.length === 0 && task.wait === null && outputs.length === 0 ? (
        <Empty title="There is no result yet.">Select an agent to see what it does.</Empty>
      ) : null}
      {evidence.length === 0 ? null : <Evidence checks={evidence} show={show} />}
      {answer.steers.length === 0 ? null : (
        <section className="card">
          <h2>Steered</h2>
          {answer.steers.map(({ request_id, text, by, at, given_taskseq }) => (
            <div key={request_id}>
              <Block text={text} linesMax={6} />
              <p className="quiet small">
                {by ?? 'somebody'}, <When time={at} />
                {given_taskseq === null ? ', not read yet' : ''}
              </p>
            </div>
          ))}
        </section>
      )}
      <section className="card">
        <h2>Used</h2>
        <Usage of={task} />
      </section>
      <Record answer={answer} />
    </>
  )
}

/** Whether the record is intact, as the audit of the projector saw it when it read the events. */
function Record({ answer }: { readonly answer: Answer }): ReactNode {
  const { task, chain_ok, unsigned, findings, redactions } = answer
  return (
    <section className="card">
      <h2>Record</h2>
      <p className={chain_ok ? 'good' : 'why failed'}>
        {chain_ok
          ? `The hash chain of its ${task.last_taskseq} events holds${unsigned === 0 ? ', and all are signed' : ''}.`
          : 'The record of this task is not intact.'}
      </p>
      <CheckNow taskId={task.task_id} />
      {findings.map(({ finding_id, message, taskseq }) => (
        <p key={finding_id} className="why failed">
          {taskseq === null ? '' : `Event ${taskseq}: `}
          {message}
        </p>
      ))}
      {redactions.map(({ taskseq, by, reason }) => (
        <p key={taskseq} className="quiet">
          The text of event {taskseq} was removed by {by}: {reason}
        </p>
      ))}
      <dl>
        <dt>Task</dt>
        <dd>
          <code>{task.task_id}</code>
        </dd>
        <dt>Folder</dt>
        <dd>{task.workspace ?? '–'}</dd>
        <dt>Submitted by</dt>
        <dd>{[task.submitted_by, task.source].filter((each) => each !== null).join(', from ')}</dd>
        <dt>Daemon</dt>
        <dd>{task.daemon ?? 'none'}</dd>
        <dt>Claims</dt>
        <dd>{task.claims}</dd>
        <dt>Head</dt>
        <dd>
          <code>{task.head_hash.slice(0, 16)}…</code> <Copy text={task.head_hash} what="Copy" />
        </dd>
      </dl>
    </section>
  )
}

/** Compares the record with the journal at this moment, and says what was compared and when. */
function CheckNow({ taskId }: { readonly taskId: string }): ReactNode {
  const [checkedAt, setCheckedAt] = useState<string | null>(null)
  const read = useQuery({
    queryKey: ['event', taskId, 'audit', checkedAt],
    enabled: checkedAt !== null,
    queryFn: ({ signal }) => ask('audit', { task_id: taskId, verify: true }, signal),
  })
  const verified = read.data?.verified ?? null
  return (
    <div className="check" role="status">
      <button type="button" disabled={read.isFetching} onClick={() => setCheckedAt(new Date().toISOString())}>
        Check it now
      </button>
      {read.error === null ? null : <Problem error={read.error} />}
      {verified === null ? null : verified.differs.length > 0 ? (
        verified.differs.flatMap(({ messages }) =>
          messages.map((message) => (
            <p key={message} className="why failed">
              {message}
            </p>
          )),
        )
      ) : verified.tasks === 0 ? (
        <p>It was not compared, because somebody writes to it. Check it again when the task has ended.</p>
      ) : (
        <p className="good">
          {numberText(verified.events)} events were read again from the journal at{' '}
          {new Date(checkedAt ?? '').toLocaleTimeString()}, and all are as they were.
        </p>
      )}
    </div>
  )
}

type Used = Pick<
  Answer['task'],
  | 'input_tokens'
  | 'output_tokens'
  | 'calls'
  | 'cached_input_tokens'
  | 'reasoning_tokens'
  | 'unknown_calls'
  | 'estimated_calls'
  | 'cost_usd'
  | 'cost_usd_known'
  | 'usage_by_model'
>

/** Tokens and calls, split as providers reported them. What is not known is said, and is never 0. */
function Usage({ of }: { readonly of: Used }): ReactNode {
  const rows: readonly (readonly [string, ReactNode])[] = [
    ['Cost', <Cost key="cost" of={of} />],
    ['Calls of models', numberText(of.calls)],
    ['Input', `${numberText(of.input_tokens)} tokens`],
    [
      'of it cached',
      of.cached_input_tokens === undefined ? null : `${numberText(of.cached_input_tokens)} tokens`,
    ],
    ['Output', `${numberText(of.output_tokens)} tokens`],
    [
      'of it reasoning',
      of.reasoning_tokens === undefined ? null : `${numberText(of.reasoning_tokens)} tokens`,
    ],
    [
      'Not known',
      of.unknown_calls === undefined ? null : `the tokens of ${numberText(of.unknown_calls)} calls`,
    ],
    [
      'Estimated',
      of.estimated_calls === undefined ? null : `the tokens of ${numberText(of.estimated_calls)} calls`,
    ],
  ]
  return (
    <dl>
      {rows.map(([name, value]) =>
        value === null ? null : (
          <div key={name} className="pair">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
      {of.usage_by_model.length < 2
        ? null
        : of.usage_by_model.map((model) => (
            <div key={`${model.provider} ${model.model}`} className="pair">
              <dt>{model.model ?? 'a model'}</dt>
              <dd>
                <Cost of={model} />, {numberText(model.calls)} calls,{' '}
                {numberText(model.input_tokens + model.output_tokens)} tokens
              </dd>
            </div>
          ))}
    </dl>
  )
}

interface EvidenceProps {
  readonly checks: readonly Node['evidence'][number][]
  readonly show: DetailsProps['show']
}

const verdicts: Readonly<Record<string, readonly [word: string, look: string]>> = {
  passed: ['passed', 'done'],
  failed: ['failed', 'failed'],
  not_checked: ['not checked', 'over'],
}

/** The verdict on each requirement. Each number leads to the event on which the verdict rests. */
function Evidence({ checks, show }: EvidenceProps): ReactNode {
  return (
    <section className="card">
      <h2>Evidence</h2>
      <ul className="evidence">
        {checks.map(({ requirement, status, detail, rests_on }, index) => {
          const [word, look] = verdicts[status] ?? [status, 'new']
          return (
            <li key={index}>
              <span className={`status ${look}`}>{word}</span>
              <div>
                <p>{typeof requirement === 'string' ? requirement : detail}</p>
                {typeof requirement === 'string' ? <p className="quiet small">{detail}</p> : null}
                {rests_on.length === 0 ? null : (
                  <p className="quiet small">
                    It rests on{' '}
                    {rests_on.slice(0, 12).map((taskseq) => (
                      <button
                        key={taskseq}
                        type="button"
                        className="link"
                        onClick={() => show({ event: taskseq })}
                      >
                        event {taskseq}
                      </button>
                    ))}
                  </p>
                )}
              </div>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

interface NodeProps {
  readonly taskId: string
  readonly node: Node
  readonly teamRunId: string
  readonly select: DetailsProps['select']
  readonly show: DetailsProps['show']
}

function NodeDetails({ taskId, node, teamRunId, select, show }: NodeProps): ReactNode {
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
          <FailedCalls taskId={taskId} runId={node.run_id} show={show} />
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
      {node.evidence.length === 0 ? null : <Evidence checks={node.evidence} show={show} />}
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

function TeamDetails({
  team,
  show,
}: {
  readonly team: Team
  readonly show: DetailsProps['show']
}): ReactNode {
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
