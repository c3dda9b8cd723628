// What an agent was given, what it said, and each call of a model or a tool on the way.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ask } from '../data/api.ts'
import { Loading, Problem } from '../parts/problem.tsx'
import { Json } from '../parts/json.tsx'
import { durationText, numberText } from '../parts/time.ts'
import { EventLink } from './event-link.tsx'
import { Prompt } from './prompt.tsx'
import { ToolCall } from './tool-call.tsx'

export interface RunCallsProps {
  readonly taskId: string
  readonly runId: string
}

type Call = QueryOutput<'run'>['calls'][number]

export function RunCalls({ taskId, runId }: RunCallsProps): ReactNode {
  const read = useQuery({
    queryKey: ['run', taskId, runId],
    queryFn: ({ signal }) => ask('run', { task_id: taskId, run_id: runId, limit: 500 }, signal),
  })
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  if (read.data === undefined) return <Loading />
  const { input, input_chars, output, calls } = read.data
  return (
    <>
      {input === null ? null : (
        <section className="card">
          <h2>What it was given</h2>
          <Json value={input} linesMax={14} />
          {input_chars > input.length ? (
            <p className="quiet">
              The first {numberText(input.length)} characters of {numberText(input_chars)}.
            </p>
          ) : null}
        </section>
      )}
      {output === null || output === '' ? null : (
        <section className="card">
          <h2>What it returned</h2>
          <Json value={output} linesMax={14} />
        </section>
      )}
      {calls.length === 0 ? null : (
        <section className="card">
          <h2>Calls</h2>
          <ol className="calls">
            {calls.map((call) => (
              <CallRow
                key={`${call.kind} ${call.taskseq} ${call.kind === 'tool' ? call.call_id : ''}`}
                taskId={taskId}
                runId={runId}
                call={call}
              />
            ))}
          </ol>
        </section>
      )}
    </>
  )
}

/** A call, or what a model was told for it. It is drawn, and asked for, when somebody opens it. */
function Fold({
  title,
  children,
}: {
  readonly title: ReactNode
  readonly children: () => ReactNode
}): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen ? children() : null}
    </details>
  )
}

interface CallRowProps extends RunCallsProps {
  readonly call: Call
}

function CallRow({ taskId, runId, call }: CallRowProps): ReactNode {
  if (call.kind === 'tool') {
    const [word, look] =
      call.success === null ? ['runs', 'works'] : call.success ? ['succeeded', 'done'] : ['failed', 'failed']
    return (
      <li>
        <Fold
          title={
            <>
              <span className={`status ${look}`}>
                {call.waits_for_call_id === undefined
                  ? word
                  : call.waits_for_client === true
                    ? 'waits for the client'
                    : 'waits for a person'}
              </span>
              <strong>{call.tool}</strong>
              <span className="quiet small">
                {durationText(call.duration_ms)}
                {call.error === null ? '' : `, ${call.error}`}
              </span>
            </>
          }
        >
          {() => (
            <>
              <EventLink taskseq={call.result_taskseq ?? call.taskseq} />
              <ToolCall taskId={taskId} runId={runId} call={call} />
            </>
          )}
        </Fold>
      </li>
    )
  }
  return (
    <li>
      <Fold
        title={
          <>
            <span className={call.success ? 'status done' : 'status failed'}>
              {call.success ? 'answered' : 'failed'}
            </span>
            <strong>{call.model ?? 'a model'}</strong>
            <span className="quiet small">
              {call.purpose === 'answer' ? '' : `${call.purpose.replaceAll('_', ' ')}, `}
              {durationText(call.duration_ms)}
              {call.input_tokens === null
                ? ', tokens not known'
                : `, ${numberText(call.input_tokens)} in, ${numberText(call.output_tokens ?? 0)} out`}
            </span>
          </>
        }
      >
        {() => (
          <>
            <EventLink taskseq={call.taskseq} />
            <Fold title="What it was told">
              {() => <Prompt taskId={taskId} runId={runId} taskseq={call.taskseq} />}
            </Fold>
            {call.failure === null ? null : <p className="why failed">{call.failure.message}</p>}
            {call.text === null ? (
              <p className="quiet">It said nothing; it called tools.</p>
            ) : (
              <Json value={call.text} linesMax={20} />
            )}
          </>
        )}
      </Fold>
    </li>
  )
}
