// What a run sent to its model for one answer, message by message, as the journal gives it again. What the turn
// before had sent already is closed.
import type { QueryOutput } from '@beaver/contracts'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Json } from '../parts/json.tsx'
import { Loading, Problem } from '../parts/problem.tsx'
import { numberText } from '../parts/time.ts'
import { EventLink } from './event-link.tsx'

type Message = QueryOutput<'prompt'>['messages'][number]

export interface PromptProps {
  readonly taskId: string
  readonly runId: string
  /** The place of the answer in the log. */
  readonly taskseq: number
}

export function Prompt({ taskId, runId, taskseq }: PromptProps): ReactNode {
  const read = useInfiniteQuery({
    queryKey: ['event', taskId, 'prompt', runId, taskseq],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      ask('prompt', { task_id: taskId, run_id: runId, taskseq, after: pageParam, limit: 100 }, signal),
    getNextPageParam: ({ more, next }) => (more ? (next ?? undefined) : undefined),
  })
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  const [first] = read.data?.pages ?? []
  if (first === undefined) return <Loading />
  const same = first.same_until ?? 0
  const messages = read.data?.pages.flatMap((page) => page.messages) ?? []
  return (
    <div className="prompt">
      <p className="quiet small">
        {numberText(first.message_count)} messages
        {first.input_tokens === null ? '' : `, ${numberText(first.input_tokens)} tokens`}
        {same === 0 ? '' : `. The first ${numberText(same)} are those of the turn before`}.{' '}
        {first.tools.length === 0 ? 'It offered no tools.' : `It offered ${first.tools.join(', ')}.`}
      </p>
      {first.unreadable_events === 0 ? null : (
        <p className="why waits">
          {numberText(first.unreadable_events)} earlier events cannot be read, so this may differ from what
          was sent.
        </p>
      )}
      {first.context === null ? null : (
        <p className="quiet small">
          Parts of the first prompt, in tokens as Beaver estimates them:{' '}
          {first.context
            .map(({ part, tokens_estimated }) => `${part} ${numberText(tokens_estimated)}`)
            .join(', ')}
          .
        </p>
      )}
      <ol>
        {messages.map((message) => (
          <MessageRow key={message.index} message={message} isNew={message.index >= same} />
        ))}
      </ol>
      {read.hasNextPage ? (
        <button type="button" onClick={() => void read.fetchNextPage()} disabled={read.isFetching}>
          Show more messages
        </button>
      ) : null}
    </div>
  )
}

interface MessageRowProps {
  readonly message: Message
  /** The turn before had not sent it. */
  readonly isNew: boolean
}

function MessageRow({ message, isNew }: MessageRowProps): ReactNode {
  const { role, content, content_chars, calls = [], taskseq } = message
  return (
    <li>
      <details open={isNew}>
        <summary>
          <strong>{role}</strong>
          <span className="quiet small">
            {content === null ? 'calls only' : `${numberText(content_chars)} characters`}
            {isNew ? '' : ', as before'}
          </span>
          {taskseq === null || message.task_id !== undefined ? null : <EventLink taskseq={taskseq} />}
        </summary>
        {content === null ? null : <Json value={content} linesMax={16} />}
        {calls.map((call) => (
          <div key={call.call_id}>
            <p>
              called <code>{call.tool}</code>
            </p>
            <Json value={call.arguments} />
          </div>
        ))}
      </details>
    </li>
  )
}
