// Why something failed, down to the call that did: a verdict such as "succeeded 0 times" does not say what went
// wrong, and the message of the tool does.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Block } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import { EventLink } from './event-link.tsx'
import { messageOf } from './failed-call.ts'
import type { TaskPageSearch } from './selection.ts'
import type { Item } from './tree.ts'

type Show = (change: TaskPageSearch) => void

/** The failures of the task, its own first. The name of a part leads to it. */
export function WhyTaskFailed({
  answer: { task, failures },
  items,
  show,
}: {
  readonly answer: QueryOutput<'task'>
  readonly items: readonly Item[]
  readonly show: Show
}): ReactNode {
  if (failures.length === 0) return null
  return (
    <section className="card failed">
      <h2>Why it {task.status === 'incomplete' ? 'is incomplete' : 'failed'}</h2>
      <ol className="chain">
        {failures.toReversed().map(({ scope, id, name, class: kind, message }, index, all) => {
          const item = partOf(items, { scope, id, name })
          return (
            <li key={`${scope} ${id}`}>
              {item === null ? (
                <strong>{scope === 'task' ? 'The task' : `The ${scope} ${visible(name)}`}</strong>
              ) : (
                <button type="button" className="link" onClick={() => show({ at: item.key })}>
                  <strong>{`The ${scope} ${visible(name)}`}</strong>
                </button>
              )}{' '}
              {all[index - 1]?.message === message ? (
                <span className="quiet">failed with the same words</span>
              ) : (
                <>
                  <code>{kind}</code>
                  <Block text={message} linesMax={8} />
                </>
              )}
              {/* The first ones say enough; each is a question to the gateway. */}
              {item === null || index > partsMax ? null : (
                <FailedCalls taskId={task.task_id} runId={item.runId} />
              )}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

const partsMax = 4

const partOf = (
  items: readonly Item[],
  { scope, id, name }: Pick<QueryOutput<'task'>['failures'][number], 'scope' | 'id' | 'name'>,
): Item | null =>
  items.find(({ nodeId, teamRunId, runId, status }) =>
    scope === 'node'
      ? status === 'failed' && nodeId === name && (id === name || id.includes(teamRunId ?? ''))
      : scope === 'run' && runId === id,
  ) ?? null

/** More are in the list of calls. */
const callsMax = 3

/** The calls of tools that failed in a run, the last ones first, each with what the tool said. */
export function FailedCalls({
  taskId,
  runId,
}: {
  readonly taskId: string
  readonly runId: string | null
}): ReactNode {
  // The list of calls asks the same, so there is one answer for both.
  const { data } = useQuery({
    queryKey: ['run', taskId, runId],
    enabled: runId !== null,
    queryFn: ({ signal }) => ask('run', { task_id: taskId, run_id: runId ?? '', limit: 500 }, signal),
  })
  const failed = (data?.calls ?? []).flatMap((call) =>
    call.kind === 'tool' && call.success === false ? [call] : [],
  )
  if (failed.length === 0) return null
  return (
    <ul className="failed-calls">
      {failed
        .slice(-callsMax)
        .toReversed()
        .map((call) => (
          <li key={call.taskseq + call.call_id}>
            <p>
              <strong>{visible(call.tool)}</strong> failed{' '}
              <EventLink taskseq={call.result_taskseq ?? call.taskseq} />
            </p>
            <Block text={messageOf(call.result) ?? call.error ?? 'It gave no reason.'} linesMax={6} />
          </li>
        ))}
    </ul>
  )
}
