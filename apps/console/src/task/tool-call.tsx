// One call of a tool: its arguments, what a person was asked about it with the diff of the file, and its result.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Diff } from '../parts/diff.tsx'
import { Json } from '../parts/json.tsx'
import { Problem } from '../parts/problem.tsx'
import { numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { eventsOfCall, typesOfCall } from './call-events.ts'

export interface ToolCallProps {
  readonly taskId: string
  readonly runId: string
  readonly call: Extract<QueryOutput<'run'>['calls'][number], { kind: 'tool' }>
}

export function ToolCall({ taskId, runId, call }: ToolCallProps): ReactNode {
  const { taskseq, result_taskseq: end } = call
  const read = useQuery({
    // With its result, a call stays as it is.
    queryKey: [end === null ? 'run' : 'event', taskId, 'call', taskseq, end],
    queryFn: ({ signal }) =>
      ask(
        'events',
        {
          task_id: taskId,
          after: taskseq - 1,
          ...(end === null ? {} : { before: end + 1 }),
          types: typesOfCall,
          limit: 500,
        },
        signal,
      ),
  })
  const told = eventsOfCall(read.data?.events ?? [], { runId, callId: call.call_id })
  const given = told.arguments ?? call.arguments
  const result = told.result ?? call.result
  return (
    <>
      {read.error === null ? null : <Problem error={read.error} again={() => void read.refetch()} />}
      {given === null ? null : (
        <>
          <h3>Arguments</h3>
          <Json value={given} />
        </>
      )}
      {told.preview === null ? null : (
        <>
          <h3>What would change in {visible(told.preview.path)}</h3>
          <Diff diff={told.preview.diff} leftOut={told.preview.leftOut} />
        </>
      )}
      {told.decision === null ? null : (
        <p>
          {told.decision.isGranted ? 'Allowed' : 'Denied'} by {visible(told.decision.by)}
          {told.decision.reason === null ? '.' : `: ${visible(told.decision.reason)}`}
        </p>
      )}
      {told.changed === null ? null : (
        <>
          <h3>Arguments as they were changed</h3>
          <Json value={told.changed} />
        </>
      )}
      {result === null ? null : (
        <>
          <h3>Result</h3>
          <Json value={result} />
          {told.result === null && call.result_chars > result.length ? (
            <p className="quiet small">
              The first {numberText(result.length)} characters of {numberText(call.result_chars)}; the event
              has all of them.
            </p>
          ) : null}
        </>
      )}
    </>
  )
}
