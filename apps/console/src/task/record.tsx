// Whether the record of a task is intact: as the audit of the projector saw it when it read the events, and on a
// click as it is now.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ask } from '../data/api.ts'
import { Problem } from '../parts/problem.tsx'
import { Copy } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'

export function Record({ answer }: { readonly answer: QueryOutput<'task'> }): ReactNode {
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
