// What one can do to a task: steer, cancel, try again. A person sees only what the token may do.
import type { QueryOutput } from '@beaver/contracts'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { request } from '../data/api.ts'
import { useMay } from '../data/me.ts'
import { newId } from '../data/new-id.ts'
import { eventCommand, taskCommand } from '../parts/command.ts'
import { CopyCommand } from '../parts/copy-command.tsx'
import { Ask } from '../parts/dialog.tsx'
import { WhatIsKept } from './kept.tsx'
import { isOpen, type Item } from './tree.ts'

export interface ActionsProps {
  readonly answer: QueryOutput<'task'>
  readonly selected: Item | null
}

type Verb = 'steer' | 'cancel' | 'retry'

export function Actions({ answer, selected }: ActionsProps): ReactNode {
  const { task } = answer
  const maySubmit = useMay('submit')
  const [verb, setVerb] = useState<Verb | null>(null)
  const { event } = useSearch({ from: '/tasks/$taskId' })
  const command =
    event === undefined ? taskCommand(task.task_id, selected?.key ?? null) : eventCommand(task.task_id, event)
  const copy = <CopyCommand command={command} />
  if (!maySubmit) return copy
  const open = isOpen(task.status)
  const nodeId = selected?.nodeId ?? null
  const mayCancelNode =
    open &&
    selected !== null &&
    nodeId !== null &&
    isOpen(selected.status) &&
    !['blocked', 'skipped'].includes(selected.status)
  const close = (): void => setVerb(null)
  return (
    <div className="buttons">
      {copy}
      {open ? (
        <>
          <button type="button" onClick={() => setVerb('steer')}>
            Steer
          </button>
          <button type="button" className="bad" onClick={() => setVerb('cancel')}>
            {mayCancelNode ? `Cancel ${nodeId}` : 'Cancel'}
          </button>
        </>
      ) : !['incomplete', 'failed', 'cancelled'].includes(task.status) ? null : (
        <button type="button" className="main" onClick={() => setVerb('retry')}>
          Retry
        </button>
      )}
      {open ? null : (
        <Link className="again" to="/start" search={{ again: task.task_id }}>
          Start again with the same input
        </Link>
      )}
      {verb === 'steer' ? <Steer taskId={task.task_id} close={close} /> : null}
      {verb === 'cancel' ? (
        <Cancel taskId={task.task_id} nodeId={mayCancelNode ? nodeId : null} close={close} />
      ) : null}
      {verb === 'retry' ? <Retry answer={answer} close={close} /> : null}
    </div>
  )
}

interface VerbProps {
  readonly taskId: string
  readonly close: () => void
}

const pathOf = (taskId: string, verb: Verb): string => `/api/v1/tasks/${encodeURIComponent(taskId)}/${verb}`

function Steer({ taskId, close }: VerbProps): ReactNode {
  const client = useQueryClient()
  const [text, setText] = useState('')
  // One key for one text: a second click sends nothing a second time.
  const [requestId] = useState(newId)
  return (
    <Ask
      title="Steer the task"
      verb="Send"
      close={close}
      act={async () => {
        await request(pathOf(taskId, 'steer'), { method: 'POST', body: { text, request_id: requestId } })
        await client.invalidateQueries({ queryKey: ['task', taskId] })
      }}
    >
      <label htmlFor="steer-text">The root agent reads this before its next turn.</label>
      <textarea
        id="steer-text"
        rows={4}
        required
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </Ask>
  )
}

function Cancel({ taskId, nodeId, close }: VerbProps & { readonly nodeId: string | null }): ReactNode {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  return (
    <Ask
      title={nodeId === null ? 'Cancel the task' : `Cancel the node ${nodeId}`}
      verb={nodeId === null ? 'Cancel the task' : 'Cancel the node'}
      kind="bad"
      close={close}
      act={async () => {
        await request(pathOf(taskId, 'cancel'), {
          method: 'POST',
          body: {
            ...(nodeId === null ? {} : { node_id: nodeId }),
            ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
          },
        })
        await client.invalidateQueries({ queryKey: ['task', taskId] })
      }}
    >
      <p>
        {nodeId === null
          ? 'All its agents stop. What they have done stays in the record. Calls that have begun may have had an effect.'
          : 'The node stops, and the nodes that depend on it do not start.'}
      </p>
      <label htmlFor="cancel-reason">Why (the record keeps it)</label>
      <input id="cancel-reason" value={reason} onChange={({ target }) => setReason(target.value)} />
    </Ask>
  )
}

function Retry({ answer, close }: Pick<ActionsProps, 'answer'> & Pick<VerbProps, 'close'>): ReactNode {
  const navigate = useNavigate()
  return (
    <Ask
      title="Run the failed part again"
      verb="Retry"
      close={close}
      act={async () => {
        const retried = await request<{ task_id: string }>(pathOf(answer.task.task_id, 'retry'), {
          method: 'POST',
          body: {},
        })
        await navigate({ to: '/tasks/$taskId', params: { taskId: retried.task_id }, search: {} })
      }}
    >
      <p>A new task keeps what completed, and runs the rest again.</p>
      <WhatIsKept answer={answer} />
    </Ask>
  )
}
