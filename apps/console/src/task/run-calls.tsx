// What an agent was given, what it said, and each call of a model or a tool on the way.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ask } from '../data/api.ts'
import { Loading, Problem } from '../parts/problem.tsx'
import { JsonText } from '../parts/json.tsx'
import { Block } from '../parts/text.tsx'
import { durationText, numberText } from '../parts/time.ts'
import { EventLink } from './event-link.tsx'
import { Prompt } from './prompt.tsx'

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
          <Block text={input} linesMax={14} />
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
          <Block text={output} linesMax={14} />
        </section>
      )}
      {calls.length === 0 ? null : (
        <section className="card">
          <h2>Calls</h2>
          <ol className="calls">
            {calls.map((call) => (
              <CallRow
                key={`${call.kind} ${call.taskseq} ${call.kind === 'tool' ? call.call_id : ''}`}
                call={call}
                told={(taskseq) => <Prompt taskId={taskId} runId={runId} taskseq={taskseq} />}
              />
            ))}
          </ol>
        </section>
      )}
    </>
  )
}

/** What the model was told, read when somebody wants to see it. */
function Told({ open }: { readonly open: () => ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What it was told</summary>
      {isOpen ? open() : null}
    </details>
  )
}

interface CallRowProps {
  readonly call: Call
  /** What the model was told for the answer at this place. */
  readonly told: (taskseq: number) => ReactNode
}

function CallRow({ call, told }: CallRowProps): ReactNode {
  if (call.kind === 'model')
    return (
      <li>
        <details>
          <summary>
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
          </summary>
          <EventLink taskseq={call.taskseq} />
          <Told open={() => told(call.taskseq)} />
          {call.failure === null ? null : <p className="why failed">{call.failure.message}</p>}
          {call.text === null ? (
            <p className="quiet">It said nothing; it called tools.</p>
          ) : (
            <Block text={call.text} linesMax={20} />
          )}
        </details>
      </li>
    )
  const state =
    call.success === null ? ['runs', 'works'] : call.success ? ['succeeded', 'done'] : ['failed', 'failed']
  return (
    <li>
      <details>
        <summary>
          <span className={`status ${state[1]}`}>
            {call.waits_for_call_id === undefined ? state[0] : 'waits for a person'}
          </span>
          <strong>{call.tool}</strong>
          <span className="quiet small">
            {durationText(call.duration_ms)}
            {call.error === null ? '' : `, ${call.error}`}
          </span>
        </summary>
        <EventLink taskseq={call.result_taskseq ?? call.taskseq} />
        {call.arguments === null ? null : (
          <>
            <h3>Arguments</h3>
            <JsonText text={call.arguments} />
          </>
        )}
        {call.result === null ? null : (
          <>
            <h3>Result</h3>
            <JsonText text={call.result} />
            {call.result_chars > call.result.length ? (
              <p className="quiet small">
                The first {numberText(call.result.length)} characters of {numberText(call.result_chars)}; the
                event has all of them.
              </p>
            ) : null}
          </>
        )}
      </details>
    </li>
  )
}
